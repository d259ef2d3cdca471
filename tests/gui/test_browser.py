"""The page in a real browser: Chromium, driven by Playwright. Pictures are kept where QWEN_AGENTKIT_TEST_PICTURES says.

Needs the extra `test-full` and /usr/bin/chromium; skipped with a word where they are absent.
"""

import base64
import os
import re
from contextlib import contextmanager
from pathlib import Path

import pytest

from qwen_agentkit import tool
from qwen_agentkit.agents import Assistant, GroupChat, UserAgent
from qwen_agentkit.gui import WebUI, ask_in_page
from qwen_agentkit.testing import ScriptedChatModel, call, reply

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

QUESTION = "How long is the motor guaranteed?"
TIMEOUT = 60_000
BOX = "#qak-input textarea"
CHAT = "#qak-chat"
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAIAAAACUFjqAAAAEklEQVR4nGP4z8CAB+GTG8HSALfKY52fTcuYAAAAAElFTkSuQmCC"
)
EVIL = "<script>window.hurt = 1</script><img src='https://evil.example/x.png' onerror='window.hurt = 1'>"
ANSWER = f"""It is **21 degrees** {EVIL}

```html
<b>code & more</b>
```

![p](https://evil.example/y.png) and $$a < b$$
"""


@tool
def weather(city: str) -> str:
    """Weather of a city.

    Args:
        city: The city.
    """
    return f"21 degrees in {city} {EVIL}"


@tool
def refund(order: str) -> str:
    """Pays back.

    Args:
        order: The order.
    """
    return f"refunded {order}"


def slowly(text, delay=0.05):
    return reply(text, chunks=re.findall(r"\S+\s*", text), delay=delay)


@pytest.fixture
def serve(chromium):
    """Serves agents and gives their page; closes everything at the end."""
    served = []

    def start(agent, config=None, **kwargs):
        served.append(WebUI(agent, config).start(**kwargs))
        return served[-1]

    yield start
    for one in served:
        one.close()


@contextmanager
def visiting(chromium, url, dark=False, lang="en-US", **context):
    """A page in a fresh profile; nothing may be asked of another server, and no error may appear in its console."""
    profile = chromium.new_context(
        viewport={"width": 1280, "height": 860}, color_scheme="dark" if dark else "light", locale=lang, **context
    )
    page = profile.new_page()
    page.set_default_timeout(TIMEOUT)
    problems = []
    page.on("request", lambda one: problems.append(one.url) if _is_outside(one.url) else None)
    page.on("pageerror", lambda error: problems.append(str(error)) if not _is_left(str(error)) else None)
    page.on(
        "console", lambda line: problems.append(line.text) if line.type == "error" and not _is_left(line.text) else None
    )
    page.goto(url)
    page.wait_for_selector(f"{BOX}:enabled")
    try:
        yield page
        assert not problems
        assert page.evaluate("window.hurt") is None
    finally:
        profile.close()


def _is_outside(url):
    return not url.startswith(("http://127.0.0.1:", "data:", "blob:", "about:", "chrome"))


def _is_left(error):
    """What Gradio says when a page is left while it streams."""
    return "AbortError" in error or "Unexpected error Connection" in error


def ask(page, text):
    page.fill(BOX, text)
    page.press(BOX, "Enter")


def wait_for(page, text, gone=False):
    page.locator(CHAT).get_by_text(text, exact=False).first.wait_for(state="hidden" if gone else "visible")


def idle(page):
    page.locator("#qak-stop").wait_for(state="hidden")


def keep(page, name):
    folder = os.environ.get("QWEN_AGENTKIT_TEST_PICTURES")
    if folder:
        page.wait_for_timeout(400)
        page.screenshot(path=str(Path(folder) / f"{name}.png"))


def quoting(handbook):
    return Assistant(llm={"model_type": "extractive"}, files=[str(handbook)], name="Handbook")


@pytest.mark.parametrize(("dark", "lang", "sources"), [(False, "en-US", "Sources"), (True, "zh-CN", "来源")])
def test_a_question_to_a_pdf_opens_the_page_that_answers_it(serve, chromium, handbook, dark, lang, sources):
    url = serve(quoting(handbook), {"prompt.suggestions": [QUESTION]}).url
    with visiting(chromium, url, dark, lang) as page:
        name = f"{'dark' if dark else 'light'}-{lang}"
        page.get_by_text(QUESTION).wait_for()
        keep(page, f"empty-{name}")
        page.get_by_text(QUESTION).click()
        page.wait_for_function(f"document.querySelector('{BOX}').value.startsWith('How long')")
        page.press(BOX, "Enter")
        wait_for(page, "27 months")
        wait_for(page, sources)
        idle(page)
        page.locator(f"{CHAT} a[href*='qak/source']").first.click()
        frame = page.frame_locator("#qak-drawer iframe")
        picture = frame.locator("img")
        picture.wait_for()
        assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 600
        assert frame.locator("html").get_attribute("class") == ("dark" if dark else "light")
        assert "7" in frame.locator("header p").first.inner_text()
        # The drawer stands beside the conversation, not over it.
        drawer, chat = page.locator("#qak-drawer").bounding_box(), page.locator(CHAT).bounding_box()
        assert chat["x"] + chat["width"] <= drawer["x"] + 1
        keep(page, f"citation-{name}")
        frame.locator("nav a").last.click()
        frame.get_by_text("8").first.wait_for()
        page.locator("#qak-drawer button").click()
        page.locator("#qak-drawer").wait_for(state="hidden")


def test_thinking_and_tool_calls_are_folded_and_nothing_acts(serve, chromium):
    model = ScriptedChatModel(
        [reply("", call("weather", city="Oslo"), reasoning=f"Which city? {EVIL}"), slowly(ANSWER, 0.02)]
    )
    with visiting(chromium, serve(Assistant(llm=model, function_list=[weather], name="Helper")).url) as page:
        ask(page, f"Oslo? {EVIL}")
        page.locator(f"{CHAT} .katex").wait_for()
        idle(page)
        keep(page, "folded")
        assert page.get_by_text("Which city?").is_hidden()
        page.get_by_text("Tool weather").click()
        page.get_by_text("21 degrees in Oslo").wait_for()
        page.get_by_text("Thinking").click()
        page.get_by_text("Which city?").wait_for()
        keep(page, "unfolded")
        shown = page.locator(CHAT).inner_text()
        assert shown.count("<script>window.hurt = 1</script>") == 4
        assert "<b>code & more</b>" in shown
        assert page.locator(f"{CHAT} .katex").count() == 1 and page.locator(f"{CHAT} .katex-error").count() == 0
        assert page.locator(f"{CHAT} img[src*='evil']").count() == 0


def test_text_streams_and_a_run_can_be_stopped(serve, chromium):
    model = ScriptedChatModel([slowly("word " * 300, 0.05), "Again."])
    with visiting(chromium, serve(Assistant(llm=model, name="Helper")).url) as page:
        ask(page, "Talk")
        wait_for(page, "word word")
        first = len(page.locator(CHAT).inner_text())
        page.wait_for_timeout(500)
        assert len(page.locator(CHAT).inner_text()) > first
        page.click("#qak-stop")
        wait_for(page, "Stopped.")
        idle(page)
        assert page.locator(CHAT).inner_text().count("word") < 200
        ask(page, "And now?")
        wait_for(page, "Again.")


def test_a_reload_finds_the_conversation_and_the_run(serve, chromium):
    model = ScriptedChatModel([slowly("word " * 60 + "end.", 0.05)])
    with visiting(chromium, serve(Assistant(llm=model, name="Helper")).url) as page:
        ask(page, "Talk")
        wait_for(page, "word word")
        page.reload()
        wait_for(page, "Talk")
        wait_for(page, "end.")
        idle(page)
        page.reload()
        wait_for(page, "end.")
        assert page.locator("#qak-sessions label").count() == 1


def test_a_message_is_edited_and_an_answer_had_again(serve, chromium):
    model = ScriptedChatModel(["First answer.", "Second answer.", "Third answer."])
    with visiting(chromium, serve(Assistant(llm=model, name="Helper")).url) as page:
        ask(page, "a < b?")
        wait_for(page, "First answer.")
        idle(page)
        page.locator(f"{CHAT} button[aria-label='Retry']").click()
        wait_for(page, "Second answer.")
        idle(page)
        assert page.get_by_text("First answer.").count() == 0
        page.locator(f"{CHAT} button[aria-label='Edit']").click()
        page.locator(f"{CHAT} textarea").fill("a < c?")
        page.locator(f"{CHAT} button[aria-label='Submit']").click()
        wait_for(page, "Third answer.")
        idle(page)
        assert "a < c?" in page.locator(CHAT).inner_text()
        # What was said before is still there.
        assert page.locator("#qak-sessions label").count() == 3
        keep(page, "branches")
        page.locator("#qak-sessions label").last.click()
        wait_for(page, "First answer.")


@pytest.mark.parametrize("approve", ["pause", ask_in_page])
def test_a_tool_call_waits_for_a_click(serve, chromium, approve):
    model = ScriptedChatModel([call("refund", order="A1"), "Paid.", call("refund", order="A2"), "Not paid."])
    bot = Assistant(llm=model, function_list=[refund], name="Helper", approve={"refund": approve})
    with visiting(chromium, serve(bot).url) as page:
        ask(page, "Refund A1")
        page.locator("#qak-allow").wait_for()
        page.get_by_text("wants to use the tool").wait_for()
        keep(page, "approval")
        # It still waits after the page was loaded again.
        page.reload()
        page.locator("#qak-allow").click()
        wait_for(page, "Paid.")
        idle(page)
        ask(page, "Refund A2")
        page.locator("#qak-approval textarea, #qak-approval input").first.fill("out of time")
        page.locator("#qak-deny").click()
        wait_for(page, "Not paid.")
        assert "out of time" in str(model.requests[-1].messages[-1].content)


def test_agents_have_names_and_are_mentioned(serve, chromium):
    agents = [
        Assistant(llm=ScriptedChatModel([f"I am {name}."] * 3), name=name, description=f"{name} answers")
        for name in ("Mia", "Ken")
    ]
    with visiting(chromium, serve(agents, enable_mention=True).url) as page:
        ask(page, "Hello")
        wait_for(page, "I am Mia.")
        idle(page)
        page.locator(BOX).press_sequentially("@K")
        page.locator("#qak-mentions div", has_text="@Ken").wait_for()
        keep(page, "mention")
        page.keyboard.press("Enter")
        assert page.locator(BOX).input_value() == "@Ken "
        page.locator(BOX).press_sequentially("and you?")
        page.press(BOX, "Enter")
        wait_for(page, "I am Ken.")
        idle(page)
        assert page.locator("#qak-agent input").input_value() == "Ken"
        colours = page.locator(f"{CHAT} .qak-name").evaluate_all(
            "all => all.map(e => getComputedStyle(e).backgroundColor)"
        )
        assert len(set(colours)) == 2
        keep(page, "agents")


def test_a_team_waits_for_its_human(serve, chromium):
    mia = Assistant(llm=ScriptedChatModel(["What do you want?", "Then we build it."]), name="Mia")
    team = GroupChat([mia, UserAgent(name="Ada")], agent_selection_method="round_robin", max_round=2, name="team")
    with visiting(chromium, serve(team).url) as page:
        ask(page, "Let us begin")
        wait_for(page, "What do you want?")
        wait_for(page, "It is your turn, Ada.")
        idle(page)
        ask(page, "The offline mode")
        wait_for(page, "Then we build it.")
        assert "INTERRUPT" not in page.locator(CHAT).inner_text()


def test_a_picture_is_sent_and_one_comes_back(serve, chromium, tmp_path):
    (tmp_path / "red.png").write_bytes(PNG)
    data = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    model = ScriptedChatModel([{"role": "assistant", "content": [{"text": "Here:"}, {"image": data}]}])
    with visiting(chromium, serve(Assistant(llm=model, name="Painter")).url) as page:
        page.locator("#qak-input input[type=file]").set_input_files(str(tmp_path / "red.png"))
        page.locator("#qak-input img").wait_for()
        ask(page, "Paint it")
        wait_for(page, "Here:")
        idle(page)
        widths = page.locator(f"{CHAT} img.qak-image").evaluate_all("all => all.map(image => image.naturalWidth)")
        assert widths == [10, 10]
        assert "red.png" in str(model.requests[0].messages) or "image" in str(model.requests[0].messages)
        keep(page, "pictures")


def test_conversations_are_listed_searched_renamed_and_deleted(serve, chromium):
    model = ScriptedChatModel(["Bicycles are fine.", "Trains are fine."])
    with visiting(chromium, serve(Assistant(llm=model, name="Helper")).url) as page:
        ask(page, "About bicycles")
        wait_for(page, "Bicycles are fine.")
        idle(page)
        page.click("#qak-new")
        wait_for(page, "Bicycles are fine.", gone=True)
        ask(page, "About trains")
        wait_for(page, "Trains are fine.")
        idle(page)
        listed = page.locator("#qak-sessions label")
        listed.nth(1).wait_for()
        page.fill("#qak-search textarea, #qak-search input", "bicycles")
        page.wait_for_function("document.querySelectorAll('#qak-sessions label').length === 1")
        listed.first.click()
        wait_for(page, "Bicycles are fine.")
        page.fill("#qak-search textarea, #qak-search input", "")
        listed.nth(1).wait_for()
        page.click("#qak-rename")
        page.fill("#qak-title textarea, #qak-title input", "Two wheels")
        page.press("#qak-title textarea, #qak-title input", "Enter")
        page.locator("#qak-sessions").get_by_text("Two wheels").wait_for()
        page.click("#qak-delete")
        page.click("#qak-delete-sure")
        page.locator("#qak-sessions").get_by_text("Two wheels").wait_for(state="hidden")
        assert listed.count() == 1


def test_whoever_logs_in_sees_only_their_own(serve, chromium):
    model = ScriptedChatModel(["Noted.", "Noted too."])
    url = serve(Assistant(llm=model, name="Helper"), {"auth": [("ada", "a"), ("bob", "b")]}).url
    seen = {}
    for name, password in (("ada", "a"), ("bob", "b"), ("ada", "a")):
        profile = chromium.new_context()
        page = profile.new_page()
        page.set_default_timeout(TIMEOUT)
        page.goto(url)
        page.locator("input").nth(0).fill(name)
        page.locator("input").nth(1).fill(password)
        page.keyboard.press("Enter")
        page.wait_for_selector(f"{BOX}:enabled")
        page.wait_for_timeout(1_000)
        seen.setdefault(name, []).append(page.locator("#qak-sessions").inner_text())
        if len(seen[name]) == 1:
            ask(page, f"The secret of {name}")
            wait_for(page, "Noted")
            page.locator("#qak-sessions").get_by_text(f"The secret of {name}").wait_for()
        profile.close()
    assert "secret" not in seen["ada"][0] and "secret" not in seen["bob"][0]
    assert "secret of ada" in seen["ada"][1] and "bob" not in seen["ada"][1]


def test_the_theme_is_chosen_and_kept(serve, chromium):
    with visiting(chromium, serve(Assistant(llm=ScriptedChatModel([]), name="Helper")).url) as page:
        assert not page.evaluate("document.body.classList.contains('dark')")
        page.click("#qak-theme")
        page.wait_for_function("document.body.classList.contains('dark')")
        page.reload()
        page.wait_for_function("document.body.classList.contains('dark')")


def test_an_answer_that_fails_says_so(serve, chromium):
    model = ScriptedChatModel([ValueError("The key is <b>wrong</b>"), "Better."])
    with visiting(chromium, serve(Assistant(llm=model, name="Helper")).url) as page:
        ask(page, "Hello")
        wait_for(page, "The answer failed: The key is <b>wrong</b>")
        idle(page)
        ask(page, "Again")
        wait_for(page, "Better.")


def test_a_message_sent_meanwhile_is_answered(serve, chromium):
    model = ScriptedChatModel([slowly("one " * 40, 0.05), "Second answer."])
    with visiting(chromium, serve(Assistant(llm=model, name="Helper")).url) as page:
        ask(page, "First")
        wait_for(page, "one one")
        ask(page, "Meanwhile")
        wait_for(page, "it will be answered")
        wait_for(page, "Second answer.")
        idle(page)
        assert page.locator(CHAT).get_by_text("Meanwhile").count() == 1
