"""`Page`: what the handlers of the page's events share, and what they do with a conversation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from qwen_agentkit.gui.agents_shown import Cast, mentioned
from qwen_agentkit.gui.config import PageConfig
from qwen_agentkit.gui.conversations import Conversations
from qwen_agentkit.gui.escaping import unescape
from qwen_agentkit.gui.live_runs import LiveRun, LiveRuns
from qwen_agentkit.gui.media import take_in
from qwen_agentkit.gui.rendering import Shown, View, failure, queued, render, user_text
from qwen_agentkit.gui.tabs import Tabs
from qwen_agentkit.gui.tickets import Tickets
from qwen_agentkit.gui.users import language_of, user_of
from qwen_agentkit.log import logger
from qwen_agentkit.schema import USER, ContentItem, Message
from qwen_agentkit.session import Session
from qwen_agentkit.utils.message_text import text_of


@dataclass(frozen=True)
class Visitor:
    """Who has sent a request.

    Args:
        user: Whose conversations they see.
        lang: Their language.
        tab: The browser tab.
    """

    user: str
    lang: str
    tab: str


@dataclass
class Page:
    """One page and its visitors.

    Args:
        cast: The agents.
        config: How it looks and behaves.
        conversations: The stored conversations.
        runs: The runs that are under way.
        run_kwargs: Arguments of every run.
        enable_mention: Whether `@name` in a message chooses the agent.
        shared: Whether others than the people at this machine can reach it.
    """

    cast: Cast
    config: PageConfig
    conversations: Conversations
    runs: LiveRuns
    run_kwargs: dict[str, Any] = field(default_factory=dict)
    enable_mention: bool = False
    shared: bool = False
    tickets: Tickets = field(default_factory=Tickets)
    tabs: Tabs = field(default_factory=Tabs)

    def visitor(self, request: Any, browser_id: str) -> Visitor:
        """Who is behind a request of Gradio's."""
        user = user_of(request, browser_id, self.shared)
        return Visitor(user, language_of(request, self.config.lang), str(request.session_hash))

    # ---- what is shown

    def shown(self, session: Session | None, visitor: Visitor, run: LiveRun | None = None) -> Shown:
        """A conversation for the screen, with what a run has said so far."""
        view = View(self.cast, self.tickets, visitor.user, visitor.lang, self._files())
        if run is None:
            return render(session.messages() if session else self.conversations.beginning(), view)
        shown = render([*run.base, *run.response], view, live=not run.done)
        for message in run.queued:
            shown.messages += queued(text_of(message), visitor.lang)
        if run.error:
            shown.messages.append({"role": "assistant", "content": failure(run.error, visitor.lang)})
        return shown

    def _files(self) -> list[str]:
        """The agents' own documents: what they may show."""
        return [file for agent in self.cast.runners.values() for file in getattr(agent, "_files", None) or ()]

    def waits_for(self, session: Session | None) -> str | None:
        """The human of a team whose turn it is, None when it is nobody's."""
        from qwen_agentkit.agents.user_agent import is_pending

        messages = session.messages() if session else []
        return messages[-1].name if messages and is_pending(messages[-1]) else None

    # ---- what is done

    def message(self, text: str, files: Sequence[str], visitor: Visitor, session: Session | None) -> Message | None:
        """The message that a person sends; None when it says nothing.

        Raises:
            TooLarge: A file is larger than the page takes.
        """
        items = take_in(files, visitor.user, self.config.max_file_mb * 1_000_000)
        if not items and not text.strip():
            return None
        name = self.waits_for(session) or self.config.user_name
        if not items:
            return Message(USER, text, name=name)
        return Message(USER, [*([ContentItem(text=text)] if text.strip() else []), *items], name=name)

    def runner_name(self, text: str, chosen: str | None) -> str | None:
        """Whom a message goes to: who is mentioned, else who was chosen."""
        called = mentioned(text, list(self.cast.runners)) if self.enable_mention else None
        return called or chosen

    def send(self, session: Session, message: Message, chosen: str | None, visitor: Visitor) -> LiveRun:
        """Gives a message to an agent, or to the run that is under way."""
        agent = self.cast.runner(self.runner_name(text_of(message), chosen))
        if self.config.verbose:
            logger.info("At the page %s gets: %s", agent.name, message)
        return self.runs.start(agent, session, [message], self.run_kwargs, is_here=lambda: self.tabs.has(visitor.user))

    def again(self, session: Session, index: int, visitor: Visitor, text: str | None = None) -> tuple[Session, Message]:
        """A branch of a conversation in which a message is sent again.

        Args:
            session: The conversation; it stays as it is.
            index: Place on the screen of the message, or of what answers it.
            visitor: Who asks.
            text: Another text in its place, as it was edited on the screen; None is the same.

        Raises:
            ValueError: There is no such message of a person.
        """
        messages, origins = session.messages(), self.shown(session, visitor).origins
        place = origins[min(index, len(origins) - 1)] if origins and index >= 0 else -1
        while place >= 0 and messages[place].role != USER:
            place -= 1
        if place < 0:
            raise ValueError("There is no message to send again")
        message = messages[place]
        if text is not None and text != user_text(message):
            message = _with_text(message, unescape(text))
        return self.conversations.branch(session, place), message


def _with_text(message: Message, text: str) -> Message:
    if isinstance(message.content, str):
        return message.model_copy(update={"content": text})
    kept = [item for item in message.content if item.text is None]
    return message.model_copy(update={"content": [ContentItem(text=text), *kept]})
