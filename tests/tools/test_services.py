"""Tools that ask services, each against a loopback copy of the service's protocol."""

import base64
import io
import json
from urllib.parse import parse_qs, urlsplit

import pytest
from PIL import Image

from qwen_agentkit import settings
from qwen_agentkit.errors import ToolArgumentsError, ToolServiceError
from qwen_agentkit.schema import ContentItem, Message
from qwen_agentkit.tools import AmapWeather, ImageGen, ImageSearch, ImageZoomInToolQwen3VL, WebSearch
from qwen_agentkit.utils.environment import environment
from qwen_agentkit.utils.untrusted import is_marked, unmarked


@pytest.fixture(autouse=True)
def no_keys(monkeypatch, tmp_path):
    for name in (
        "SERPER_API_KEY",
        "TAVILY_API_KEY",
        "SEARXNG_URL",
        "AMAP_TOKEN",
        "SERPAPI_IMAGE_SEARCH_KEY",
        "DASHSCOPE_API_KEY",
        "QWEN_AGENTKIT_IMAGE_SERVER",
        "QWEN_AGENTKIT_WEB_SEARCH_ENGINE",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setitem(vars(settings), "DEFAULT_WORKSPACE", str(tmp_path / "workspace"))


def as_json(value):
    return (200, {"Content-Type": "application/json"}, json.dumps(value).encode())


def asked(site, number=-1):
    method, path, headers, body = site.requests[number]
    return method, {key: values[0] for key, values in parse_qs(urlsplit(path).query).items()}, headers, body


# ---- web_search


def test_serper_is_asked_in_its_protocol(site, monkeypatch):
    site.routes["/search"] = as_json(
        {"organic": [{"title": "A <b>title</b>", "link": "https://a", "snippet": "x &amp; y\n```", "date": "Jan 1"}]}
    )
    monkeypatch.setenv("SERPER_API_KEY", "k1")
    monkeypatch.setenv("SERPER_URL", f"{site.url}/search")
    text = WebSearch().call({"query": "what"})
    # A fence of the results' own does not end the one around them.
    assert '[1]"A title\nx & y ```"Jan 1\nhttps://a' in text
    assert text.count("````") == 2
    assert is_marked(text)
    assert unmarked(text).startswith('[1]"A title')
    method, _, headers, body = asked(site)
    assert (method, headers["X-API-KEY"], json.loads(body)) == ("POST", "k1", {"q": "what"})


def test_tavily_and_searxng_are_asked_in_theirs(site, monkeypatch):
    site.routes["/tavily"] = as_json({"results": [{"title": "T", "url": "https://t", "content": "c" * 5000}]})
    hits = WebSearch({"engine": "tavily", "api_key": "k2", "url": f"{site.url}/tavily"}).search("q")
    assert (hits[0].title, hits[0].url, len(hits[0].snippet)) == ("T", "https://t", 1000)
    assert asked(site)[2]["Authorization"] == "Bearer k2"
    site.routes["/search"] = as_json({"results": [{"title": "S", "url": "https://s", "content": "c"}, "junk"]})
    monkeypatch.setenv("SEARXNG_URL", site.url)
    assert WebSearch().search("两 词")[0].url == "https://s"
    assert asked(site)[1] == {"q": "两 词", "format": "json"}


def test_duckduckgos_page_is_read(site):
    page = """<html><body>
      <div class="result results_links result--ad"><a class="result__a" href="https://ad">Ad</a></div>
      <div class="result results_links"><h2><a class="result__a"
        href="//duckduckgo.com/l/?uddg=https%3A%2F%2Freal%2Fpage%3Fa%3D1&rut=x">A <b>page</b></a></h2>
        <a class="result__snippet" href="x">Some <b>words</b> here</a></div></body></html>"""
    site.routes["/html/"] = (200, {"Content-Type": "text/html; charset=utf-8"}, page.encode())
    hits = WebSearch({"engine": "duckduckgo", "url": f"{site.url}/html/"}).search("q")
    assert [(hit.title, hit.url, hit.snippet) for hit in hits] == [
        ("A page", "https://real/page?a=1", "Some words here")
    ]


def test_nothing_found_and_nothing_configured_are_said(site, monkeypatch):
    with pytest.raises(ToolServiceError, match=r"SERPER_API_KEY.*duckduckgo"):
        WebSearch().call({"query": "q"})
    with pytest.raises(ValueError, match="engine"):
        WebSearch({"engine": "altavista"})
    site.routes["/search"] = as_json({"results": []})
    monkeypatch.setenv("SEARXNG_URL", site.url)
    assert "Nothing was found" in WebSearch().call({"query": "q"}, lang="en")
    assert "没有找到" in WebSearch().call({"query": "q"}, lang="zh")


@pytest.mark.parametrize("route", [as_json([]), as_json({"results": 3}), (200, {}, b"<html>"), (500, {}, b"")])
def test_a_broken_answer_is_one_error(site, monkeypatch, route):
    site.routes["/search"] = route
    monkeypatch.setenv("SEARXNG_URL", site.url)
    with pytest.raises(ToolServiceError):
        WebSearch().call({"query": "q"})


def test_the_environment_knows_both_prefixes(monkeypatch):
    monkeypatch.setenv("QWEN_AGENT_XYZ", "old")
    assert environment("XYZ") == "old"
    monkeypatch.setenv("QWEN_AGENTKIT_XYZ", "new")
    assert environment("XYZ") == "new"
    monkeypatch.setenv("XYZ_PLAIN", "plain")
    assert environment("XYZ_PLAIN") is None
    assert environment("XYZ_PLAIN", plain=True) == "plain"


# ---- amap_weather


def test_the_weather_comes_by_the_districts_number(site, monkeypatch):
    site.routes["/v3/config/district"] = as_json(
        {"status": "1", "districts": [{"name": "海淀镇", "adcode": "1"}, {"name": "海淀区", "adcode": "110108"}]}
    )
    site.routes["/v3/weather/weatherInfo"] = as_json({"status": "1", "lives": [{"weather": "晴", "temperature": "21"}]})
    tool = AmapWeather({"token": "t", "url": site.url})
    assert tool.call('{"location": "海淀区"}') == "海淀区的天气是晴温度是21度。"
    assert asked(site)[1] == {"city": "110108", "key": "t"}
    assert tool.call({"location": "海淀区"}, lang="en") == "Weather in 海淀区: 晴, 21 degrees Celsius."
    site.routes["/v3/config/district"] = as_json({"status": "1", "districts": []})
    with pytest.raises(ToolServiceError, match="knows no city"):
        tool.call({"location": "Atlantis"})
    site.routes["/v3/config/district"] = as_json({"status": "0", "info": "INVALID_USER_KEY"})
    with pytest.raises(ToolServiceError, match="INVALID_USER_KEY"):
        tool.call({"location": "海淀区"})


def test_a_missing_key_is_said_at_the_call_and_not_before():
    tool = AmapWeather()
    with pytest.raises(ToolServiceError, match="AMAP_TOKEN"):
        tool.call({"location": "海淀区"})


# ---- image_gen


def test_the_string_form_works_and_says_what_is_missing():
    with pytest.raises(ToolServiceError, match=r"llm_cfg.*DASHSCOPE_API_KEY"):
        ImageGen().call({"prompt": "a cat"})


def test_an_images_endpoint_makes_the_picture(site, monkeypatch):
    site.routes["/v1/images/generations"] = as_json({"data": [{"url": "https://pictures/1.png"}]})
    monkeypatch.setenv("QWEN_AGENTKIT_IMAGE_SERVER", f"{site.url}/v1")
    assert ImageGen().call('{"prompt": "a cat"}', messages=[]) == [ContentItem(image="https://pictures/1.png")]
    assert json.loads(asked(site)[3]) == {"prompt": "a cat", "n": 1, "size": "1024x1024"}
    png = io.BytesIO()
    Image.new("RGB", (2, 2)).save(png, "PNG")
    site.routes["/v1/images/generations"] = as_json({"data": [{"b64_json": base64.b64encode(png.getvalue()).decode()}]})
    kept = ImageGen().call({"prompt": "a cat"})[0].image
    assert Image.open(kept).size == (2, 2)
    site.routes["/v1/images/generations"] = as_json({"data": []})
    with pytest.raises(ToolServiceError, match="picture"):
        ImageGen().call({"prompt": "a cat"})


def test_dashscope_makes_the_picture_in_its_own_time(site, monkeypatch):
    monkeypatch.setenv("DASHSCOPE_API_KEY", "k")
    monkeypatch.setenv("DASHSCOPE_HTTP_URL", f"{site.url}/api/v1")
    monkeypatch.setattr("qwen_agentkit.tools.image_gen._LOOK_EVERY", 0.02)
    site.routes["/api/v1/services/aigc/text2image/image-synthesis"] = as_json({"output": {"task_id": "t1"}})
    states = [{"task_status": "RUNNING"}, {"task_status": "SUCCEEDED", "results": [{"url": "https://p/2.png"}]}]

    def task(handler):
        content = json.dumps({"output": states.pop(0)}).encode()
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    site.routes["/api/v1/tasks/t1"] = task
    assert ImageGen({"size": "512*512"}).call({"prompt": "a dog"})[0].image == "https://p/2.png"
    assert site.requests[0][2]["X-DashScope-Async"] == "enable"
    assert json.loads(site.requests[0][3])["parameters"]["size"] == "512*512"
    states.append({"task_status": "FAILED", "code": "Bad", "message": "not allowed"})
    with pytest.raises(ToolServiceError, match="not allowed"):
        ImageGen().call({"prompt": "a dog"})


# ---- image_search


def with_images(*images):
    return [Message("user", [ContentItem(image=image) for image in images])]


def test_similar_pictures_are_named_and_shown_if_they_are_there(site, loopback_allowed):
    site.routes["/search.json"] = as_json(
        {
            "image_results": [
                {"title": "A cat", "link": "https://page", "original": f"{site.url}/cat.png", "snippet": "furry"},
                {"title": "Gone", "original": f"{site.url}/gone.png"},
                {"title": "No picture"},
            ],
            "inline_images": [{"title": "A", "thumbnail": f"{site.url}/cat.png"}],
        }
    )
    site.routes["/cat.png"] = (200, {}, b"")
    tool = ImageSearch({"api_key": "k", "url": f"{site.url}/search.json"})
    content = tool.call({"img_idx": 0}, messages=with_images("https://host/mine.png"))
    assert content == [
        ContentItem(text=f'[1] "{site.url}/cat.png" A cat\nfurry'),
        ContentItem(image=f"{site.url}/cat.png"),
    ]
    assert asked(site, 0)[1] == {
        "engine": "google_reverse_image",
        "image_url": "https://host/mine.png",
        "api_key": "k",
    }


def test_wrong_pictures_and_missing_keys_are_said(site):
    tool = ImageSearch()
    assert "no picture 0" in tool.call({"img_idx": 0}, messages=[])
    assert "共有 1 张" in tool.call({"img_idx": 4}, messages=with_images("https://x/a.png"), lang="zh")
    with pytest.raises(ToolServiceError, match="local files"):
        tool.call({"img_idx": 0}, messages=with_images("/tmp/a.png"))
    with pytest.raises(ToolServiceError, match="SERPAPI_IMAGE_SEARCH_KEY"):
        tool.call({"img_idx": 0}, messages=with_images("https://x/a.png"))


def test_a_failing_service_is_asked_again_and_importing_changes_no_socket(site):
    import socket

    site.routes["/search.json"] = (500, {}, b"")
    tool = ImageSearch({"api_key": "k", "url": f"{site.url}/search.json"})
    with pytest.raises(ToolServiceError, match="500"):
        tool.call({"img_idx": 0}, messages=with_images("https://x/a.png"))
    assert len(site.requests) == 3
    assert socket.getaddrinfo.__module__ == "socket"


# ---- image_zoom_in_tool


@pytest.fixture
def picture(tmp_path):
    image = Image.new("RGB", (2000, 1000), "white")
    image.paste("red", (1000, 0, 2000, 500))
    path = tmp_path / "a.png"
    image.save(path)
    return path


def test_a_box_is_cut_out_and_enlarged(picture, tmp_path):
    tool = ImageZoomInToolQwen3VL({"work_dir": str(tmp_path / "work")})
    arguments = {"bbox_2d": [500, 0, 1000, 500], "label": "red", "img_idx": 0}
    result = tool.call(json.dumps(arguments), messages=with_images(str(picture)))
    shown = Image.open(result[0].image)
    assert shown.getpixel((5, 5)) == (255, 0, 0) == shown.getpixel((shown.width - 5, shown.height - 5))
    assert shown.width % 32 == 0 == shown.height % 32
    assert abs(shown.width / shown.height - 2) < 0.1
    assert picture.exists()


@pytest.mark.parametrize(
    "box", [[0, 0, 1, 1], [999, 999, 1000, 1000], [-50, -50, 2000, 2000], [900, 900, 100, 100], [0, 0, 1000, 2]]
)
def test_boxes_at_and_over_the_edge_still_show_something(picture, tmp_path, box):
    tool = ImageZoomInToolQwen3VL({"work_dir": str(tmp_path / "work")})
    for source in (str(picture), picture.as_uri()):
        result = tool.call({"bbox_2d": box, "label": "x", "img_idx": 0}, messages=with_images(source))
        width, height = Image.open(result[0].image).size
        assert width % 32 == 0 == height % 32
        assert width * height <= 2 * 12_845_056


def test_wrong_boxes_and_pictures_are_one_line(picture, tmp_path):
    tool = ImageZoomInToolQwen3VL({"work_dir": str(tmp_path / "work")})
    for arguments in (
        {"bbox_2d": [5, 5, 5, 5], "label": "x", "img_idx": 0},
        {"bbox_2d": [1, 2, 3], "label": "x", "img_idx": 0},
        {"bbox_2d": [0, 0, 9, 9], "label": "x", "img_idx": 3},
        {"bbox_2d": [0, 0, 9, 9], "label": "x", "img_idx": -1},
    ):
        with pytest.raises(ToolArgumentsError) as caught:
            tool.call(arguments, messages=with_images(str(picture)))
        assert "\n" not in str(caught.value)
    (tmp_path / "text.png").write_text("not a picture")
    with pytest.raises(ToolServiceError, match="cannot be opened"):
        tool.call(
            {"bbox_2d": [0, 0, 9, 9], "label": "x", "img_idx": 0}, messages=with_images(str(tmp_path / "text.png"))
        )


def test_a_picture_of_the_web_is_fetched_by_the_guarded_client(site, picture, tmp_path, monkeypatch):
    site.routes["/a.png"] = (200, {}, picture.read_bytes())
    tool = ImageZoomInToolQwen3VL({"work_dir": str(tmp_path / "work")})
    arguments = {"bbox_2d": [0, 0, 500, 500], "label": "x", "img_idx": 0}
    with pytest.raises(ToolServiceError, match="not a public address"):
        tool.call(arguments, messages=with_images(f"{site.url}/a.png"))
    monkeypatch.setitem(vars(settings), "WEB_ALLOWED_HOSTS", ["127.0.0.1"])
    assert tool.call(arguments, messages=with_images(f"{site.url}/a.png"))[0].image
