import gzip
import socket
import threading
import time
import zlib

import pytest

from qwen_agentkit import settings
from qwen_agentkit.cancel import CancelToken
from qwen_agentkit.errors import RunCancelled, ToolServiceError
from qwen_agentkit.utils.addresses import address_text, parse_address, resolve
from qwen_agentkit.utils.web import fetch


def code_of(call):
    with pytest.raises(ToolServiceError) as caught:
        call()
    return caught.value.code


def test_a_page_is_fetched(site, loopback_allowed):
    site.routes["/a"] = (200, {"Content-Type": "text/html; charset=gbk", "ETag": '"1"'}, "你好".encode("gbk"))
    response = fetch(f"{site.url}/a", params={"q": "x y", "none": None}, headers={"X-Mine": "1"})
    assert (response.status, response.text, response.content_type) == (200, "你好", "text/html")
    assert response.headers["etag"] == '"1"'
    method, path, headers, _ = site.requests[0]
    assert (method, path, headers["X-Mine"]) == ("GET", "/a?q=x+y", "1")
    assert headers["User-Agent"].startswith("qwen-agentkit/")


def test_json_is_sent_and_read(site, loopback_allowed):
    site.routes["/api"] = (200, {"Content-Type": "application/json"}, b'{"ok": true}')
    assert fetch(f"{site.url}/api", method="POST", json_body={"q": "é"}).json() == {"ok": True}
    assert site.requests[0][3] == '{"q": "é"}'.encode()
    site.routes["/api"] = (200, {}, b"<html>")
    assert code_of(lambda: fetch(f"{site.url}/api").json()) == "bad_reply"


def test_a_bad_status_is_told_with_the_services_words(site, loopback_allowed):
    site.routes["/no"] = (403, {"Content-Type": "text/plain"}, b"quota  used up")
    with pytest.raises(ToolServiceError, match="403 Forbidden: quota used up") as caught:
        fetch(f"{site.url}/no").raise_for_status()
    assert caught.value.code == "403"


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.8.8.8",
        "0.0.0.0",
        "10.0.0.1",
        "172.16.3.4",
        "192.168.1.1",
        "169.254.169.254",
        "100.100.100.200",
        "168.63.129.16",
        "224.0.0.1",
        "240.0.0.1",
        "[::1]",
        "[::]",
        "[fe80::1]",
        "[fd00:ec2::254]",
        "[::ffff:127.0.0.1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "2130706433",
        "0x7f.1",
        "localhost",
    ],
)
def test_private_addresses_are_not_reached_however_they_are_written(address):
    assert code_of(lambda: fetch(f"http://{address}:9/", seconds=5)) in ("address_not_allowed", "dns")


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "64:ff9b::808:808"])
def test_public_addresses_pass(address):
    assert resolve(address, 80)[0][1]


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://example.com/x",
        "http://",
        "http:///x",
        "javascript:1",
        "/etc/passwd",
        "http://user:pass@example.com/",
        "http://exa\nmple.com/",
        "http://example.com:99999/",
        3,
    ],
)
def test_other_schemes_and_broken_addresses_are_refused(url):
    with pytest.raises(ValueError):
        fetch(url)


def test_non_ascii_addresses_are_encoded():
    parts = parse_address(" https://bücher.example/süß ü/%20?q=中 文#part ")
    assert address_text(parts) == "https://xn--bcher-kva.example/s%C3%BC%C3%9F%20%C3%BC/%20?q=%E4%B8%AD%20%E6%96%87"


def test_a_setting_allows_hosts_addresses_and_networks(monkeypatch):
    for allowed in ("127.0.0.1", "127.0.0.0/8", "localhost"):
        monkeypatch.setitem(vars(settings), "WEB_ALLOWED_HOSTS", [allowed])
        assert resolve("127.0.0.1" if "." in allowed else "localhost", 80)


def test_a_redirect_is_checked_like_a_first_address(site, monkeypatch):
    monkeypatch.setitem(vars(settings), "WEB_ALLOWED_HOSTS", ["127.0.0.1"])
    for target in ("http://127.0.0.2:9/x", "http://169.254.169.254/latest/meta-data", "http://[::1]:9/"):
        site.routes["/go"] = (302, {"Location": target}, b"")
        assert code_of(lambda: fetch(f"{site.url}/go")) == "address_not_allowed"
    site.routes["/go"] = (302, {"Location": "file:///etc/passwd"}, b"")
    with pytest.raises(ValueError, match="http://"):
        fetch(f"{site.url}/go")


def test_a_trusted_address_may_be_private_but_not_where_it_redirects_to(site):
    site.routes["/ok"] = (200, {}, b"fine")
    assert fetch(f"{site.url}/ok", allow_private=True).body == b"fine"
    site.routes["/go"] = (302, {"Location": "http://127.0.0.2:9/"}, b"")
    assert code_of(lambda: fetch(f"{site.url}/go", allow_private=True)) == "address_not_allowed"


def test_redirects_are_followed_up_to_a_bound_and_credentials_stay_at_home(site, loopback_allowed, monkeypatch):
    monkeypatch.setitem(vars(settings), "WEB_ALLOWED_HOSTS", ["127.0.0.1", "localhost"])
    other = site.url.replace("127.0.0.1", "localhost")
    site.routes["/a"] = (302, {"Location": "/b"}, b"")
    site.routes["/b"] = (307, {"Location": f"{other}/c"}, b"")
    site.routes["/c"] = (200, {}, b"end")
    response = fetch(f"{site.url}/a", headers={"Authorization": "secret", "X-Other": "1"})
    assert response.body == b"end"
    assert response.url.endswith("/c")
    assert [headers.get("Authorization") for _, _, headers, _ in site.requests] == ["secret", "secret", None]
    assert site.requests[-1][2]["X-Other"] == "1"
    site.routes["/loop"] = (302, {"Location": "/loop"}, b"")
    assert code_of(lambda: fetch(f"{site.url}/loop")) == "redirects"


def test_a_name_that_changes_its_address_is_looked_up_once(site, monkeypatch):
    real = socket.getaddrinfo
    port = int(site.url.rpartition(":")[2])
    answers = ["127.0.0.1", "127.0.0.2", "127.0.0.2"]
    asked = []

    def rebinding(host, *rest, **options):
        if host != "rebind.example":
            return real(host, *rest, **options)
        asked.append(host)
        return real(answers[len(asked) - 1], *rest, **options)

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    monkeypatch.setitem(vars(settings), "WEB_ALLOWED_HOSTS", ["127.0.0.1"])
    site.routes["/x"] = (200, {}, b"checked")
    assert fetch(f"http://rebind.example:{port}/x").body == b"checked"
    assert len(asked) == 1
    assert site.requests[0][2]["Host"] == f"rebind.example:{port}"
    assert code_of(lambda: fetch(f"http://rebind.example:{port}/x")) == "address_not_allowed"


def test_one_bad_address_of_several_is_enough_to_refuse(monkeypatch):
    def both(host, port, **options):
        return [(socket.AF_INET, 1, 6, "", ("8.8.8.8", port)), (socket.AF_INET, 1, 6, "", ("10.0.0.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", both)
    assert code_of(lambda: resolve("two.example", 80)) == "address_not_allowed"


@pytest.mark.parametrize("packed", [False, True])
def test_a_body_over_the_bound_is_not_read(site, loopback_allowed, packed):
    content = b"a" * 2_000_000
    headers = {"Content-Encoding": "gzip"} if packed else {}
    site.routes["/big"] = (200, headers, gzip.compress(content) if packed else content)
    assert code_of(lambda: fetch(f"{site.url}/big", max_bytes=100_000)) == "too_large"
    assert len(fetch(f"{site.url}/big", max_bytes=2_000_000).body) == 2_000_000


def test_a_body_without_a_length_is_bounded_too(site, loopback_allowed):
    def endless(handler):
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        try:
            while True:
                handler.wfile.write(b"1000\r\n" + b"x" * 0x1000 + b"\r\n")
        except OSError:
            return

    site.routes["/endless"] = endless
    assert code_of(lambda: fetch(f"{site.url}/endless", max_bytes=300_000)) == "too_large"


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        ("gzip", gzip.compress(b"hello")),
        ("gzip", gzip.compress(b"he") + gzip.compress(b"llo") + b"\0\0"),
        ("deflate", zlib.compress(b"hello")),
        ("deflate", zlib.compress(b"hello")[2:-4]),
    ],
)
def test_packed_bodies_are_unpacked(site, loopback_allowed, encoding, packed):
    site.routes["/p"] = (200, {"Content-Encoding": encoding}, packed)
    assert fetch(f"{site.url}/p").body == b"hello"


def test_a_packed_body_that_was_cut_is_not_taken_for_whole(site, loopback_allowed):
    site.routes["/p"] = (200, {"Content-Encoding": "gzip"}, gzip.compress(b"hello " * 1000)[:-20])
    assert code_of(lambda: fetch(f"{site.url}/p")) == "bad_reply"


@pytest.mark.parametrize("charset", ["idna", "undefined", "hex", "no-such", "utf-8"])
def test_a_charset_that_is_none_of_pages_leaves_utf_8(site, loopback_allowed, charset):
    site.routes["/p"] = (200, {"Content-Type": f"text/html; charset={charset}"}, "naïve.例え".encode())
    assert fetch(f"{site.url}/p").text == "naïve.例え"


def trickle(handler):
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    try:
        for _ in range(100):
            handler.wfile.write(b"x")
            handler.wfile.flush()
            time.sleep(0.05)
    except OSError:
        return


def silent(handler):
    time.sleep(5)


@pytest.mark.parametrize("slow", [trickle, silent])
def test_the_time_is_bounded_as_a_whole(site, loopback_allowed, slow):
    site.routes["/slow"] = slow
    start = time.monotonic()
    assert code_of(lambda: fetch(f"{site.url}/slow", seconds=0.4)) == "timeout"
    assert time.monotonic() - start < 1.5


@pytest.mark.parametrize("slow", [trickle, silent])
def test_a_cancel_ends_a_blocked_read_at_once(site, loopback_allowed, slow):
    site.routes["/slow"] = slow
    token = CancelToken()
    threading.Timer(0.2, token.cancel).start()
    start = time.monotonic()
    with pytest.raises(RunCancelled):
        fetch(f"{site.url}/slow", cancel=token)
    assert time.monotonic() - start < 0.7


def test_an_answer_that_breaks_off_is_an_error(site, loopback_allowed):
    def short(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b"only this")
        handler.close_connection = True

    site.routes["/short"] = short
    assert code_of(lambda: fetch(f"{site.url}/short")) == "bad_reply"


def test_nobody_listening_is_told(loopback_allowed):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert code_of(lambda: fetch(f"http://127.0.0.1:{port}/")) == "connect"


def test_proxies_of_the_environment_are_not_used(site, loopback_allowed, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    site.routes["/x"] = (200, {}, b"direct")
    assert fetch(f"{site.url}/x").body == b"direct"


def test_no_thread_or_socket_stays_behind(site, loopback_allowed):
    site.routes["/x"] = (200, {}, b"x")
    fetch(f"{site.url}/x")
    before = threading.active_count()
    for _ in range(20):
        fetch(f"{site.url}/x")
    time.sleep(0.1)
    assert threading.active_count() <= before + 1
