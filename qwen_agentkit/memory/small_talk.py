"""Which messages ask nothing of documents."""

from __future__ import annotations

import re

_SMALL_TALK = re.compile(
    r"""(?ix)
    (?: hi | hello | hey | hiya | good\s+(?:morning|afternoon|evening|day|night) | thanks? | thank\s+you
      | thx | ok(?:ay)? | great | nice | cool | bye | good\s*bye | see\s+you | yes | no | sure
      | how\s+are\s+you | who\s+are\s+you | what\s+can\s+you\s+do
      | 你好[啊呀吗]? | 您好 | 嗨 | 哈喽 | 早上好 | 下午好 | 晚上好 | 早安 | 晚安 | 谢谢[你您]? | 多谢 | 好的? | 嗯+
      | 再见 | 拜拜 | 你是谁 | 你能做什么 | 在吗 )
    """
)
_FILLER = re.compile(
    r"(?i)[\s,.!?;:~，。！？；：、…]+|\b(?:there|very|so|much|all|everyone)\b|大家|非常|各位|呀|啊|哦|呢"
)


def is_small_talk(text: str) -> bool:
    """Whether the whole text is a greeting, thanks or the like: nothing to search for. The empty text is not."""
    stripped = _FILLER.sub(" ", text).strip()
    if not stripped:
        return False
    rest = _SMALL_TALK.sub(lambda found: "" if _whole(found, stripped) else found.group(0), stripped)
    return not rest.strip()


def _whole(found: re.Match[str], text: str) -> bool:
    """Whether the match is not a piece of a longer Latin word (`no` in `node`)."""
    before, after = text[: found.start()][-1:], text[found.end() :][:1]
    return not (before.isascii() and before.isalnum()) and not (after.isascii() and after.isalnum())
