"""What the page does when something is clicked, typed or loaded: Gradio's event handlers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from qwen_agentkit.agents.loop.approval import Decision
from qwen_agentkit.gui.approvals import Question
from qwen_agentkit.gui.escaping import fenced
from qwen_agentkit.gui.layout import Widgets
from qwen_agentkit.gui.live_runs import LiveRun
from qwen_agentkit.gui.media import TooLarge
from qwen_agentkit.gui.page import Page, Visitor
from qwen_agentkit.gui.texts import say
from qwen_agentkit.gui.users import new_browser_id
from qwen_agentkit.session import Session

Updates = dict[Any, Any]


class Handlers:
    """The handlers of one page.

    Args:
        page: What they work on.
        widgets: The components that they update.
        gr: Gradio.
    """

    def __init__(self, page: Page, widgets: Widgets, gr: Any) -> None:
        self.page = page
        self.w = widgets
        self.gr = gr

    # ---- opening

    def load(self, browser: dict[str, str] | None, request: Any) -> Updates:
        """The page was opened or loaded again: the conversation that was last shown is shown again."""
        browser = _with_id(browser)
        visitor = self.page.visitor(request, browser["id"])
        session = self.page.conversations.open(browser.get("session", ""), visitor.user)
        return {**self._opened(session, visitor, browser["id"]), **self._listed(visitor, session)}

    def open(self, session_id: str | None, browser: dict[str, str], request: Any) -> Updates:
        """A conversation was chosen from the list."""
        visitor = self._visitor(browser, request)
        return self._opened(self.page.conversations.open(session_id or "", visitor.user), visitor, browser["id"])

    def new(self, browser: dict[str, str], request: Any) -> Updates:
        """A new conversation; it is stored once something is said."""
        browser = _with_id(browser)
        visitor = self._visitor(browser, request)
        return {**self._opened(None, visitor, browser["id"]), **self._listed(visitor, None)}

    def search(self, words: str, session_id: str, browser: dict[str, str], request: Any) -> Updates:
        """The list was searched."""
        visitor = self._visitor(browser, request)
        found = self.page.conversations.listed(visitor.user, visitor.lang, words or "")
        shown = session_id if any(one == session_id for _, one in found) else None
        return {self.w.sessions: self.gr.update(choices=found, value=shown)}

    def rename(self, title: str, session_id: str, browser: dict[str, str], request: Any) -> Updates:
        """A conversation gets another title."""
        visitor = self._visitor(browser, request)
        session = self.page.conversations.open(session_id, visitor.user)
        if session is not None and title.strip():
            session.rename(title)
        return {**self._listed(visitor, session), self.w.title: self.gr.update(value="", visible=False)}

    def delete(self, session_id: str, browser: dict[str, str], request: Any) -> Updates:
        """A conversation is erased; a run in it is stopped first."""
        visitor = self._visitor(browser, request)
        session = self.page.conversations.open(session_id, visitor.user)
        if session is not None:
            run = self.page.runs.find(session.key)
            if run is not None:
                run.stop()
                run.wait(5)
            session.delete()
        closed = {self.w.sure: self.gr.update(visible=False)}
        return {**self._opened(None, visitor, browser["id"]), **self._listed(visitor, None), **closed}

    def leave(self, request: Any) -> None:
        """The tab was closed."""
        self.page.tabs.close(str(request.session_hash))

    # ---- talking

    def send(
        self, given: dict[str, Any], session_id: str, chosen: str | None, browser: dict[str, str], request: Any
    ) -> Updates:
        """A message was sent."""
        visitor = self._visitor(browser, request)
        text, files = given.get("text") or "", [str(path) for path in given.get("files") or ()]
        session = self.page.conversations.open(session_id, visitor.user)
        try:
            message = self.page.message(text, files, visitor, session)
        except TooLarge as error:
            raise self.gr.Error(say("too_large", visitor.lang, error, self.page.config.max_file_mb)) from error
        if message is None:
            return {self.w.input: self.gr.update()}
        session = session or self.page.conversations.new(visitor.user)
        chosen = self.page.runner_name(text, chosen)
        run = self.page.send(session, message, chosen, visitor)
        agent = {self.w.agent: self.gr.update(value=chosen)} if len(self.page.cast.runners) > 1 else {}
        return {**self._begun(session, run, visitor, browser), **agent, self.w.input: {"text": "", "files": []}}

    def retry(self, data: Any, session_id: str, chosen: str | None, browser: dict[str, str], request: Any) -> Updates:
        """The answer to a message is wanted anew."""
        return self._again(_index(data.index), None, session_id, chosen, browser, request)

    def edit(self, data: Any, session_id: str, chosen: str | None, browser: dict[str, str], request: Any) -> Updates:
        """A message was changed: the conversation goes on from there, in a branch."""
        return self._again(_index(data.index), _edited(data.value), session_id, chosen, browser, request)

    def suggest(self, data: Any) -> Updates:
        """A suggestion was chosen: it goes into the input."""
        return {self.w.input: {"text": data.value.get("text") or "", "files": data.value.get("files") or []}}

    def stop(self, session_id: str, browser: dict[str, str], request: Any) -> None:
        """The run of this conversation is to end."""
        run = self._run(session_id, browser, request)
        if run is not None:
            run.stop()

    def allow(self, question: str, session_id: str, browser: dict[str, str], request: Any) -> Updates:
        """The tool call that waits may be made."""
        return self._decide(question, Decision(True), session_id, browser, request)

    def deny(self, question: str, reason: str, session_id: str, browser: dict[str, str], request: Any) -> Updates:
        """The tool call that waits is not made; the model gets the reason."""
        return self._decide(question, Decision(False, (reason or "").strip()), session_id, browser, request)

    def follow(self, session_id: str, browser: dict[str, str], request: Any) -> Iterator[Updates]:
        """Shows the run of this conversation until it ends or the tab shows something else."""
        visitor = self._visitor(browser, request)
        session = self.page.conversations.open(session_id, visitor.user)
        # One that has ended meanwhile counts: its answer is still to be shown.
        run = self.page.runs.last(session.key) if session is not None else None
        if session is None or run is None:
            yield self._working(None, visitor)
            return
        for frame, _ in enumerate(run.watch()):
            if not self.page.tabs.shows(visitor.tab, session_id):
                return
            # A new conversation is listed once its first message is stored, which the run does as it begins.
            listed = self._listed(visitor, session) if frame == 1 else {}
            shown = self.page.shown(session, visitor, run).messages
            yield {self.w.chat: shown, **self._working(run, visitor), **listed}
        yield {**self._working(None, visitor), **self._listed(visitor, session), **self._hint(session, visitor)}

    # ---- parts

    def _visitor(self, browser: dict[str, str] | None, request: Any) -> Visitor:
        return self.page.visitor(request, (browser or {}).get("id", ""))

    def _run(self, session_id: str, browser: dict[str, str], request: Any) -> LiveRun | None:
        visitor = self._visitor(browser, request)
        session = self.page.conversations.open(session_id, visitor.user)
        return self.page.runs.find(session.key) if session is not None else None

    def _opened(self, session: Session | None, visitor: Visitor, browser_id: str) -> Updates:
        shown = session.session_id if session else ""
        self.page.tabs.show(visitor.tab, visitor.user, shown)
        run = self.page.runs.find(session.key) if session else None
        return {
            self.w.browser: {"id": browser_id, "session": shown},
            self.w.session: shown,
            self.w.chat: self.page.shown(session, visitor, run).messages,
            **self._working(run, visitor),
            **self._hint(session, visitor),
        }

    def _begun(self, session: Session, run: LiveRun, visitor: Visitor, browser: dict[str, str]) -> Updates:
        self.page.tabs.show(visitor.tab, visitor.user, session.session_id)
        return {
            self.w.browser: {"id": browser["id"], "session": session.session_id},
            self.w.session: session.session_id,
            self.w.chat: self.page.shown(session, visitor, run).messages,
            **self._working(run, visitor),
        }

    def _again(
        self,
        index: int,
        text: str | None,
        session_id: str,
        chosen: str | None,
        browser: dict[str, str],
        request: Any,
    ) -> Updates:
        visitor = self._visitor(browser, request)
        session = self.page.conversations.open(session_id, visitor.user)
        if session is None:
            return {self.w.input: self.gr.update()}
        run = self.page.runs.find(session.key)
        if run is not None:
            # What is answered anew is not wanted as it was.
            run.stop()
            run.wait(10)
        branch, message = self.page.again(session, index, visitor, text)
        return self._begun(branch, self.page.send(branch, message, chosen, visitor), visitor, browser)

    def _decide(
        self, question: str, decision: Decision, session_id: str, browser: dict[str, str], request: Any
    ) -> Updates:
        run = self._run(session_id, browser, request)
        if run is not None:
            run.decide(question, decision)
        return {self.w.approval: self.gr.update(visible=False), self.w.reason: ""}

    def _listed(self, visitor: Visitor, session: Session | None) -> Updates:
        found = self.page.conversations.listed(visitor.user, visitor.lang)
        shown = session.session_id if session and any(one == session.session_id for _, one in found) else None
        return {
            self.w.sessions: self.gr.update(choices=found, value=shown),
            self.w.session_buttons: self.gr.update(visible=shown is not None),
        }

    def _working(self, run: LiveRun | None, visitor: Visitor) -> Updates:
        """The stop button, and the question that waits."""
        question = run.question if run is not None and not run.done else None
        return {
            self.w.stop: self.gr.update(visible=run is not None and not run.done),
            self.w.approval: self.gr.update(visible=question is not None),
            self.w.question: question.call_id if question else "",
            self.w.asked: _asked(question, visitor.lang) if question else "",
        }

    def _hint(self, session: Session | None, visitor: Visitor) -> Updates:
        waited = self.page.waits_for(session)
        words = self.page.config.placeholder or say("message", visitor.lang)
        if waited:
            words = say("turn", visitor.lang, waited)
        return {self.w.input: self.gr.update(placeholder=words, interactive=True)}


def _with_id(browser: dict[str, str] | None) -> dict[str, str]:
    """What the browser keeps, with an id: it has none on its first visit, until the page has answered."""
    return {"id": new_browser_id(), **(browser or {})}


def _asked(question: Question, lang: str) -> str:
    name = re.sub(r"[^\w.-]", "_", question.name)
    return f"{say('approval', lang, name=name)}\n\n{fenced(question.arguments, 'json')}"


def _index(index: Any) -> int:
    """The place of a message on the screen; Gradio gives a list for one with several parts."""
    return int(index[0] if isinstance(index, (list, tuple)) else index)


def _edited(value: Any) -> str:
    """The text of an edited message, which Gradio gives as text or as parts."""
    if isinstance(value, list):
        return "\n\n".join(_edited(part) for part in value)
    return str(value.get("text") or "") if isinstance(value, dict) else str(value)
