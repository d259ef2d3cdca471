import pytest

from qwen_agentkit.errors import ToolServiceError
from qwen_agentkit.utils.web_cache import fetch_file


def versioned(state):
    def answer(handler):
        tag = f'"{state["version"]}"'
        if handler.headers.get("If-None-Match") == tag:
            handler.send_response(304)
            handler.end_headers()
            return
        content = state["version"].encode()
        handler.send_response(200)
        handler.send_header("ETag", tag)
        handler.send_header("Content-Type", "text/plain; charset=utf-8")
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    return answer


def test_an_unchanged_document_is_not_sent_again_and_a_changed_one_is_seen(site, loopback_allowed, tmp_path):
    state = {"version": "one"}
    site.routes["/doc.txt"] = versioned(state)
    first = fetch_file(f"{site.url}/doc.txt", tmp_path)
    assert first.path.read_text() == "one"
    assert first.path.name.endswith("doc.txt")
    assert first.content_type == "text/plain"
    again = fetch_file(f"{site.url}/doc.txt", tmp_path)
    assert again.path == first.path
    assert site.requests[1][2]["If-None-Match"] == '"one"'
    state["version"] = "two"
    assert fetch_file(f"{site.url}/doc.txt", tmp_path).path.read_text() == "two"
    assert not first.path.exists()


def test_a_young_copy_is_used_without_asking(site, loopback_allowed, tmp_path):
    site.routes["/doc.txt"] = versioned({"version": "one"})
    fetch_file(f"{site.url}/doc.txt", tmp_path)
    fetch_file(f"{site.url}/doc.txt", tmp_path, max_age=60)
    assert len(site.requests) == 1


def test_when_the_server_is_away_the_old_copy_serves_and_says_so(site, loopback_allowed, tmp_path, caplog):
    site.routes["/doc.txt"] = versioned({"version": "one"})
    fetch_file(f"{site.url}/doc.txt", tmp_path)
    site.routes["/doc.txt"] = (503, {}, b"")
    held = fetch_file(f"{site.url}/doc.txt", tmp_path)
    assert held.is_stale
    assert held.path.read_text() == "one"
    assert "copy of last time" in caplog.text
    site.routes["/doc.txt"] = (404, {}, b"")
    with pytest.raises(ToolServiceError, match="404"):
        fetch_file(f"{site.url}/doc.txt", tmp_path)


def test_a_name_from_the_web_cannot_leave_the_folder(site, loopback_allowed, tmp_path):
    for path in ("/..%2f..%2fevil.txt", "/%2e%2e", "/a%5c..%5cb", "/"):
        site.routes[path] = (200, {}, b"x")
        held = fetch_file(f"{site.url}{path}", tmp_path / "store")
        assert held.path.resolve().parent.parent == (tmp_path / "store").resolve()


def test_a_broken_record_is_fetched_anew(site, loopback_allowed, tmp_path):
    site.routes["/doc.txt"] = versioned({"version": "one"})
    held = fetch_file(f"{site.url}/doc.txt", tmp_path)
    (held.path.parent / "address.json").write_text('{"name": "../../outside"}')
    assert fetch_file(f"{site.url}/doc.txt", tmp_path).path.read_text() == "one"
