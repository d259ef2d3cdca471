"""The web on loopback: documents, pictures and the few services that the programs ask."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[2]

PAGE = """<html><head><title>FastAPI in short</title></head><body><h1>FastAPI</h1>
<p>FastAPI is a web framework for Python. Requests that wait for input and output are handled side by side, so it
suits work that is bound by input and output.</p><h2>Writing well</h2><p>Begin with what one sees, then tell what it
means. 写作技巧：先写看到的，再写想到的。</p></body></html>"""


def vector(text: str, size: int = 256) -> list[float]:
    """How often each character stands in a text, folded into a few places: enough to tell texts apart."""
    counts = [1e-6] * size
    for character in text:
        counts[ord(character) % size] += 1
    return counts


class Web:
    """Serves `/<host>/<path>` by the ending of the path; `asked` are the paths that were asked for.

    Args:
        resources: The folder with the examples' own documents and pictures.
    """

    def __init__(self, resources: Path) -> None:
        self.asked: list[str] = []
        web = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                web.asked.append(self.path)
                kind, content = web.content(self.path, body, resources)
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(content)

            do_GET = do_POST = do_HEAD = answer

            def log_message(self, *args: object) -> None:
                """Quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def content(self, path: str, body: bytes, resources: Path) -> tuple[str, bytes]:
        address = urlsplit(path)
        name = address.path.lower()
        if name == "/v1/embeddings":
            vectors = [vector(text) for text in json.loads(body)["input"]]
            data = [{"index": number, "embedding": one} for number, one in enumerate(vectors)]
            return "application/json", json.dumps({"data": data}).encode()
        picture = f"{self.url}/pictures/found.jpg"
        service = {
            "/v3/config/district": {"status": "1", "districts": [{"name": "海淀区", "adcode": "110108"}]},
            "/v3/weather/weatherinfo": {"status": "1", "lives": [{"weather": "晴", "temperature": "21"}]},
            "/v1/images/generations": {"data": [{"url": picture}]},
            "/serpapi": {"image_results": [{"title": "A dog beside a girl", "original": picture, "link": picture}]},
            "/serper": {
                "organic": [{"title": "Labrador", "link": f"{self.url}/dogs.html", "snippet": "A friendly dog."}]
            },
        }
        if name in service:
            return "application/json", json.dumps(service[name]).encode()
        if name.endswith((".jpg", ".jpeg", ".png")) or "/prompt/" in name:
            return "image/jpeg", (resources / "screenshot_with_plot.jpeg").read_bytes()
        if name.endswith(".pdf"):
            return "application/pdf", (ROOT / "resources" / "handbook.pdf").read_bytes()
        return "text/html; charset=utf-8", PAGE.encode()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
