"""What a team says to its members and its host, in both languages; each text can be replaced.

A program gives `prompts={"select": "..."}` (both languages) or `prompts={"select": {"en": "...", "zh": "..."}}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from string import Formatter
from typing import Any

PROMPTS: dict[str, dict[str, str]] = {
    # To a member, about the team. Fields: name, others, background.
    "member": {
        "en": "{background}You are {name} in a group chat. The other members are: {others}. Their words reach you as "
        "lines of the form `name: words`. Say only your own words, without your name in front. To call on somebody, "
        "write @ and their name.",
        "zh": "{background}你是群聊中的{name}。其他成员有：{others}。他们的发言会以“名字: 内容”的形式出现。"
        "请只说你自己的话，开头不要写自己的名字。如果想请某位成员发言，请写@加上对方的名字。",
    },
    # The last message of a talk that brought nothing more. Fields: best (the last answer of use), reason.
    "closed": {
        "en": "{best}\n\n(The talk was closed: {reason}.)",
        "zh": "{best}\n\n（对话已结束：{reason}。）",
    },
    # To a member, with `show_budget`. Fields: left.
    "budget": {
        "en": "Left for the whole team: {left}. Spend it with care.",
        "zh": "整个团队剩余的额度：{left}。请节约使用。",
    },
    "background": {"en": "What the chat is about: {background}\n\n", "zh": "群聊背景：{background}\n\n"},
    # To the host that chooses who speaks. Fields: roles (a line each), participants (names, with commas).
    "select": {
        "en": "You lead a conversation and decide who speaks next. Those who can speak:\n{roles}\n\nYou are shown the "
        "conversation as lines of the form `name: words`; the newest come last and weigh most. Choose who can best "
        "carry it on now. Nobody needs to speak who has nothing to add, and a human is chosen only where their word "
        "is needed. Answer with exactly one of these names: {participants}. When the matter is settled, or the human "
        "wants to stop, answer [STOP]. Write nothing else.",
        "zh": "你主持一场对话，负责决定下一位发言人。可以发言的有：\n{roles}\n\n对话以“名字: 内容”的形式给出，"
        "越靠后的越新，也越重要。请选出此刻最适合接着说的人；没有内容可补充的人不必发言，只有确实需要真人意见时才选真人。"
        "只回答下列名字之一：{participants}。"
        "如果事情已经谈妥，或真人希望结束，请回答 [STOP]。不要写其他任何内容。",
    },
    "select_first": {
        "en": "(Nothing has been said yet. Choose who begins, rather not a human.)",
        "zh": "（还没有人发言。请选择由谁开始，最好不是真人。）",
    },
    # After an answer that names nobody, or several. Fields: answer, participants.
    "select_none": {
        "en": "That names nobody who can speak now. Answer with exactly one of: {participants}, or [STOP].",
        "zh": "这个回答里没有当前可以发言的人。请只回答下列名字之一：{participants}，或 [STOP]。",
    },
    "select_many": {
        "en": "That names several: {answer}. Answer with exactly one of: {participants}, or [STOP].",
        "zh": "这个回答提到了多个人：{answer}。请只回答下列名字之一：{participants}，或 [STOP]。",
    },
}

Prompts = Mapping[str, "str | Mapping[str, str]"]


def prompt(given: Prompts | None, key: str, lang: str, defaults: Mapping[str, Mapping[str, str]] = PROMPTS) -> str:
    """The text for that purpose: the program's own, else the default, in the language of the conversation."""
    texts = (given or {}).get(key, defaults[key])
    if isinstance(texts, str):
        return texts
    lang = "zh" if lang == "zh" else "en"
    return texts[lang] if lang in texts else next(iter(texts.values()), defaults[key][lang])


def check_prompts(given: Prompts | None, defaults: Mapping[str, Mapping[str, str]] = PROMPTS) -> None:
    """Raises ValueError when a program replaces a prompt that does not exist, or uses a field that is not filled."""
    for key, texts in (given or {}).items():
        if key not in defaults:
            raise ValueError(f"There is no prompt {key!r}; those that can be replaced: {', '.join(defaults)}")
        known = {field for text in defaults[key].values() for field in fields(text)}
        for text in [texts] if isinstance(texts, str) else texts.values():
            unknown = fields(text) - known
            if unknown:
                raise ValueError(
                    f"prompts[{key!r}] has the field {{{sorted(unknown)[0]}}}; filled are: "
                    f"{', '.join(sorted(known)) or 'none'}"
                )


def fields(text: str) -> set[str]:
    """The names in braces in a prompt."""
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def roles(agents: list[Any]) -> str:
    """One line an agent, name and description, white space squeezed."""
    return "\n".join(" ".join(f"{agent.name}: {agent.description or ''}".split()) for agent in agents)
