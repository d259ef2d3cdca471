"""Ties the page's events to their handlers."""

from __future__ import annotations

from typing import Any

from qwen_agentkit.gui.handlers import Handlers
from qwen_agentkit.gui.layout import Widgets


def wire(gr: Any, blocks: Any, widgets: Widgets, handlers: Handlers) -> None:
    """To be called inside the `gr.Blocks`.

    Args:
        gr: Gradio.
        blocks: The blocks.
        widgets: Their components.
        handlers: What to do.
    """
    w, h = widgets, handlers
    # Watching a run keeps an event open for minutes, so no event waits for another.
    common: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden", "concurrency_limit": None}
    opened = [w.browser, w.session, w.chat, w.stop, w.approval, w.question, w.asked, w.input]
    listed = [w.sessions, w.session_buttons]

    # Gradio reads the annotations of these functions: a request and an event's data are passed for them.
    def load(browser: Any, request: gr.Request) -> Any:
        return h.load(browser, request)

    def open_one(one: Any, browser: Any, request: gr.Request) -> Any:
        return h.open(one, browser, request)

    def new(browser: Any, request: gr.Request) -> Any:
        return h.new(browser, request)

    def search(words: Any, session: Any, browser: Any, request: gr.Request) -> Any:
        return h.search(words, session, browser, request)

    def rename(title: Any, session: Any, browser: Any, request: gr.Request) -> Any:
        return h.rename(title, session, browser, request)

    def delete(session: Any, browser: Any, request: gr.Request) -> Any:
        return h.delete(session, browser, request)

    def send(given: Any, session: Any, agent: Any, browser: Any, request: gr.Request) -> Any:
        return h.send(given, session, agent, browser, request)

    def retry(session: Any, agent: Any, browser: Any, data: gr.RetryData, request: gr.Request) -> Any:
        return h.retry(data, session, agent, browser, request)

    def edit(session: Any, agent: Any, browser: Any, data: gr.EditData, request: gr.Request) -> Any:
        return h.edit(data, session, agent, browser, request)

    def suggest(data: gr.SelectData) -> Any:
        return h.suggest(data)

    def stop(session: Any, browser: Any, request: gr.Request) -> None:
        h.stop(session, browser, request)

    def allow(question: Any, session: Any, browser: Any, request: gr.Request) -> Any:
        return h.allow(question, session, browser, request)

    def deny(question: Any, reason: Any, session: Any, browser: Any, request: gr.Request) -> Any:
        return h.deny(question, reason, session, browser, request)

    def follow(session: Any, browser: Any, request: gr.Request) -> Any:
        yield from h.follow(session, browser, request)

    def leave(request: gr.Request) -> None:
        h.leave(request)

    for function in (load, open_one, new, search, rename, delete, send, retry, edit, stop, allow, deny, follow, leave):
        function.__annotations__["request"] = gr.Request
    retry.__annotations__["data"] = gr.RetryData
    edit.__annotations__["data"] = gr.EditData
    suggest.__annotations__["data"] = gr.SelectData

    def then_follow(event: Any) -> None:
        event.then(follow, [w.session, w.browser], [*opened[2:], *listed], trigger_mode="multiple", **common)

    then_follow(blocks.load(load, w.browser, [*opened, *listed], **common))
    then_follow(w.sessions.input(open_one, [w.sessions, w.browser], opened, **common))
    then_follow(
        w.input.submit(
            send,
            [w.input, w.session, w.agent, w.browser],
            [*opened, w.agent],
            trigger_mode="multiple",
            **common,
        )
    )
    then_follow(w.chat.retry(retry, [w.session, w.agent, w.browser], opened, **common))
    then_follow(w.chat.edit(edit, [w.session, w.agent, w.browser], opened, **common))
    w.chat.example_select(suggest, None, w.input, **common)
    w.new.click(new, w.browser, [*opened, *listed], **common)
    w.search.change(search, [w.search, w.session, w.browser], w.sessions, trigger_mode="always_last", **common)
    w.rename.click(lambda: gr.update(visible=True), None, w.title, **common)
    w.title.submit(rename, [w.title, w.session, w.browser], [*listed, w.title], **common)
    w.delete.click(lambda: gr.update(visible=True), None, w.sure, **common)
    w.sure_no.click(lambda: gr.update(visible=False), None, w.sure, **common)
    w.sure_yes.click(delete, [w.session, w.browser], [*opened, *listed, w.sure], **common)
    w.stop.click(stop, [w.session, w.browser], None, **common)
    w.allow.click(allow, [w.question, w.session, w.browser], [w.approval, w.reason], **common)
    w.deny.click(deny, [w.question, w.reason, w.session, w.browser], [w.approval, w.reason], **common)
    w.theme.click(None, None, None, js="() => window.qakToggleTheme()", api_visibility="private")
    blocks.unload(leave)
