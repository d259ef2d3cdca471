"""What the tests of the page share: a workspace of their own, and the page in a real browser."""

import shutil
from pathlib import Path

import pytest

from qwen_agentkit import settings

RESOURCES = Path(__file__).parents[2] / "resources"
CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(autouse=True)
def workspace(tmp_path, monkeypatch):
    folder = tmp_path / "workspace"
    monkeypatch.setattr(settings, "DEFAULT_WORKSPACE", str(folder))
    return folder


@pytest.fixture
def handbook(tmp_path):
    """A real PDF, a copy that a test may delete."""
    return Path(shutil.copy(RESOURCES / "handbook.pdf", tmp_path / "handbook.pdf"))


@pytest.fixture(scope="module")
def chromium():
    """The system's own Chromium, driven by Playwright, whose event loop must be gone before other tests run theirs."""
    pytest.importorskip("gradio", reason="the extra `gui` is not installed")
    driver = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    if not Path(CHROMIUM).exists():
        pytest.skip(f"there is no {CHROMIUM}")
    with driver.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()
