"""What the page says, in English and Chinese."""

from __future__ import annotations

_EN = {
    "new": "New conversation",
    "conversations": "Conversations",
    "search": "Search conversations",
    "rename": "Rename",
    "rename_to": "New title, then Enter",
    "delete": "Delete",
    "delete_sure": "Delete for good",
    "keep": "Keep",
    "theme": "Light / dark",
    "agent": "Ask",
    "message": "Message, Enter sends it",
    "stop": "Stop",
    "approve": "Allow",
    "deny": "Deny",
    "reason": "Reason, for the model (optional)",
    "approval": "The agent wants to use the tool **{name}** with:",
    "thinking": "Thinking",
    "tool": "Tool {}",
    "arguments": "Arguments",
    "result": "Result",
    "sources": "Sources",
    "page": "page {}",
    "pages": "pages {} to {}",
    "sheet": "sheet {}",
    "row": "row {}",
    "rows": "rows {} to {}",
    "stopped": "Stopped.",
    "limit": "Ended at a limit: {}.",
    "failed": "The answer failed: {}",
    "broken": "The answer broke off here.",
    "unsupported": "Not found in the sources: {}",
    "queued": "Sent while the agent was working; it will be answered.",
    "turn": "It is your turn, {}.",
    "file": "File: {}",
    "quote_missing": "The quote could not be found on this page; the page is shown as it is.",
    "gone": "This source cannot be shown: {}",
    "previous": "Previous page",
    "next": "Next page",
    "of": "Page {} of {}",
    "expired": "This link is no longer valid. Open the conversation again.",
    "no_title": "Untitled",
    "too_large": "The file {} is larger than {} MB and was not taken.",
}

_ZH = {
    "new": "新对话",
    "conversations": "对话",
    "search": "搜索对话",
    "rename": "重命名",
    "rename_to": "输入新标题后按回车",
    "delete": "删除",
    "delete_sure": "永久删除",
    "keep": "保留",
    "theme": "浅色／深色",
    "agent": "提问对象",
    "message": "输入消息，按回车发送",
    "stop": "停止",
    "approve": "允许",
    "deny": "拒绝",
    "reason": "给模型的理由（可不填）",
    "approval": "智能体想使用工具 **{name}**，参数为：",
    "thinking": "思考",
    "tool": "工具 {}",
    "arguments": "参数",
    "result": "结果",
    "sources": "来源",
    "page": "第 {} 页",
    "pages": "第 {} 至 {} 页",
    "sheet": "工作表 {}",
    "row": "第 {} 行",
    "rows": "第 {} 至 {} 行",
    "stopped": "已停止。",
    "limit": "达到上限而结束：{}。",
    "failed": "回答失败：{}",
    "broken": "回答在此中断。",
    "unsupported": "来源中未找到依据：{}",
    "queued": "在智能体工作时发送；随后会得到回答。",
    "turn": "轮到您发言，{}。",
    "file": "文件：{}",
    "quote_missing": "此页上未找到引文；按原样显示该页。",
    "gone": "无法显示此来源：{}",
    "previous": "上一页",
    "next": "下一页",
    "of": "第 {} 页，共 {} 页",
    "expired": "此链接已失效，请重新打开对话。",
    "no_title": "无标题",
    "too_large": "文件 {} 超过 {} MB，未被接收。",
}

TEXTS = {"en": _EN, "zh": _ZH}
LANGUAGES = tuple(TEXTS)


def say(key: str, lang: str, *values: object, **named: object) -> str:
    """A sentence of the page.

    Args:
        key: Its name in `TEXTS`.
        lang: `en` or `zh`.
        *values: What goes into its places.
        **named: What goes into its named places.
    """
    return TEXTS[lang][key].format(*values, **named) if values or named else TEXTS[lang][key]


def preferred_language(accept_language: str | None) -> str:
    """The page's language for what a browser asks for (`Accept-Language`, RFC 9110 12.5.4): `zh` or `en`."""
    wanted: list[tuple[float, int, str]] = []
    for place, entry in enumerate((accept_language or "").split(",")):
        tag, _, quality = entry.partition(";")
        lang = tag.strip().lower().partition("-")[0]
        if lang in TEXTS:
            _, _, value = quality.partition("=")
            try:
                weight = float(value) if value.strip() else 1.0
            except ValueError:
                continue
            wanted.append((-weight, place, lang))
    return min(wanted)[2] if wanted else "en"
