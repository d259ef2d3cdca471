"""What the page's server gives out, and what it forbids."""

import asyncio

import httpx
import pytest

from qwen_agentkit.gui.routes import PageRoutes
from qwen_agentkit.gui.tickets import Tickets

HTML = (
    '<html><head><script async src="https://cdn.example/a.js"></script>'
    '<link rel="preconnect" href="https://fonts.example" /><link rel="stylesheet" href="./own.css">'
    '<meta property="og:image" content="https://img.example/x.jpg"><script src="./own.js"></script></head></html>'
)


async def gradio(scope, receive, send):
    """Stands for Gradio: a page in two pieces, and a stream."""
    if scope["path"] == "/":
        headers = [(b"content-type", b"text/html; charset=utf-8"), (b"content-length", str(len(HTML)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": HTML[:50].encode(), "more_body": True})
        await send({"type": "http.response.body", "body": HTML[50:].encode()})
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
    await send({"type": "http.response.body", "body": b"data: 1", "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def get(tickets, path, method="GET", base="http://127.0.0.1:7860", local_only=True, **headers):
    async def ask():
        transport = httpx.ASGITransport(app=PageRoutes(gradio, tickets, local_only=local_only))
        async with httpx.AsyncClient(transport=transport, base_url=base) as client:
            return await client.request(method, path, headers=headers)

    return asyncio.run(ask())


@pytest.fixture
def tickets():
    return Tickets()


def test_the_page_asks_no_other_server(tickets):
    response = get(tickets, "/")
    assert "https://" not in response.text
    assert "./own.css" in response.text and "./own.js" in response.text
    policy = response.headers["content-security-policy"]
    assert "default-src 'self'" in policy and "http" not in policy
    assert int(response.headers["content-length"]) == len(response.content)


def test_streams_pass_unchanged(tickets):
    response = get(tickets, "/gradio_api/queue/data")
    assert response.content == b"data: 1" and "content-security-policy" in response.headers


def test_a_source_is_shown_to_whoever_has_its_ticket(tickets, handbook):
    held = {"n": 1, "source": str(handbook), "page": 7, "quote": "The motor is guaranteed for 27 months"}
    ticket = tickets.issue("source", citation=held)
    page = get(tickets, f"/qak/source/{ticket}?lang=zh&theme=dark")
    assert page.status_code == 200 and "第 7 页" in page.text and 'class="dark"' in page.text
    assert "script-src" not in page.headers["content-security-policy"]
    assert "default-src 'none'" in page.headers["content-security-policy"]
    picture = get(tickets, f"/qak/page/{ticket}?page=7")
    assert picture.content.startswith(b"\x89PNG")
    assert get(tickets, f"/qak/page/{ticket}?page=99").status_code == 404


def test_the_language_is_the_browsers(tickets):
    response = get(tickets, f"/qak/source/{'0' * 64}", **{"accept-language": "zh-CN"})
    assert response.status_code == 404 and "失效" in response.text


def test_a_file_that_could_act_is_given_without_rights(tickets, tmp_path):
    (tmp_path / "a.html").write_text("<script>alert(1)</script>")
    (tmp_path / "a.svg").write_text("<svg onload='alert(1)'/>")
    for name in ("a.html", "a.svg"):
        response = get(tickets, f"/qak/file/{tickets.issue('file', path=str(tmp_path / name))}/{name}")
        assert "sandbox" in response.headers["content-security-policy"]
        assert response.headers["x-content-type-options"] == "nosniff"
    page = get(tickets, f"/qak/file/{tickets.issue('file', path=str(tmp_path / 'a.html'))}/a.html")
    assert page.headers["content-disposition"].startswith("attachment")


@pytest.mark.parametrize("path", ["/qak/file/../../etc/passwd", "/qak/file//etc/passwd", "/qak/file/" + "0" * 64])
def test_no_path_in_a_request_leads_to_a_file(tickets, path):
    assert b"root:" not in get(tickets, path).content


def test_a_ticket_of_another_kind_opens_nothing(tickets, handbook):
    ticket = tickets.issue("file", path=str(handbook))
    assert get(tickets, f"/qak/source/{ticket}").status_code == 404
    assert get(tickets, f"/qak/page/{ticket}").status_code == 404


def test_only_reading_is_answered(tickets):
    assert get(tickets, f"/qak/source/{'0' * 64}", "POST").status_code == 405


def test_another_site_cannot_reach_the_page_under_its_own_name(tickets):
    assert get(tickets, "/", base="http://evil.example:7860").status_code == 403
    for base in ("http://localhost:7860", "http://[::1]:7860"):
        assert get(tickets, "/", base=base).status_code == 200
    assert get(tickets, "/", base="http://here.example", local_only=False).status_code == 200
