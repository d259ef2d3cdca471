"""The components of the page, in their places."""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from typing import Any

from qwen_agentkit.gui.agents_shown import Cast
from qwen_agentkit.gui.config import PageConfig
from qwen_agentkit.gui.texts import TEXTS

# Locales of browsers that are shown Chinese.
_ZH_LOCALES = ("zh", "zh-CN", "zh-TW", "zh-HK", "zh-SG", "zh-Hans", "zh-Hant")


@dataclass
class Widgets:
    """The components that handlers read and update."""

    browser: Any
    session: Any
    sidebar: Any
    new: Any
    search: Any
    sessions: Any
    session_buttons: Any
    rename: Any
    delete: Any
    title: Any
    sure: Any
    sure_yes: Any
    sure_no: Any
    theme: Any
    chat: Any
    approval: Any
    question: Any
    asked: Any
    reason: Any
    allow: Any
    deny: Any
    agent: Any
    stop: Any
    input: Any


class Words:
    """The page's labels: in the configured language, or in whichever the browser asks for."""

    def __init__(self, gr: Any, lang: str | None) -> None:
        self._lang = lang
        tables = {"en": TEXTS["en"], **{locale: TEXTS["zh"] for locale in _ZH_LOCALES}}
        self.i18n: Any = None if lang else gr.I18n(**tables)

    def __call__(self, key: str) -> Any:
        return self.i18n(key) if self.i18n is not None else TEXTS[self._lang or "en"][key]


def lay_out(gr: Any, cast: Cast, config: PageConfig, words: Words, enable_mention: bool) -> Widgets:
    """Makes the components; to be called inside a `gr.Blocks`.

    Args:
        gr: Gradio.
        cast: The agents.
        config: How the page looks.
        words: Its labels.
        enable_mention: Whether `@` in the input offers the agents' names.
    """
    parts: dict[str, Any] = {
        "browser": gr.BrowserState({}, storage_key="qwen-agentkit", secret="qwen-agentkit"),
        "session": gr.State(""),
        "question": gr.State(""),
    }
    with gr.Sidebar(open=True, width=280, elem_id="qak-side") as parts["sidebar"]:
        parts["new"] = gr.Button(words("new"), variant="primary", elem_id="qak-new")
        parts["search"] = gr.Textbox(
            placeholder=words("search"), show_label=False, container=False, elem_id="qak-search"
        )
        parts["sessions"] = gr.Radio([], label=words("conversations"), elem_id="qak-sessions", interactive=True)
        with gr.Row(visible=False, elem_id="qak-session-buttons") as parts["session_buttons"]:
            parts["rename"] = gr.Button(words("rename"), size="sm", min_width=80, elem_id="qak-rename")
            parts["delete"] = gr.Button(words("delete"), size="sm", min_width=80, elem_id="qak-delete")
        parts["title"] = gr.Textbox(
            placeholder=words("rename_to"), show_label=False, container=False, visible=False, elem_id="qak-title"
        )
        with gr.Row(visible=False) as parts["sure"]:
            parts["sure_yes"] = gr.Button(words("delete_sure"), size="sm", variant="stop", elem_id="qak-delete-sure")
            parts["sure_no"] = gr.Button(words("keep"), size="sm", min_width=80)
        parts["theme"] = gr.Button(words("theme"), size="sm", elem_id="qak-theme")
    with gr.Column(elem_id="qak-main"):
        gr.HTML(_heading(cast, config, enable_mention), elem_id="qak-heading", padding=False)
        parts["chat"] = gr.Chatbot(
            elem_id="qak-chat",
            show_label=False,
            height=None,
            scale=1,
            layout="bubble",
            editable="user",
            buttons=["copy"],
            feedback_options=None,
            avatar_images=(config.user_avatar, config.agent_avatar),
            examples=config.suggestions or None,
            # Text is made harmless before it comes here; this is the second wall.
            sanitize_html=True,
            allow_tags=False,
            group_consecutive_messages=True,
        )
        with gr.Group(visible=False, elem_id="qak-approval") as parts["approval"]:
            parts["asked"] = gr.Markdown("", container=True, elem_id="qak-asked")
            parts["reason"] = gr.Textbox(placeholder=words("reason"), show_label=False, container=False)
            with gr.Row():
                parts["allow"] = gr.Button(words("approve"), variant="primary", elem_id="qak-allow")
                parts["deny"] = gr.Button(words("deny"), variant="stop", elem_id="qak-deny")
        with gr.Row(elem_id="qak-bottom", equal_height=True):
            names = list(cast.runners)
            parts["agent"] = gr.Dropdown(
                names,
                value=names[0],
                label=words("agent"),
                visible=len(names) > 1,
                scale=0,
                min_width=170,
                elem_id="qak-agent",
            )
            parts["input"] = gr.MultimodalTextbox(
                placeholder=config.placeholder or words("message"),
                show_label=False,
                file_count="multiple",
                sources=["upload"],
                autofocus=True,
                # Until it is known who is at the page and which conversation is shown.
                interactive=False,
                max_lines=10,
                scale=1,
                elem_id="qak-input",
            )
            parts["stop"] = gr.Button(
                words("stop"), variant="stop", visible=False, scale=0, min_width=90, elem_id="qak-stop"
            )
    return Widgets(**parts)


def _heading(cast: Cast, config: PageConfig, enable_mention: bool) -> str:
    """Name and description of the agent, or the names of all in their colours; for the script, whom `@` offers."""
    names = cast.speakers if enable_mention else ()
    title = escape(page_title(cast, config))
    if cast.named:
        line = " ".join(cast.badge(name) for name in cast.speakers)
    else:
        line = escape(next(iter(cast.runners.values())).description or "")
    mentions = escape(json.dumps(list(names), ensure_ascii=False), quote=True)
    return f'<div class="qak-heading" data-mentions="{mentions}"><h1>{title}</h1><p>{line}</p></div>'


def page_title(cast: Cast, config: PageConfig) -> str:
    """The configured title, else the names of those who can be asked."""
    return config.title or " · ".join(cast.runners)
