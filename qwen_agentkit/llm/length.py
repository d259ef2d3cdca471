"""How many tokens a conversation has, and making it fit.

Counts are of Qwen's vocabulary (`utils.tokenization_qwen`), so for other models they are near, not exact. A text
is counted once: the counter remembers texts, which makes counting a long history again nearly free.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qwen_agentkit.errors import ModelServiceError
from qwen_agentkit.llm.arguments import dump_json
from qwen_agentkit.llm.history import groups_of
from qwen_agentkit.llm.image_size import image_size
from qwen_agentkit.schema import ASSISTANT, FUNCTION, SYSTEM, USER, ContentItem, Message
from qwen_agentkit.utils.tokenization_qwen import count_tokens, tokenizer

# Role and frame of a message in a chat template.
MESSAGE_TOKENS = 4
# Frame of one tool's schema.
TOOL_TOKENS = 8
# Qwen-VL takes a token for each 28 x 28 pixels, within these bounds; an image of unknown size counts as 1 MP.
_PIXELS_PER_TOKEN = 28 * 28
_IMAGE_TOKENS = (4, 16384)
UNKNOWN_IMAGE_TOKENS = 1340
AUDIO_TOKENS = 500
VIDEO_TOKENS = 4000
# Fewest tokens that are worth keeping of a tool's result, and the least that the last turn gets at all.
_WORTH_KEEPING = 32
_LEAST_TURN = 16
OMITTED = "[omitted]"

Content = str | list[ContentItem]


def count_content_tokens(content: Content) -> int:
    """Tokens of a message's content: its text and an estimate for each image, sound and video."""
    if isinstance(content, str):
        return count_tokens(content) if content else 0
    return sum(map(_item_tokens, content))


def _item_tokens(item: ContentItem) -> int:
    kind, value = item.get_type_and_value()
    if kind in ("text", "file"):
        return count_tokens(value)
    if kind == "image":
        return image_tokens(value)
    if kind == "audio":
        return AUDIO_TOKENS
    return sum(image_tokens(frame) for frame in value) // 2 if isinstance(value, list) else VIDEO_TOKENS


def image_tokens(image: Any) -> int:
    """An image's tokens for Qwen-VL, by its size where that can be read without a request."""
    size = image_size(image) if isinstance(image, str) else None
    if size is None:
        return UNKNOWN_IMAGE_TOKENS
    low, high = _IMAGE_TOKENS
    return min(high, max(low, size[0] * size[1] // _PIXELS_PER_TOKEN)) + 2


def count_message_tokens(message: Message, *, thinking: bool = True) -> int:
    """Tokens of one message, its frame included.

    Args:
        message: The message.
        thinking: Count `reasoning_content` too, as for a reply; a history is sent without it.
    """
    tokens = MESSAGE_TOKENS + count_content_tokens(message.content)
    if message.function_call is not None:
        tokens += count_tokens(message.function_call.name) + count_tokens(message.function_call.arguments)
    if thinking and message.reasoning_content:
        tokens += count_tokens(message.reasoning_content)
    return tokens


def count_function_tokens(functions: Iterable[Mapping[str, Any]] | None) -> int:
    """Tokens of the tools' schemas."""
    return sum(count_tokens(dump_json(function)) + TOOL_TOKENS for function in functions or ())


def count_input_tokens(messages: Iterable[Message], functions: Iterable[Mapping[str, Any]] | None = None) -> int:
    """Tokens of a request: the messages without past thinking, and the tools' schemas."""
    return sum(_sent_tokens(message) for message in messages) + count_function_tokens(functions)


def _sent_tokens(message: Message) -> int:
    return count_message_tokens(message, thinking=False)


def shorten_text(text: str, max_tokens: int) -> str:
    """Keeps both ends of a text, with ``...`` between them, so that it has at most that many tokens."""
    room = max_tokens
    while room > 0:
        cut = tokenizer.truncate(text, room, keep_both_sides=True)
        over = count_tokens(cut) - max_tokens
        if over <= 0:
            return cut
        room -= over  # joined anew, the ends may have a token more
    return ""


def shorten_content(content: Content, max_tokens: int) -> Content:
    """Shortens content to at most that many tokens; images go only when all text is gone.

    Args:
        content: Text or a list of items; it is not changed.
        max_tokens: Tokens to keep.
    """
    if isinstance(content, str):
        return shorten_text(content, max_tokens)
    counts = [_item_tokens(item) for item in content]
    excess = sum(counts) - max_tokens
    kept = list(content)
    for number in sorted(range(len(kept)), key=lambda number: -counts[number]):
        text = kept[number].text
        if excess > 0 and text is not None:
            shorter = shorten_text(text, max(0, counts[number] - excess))
            kept[number] = ContentItem(text=shorter)
            excess -= counts[number] - count_tokens(shorter)
    note = count_tokens(OMITTED)
    for number, item in enumerate(kept):
        if excess > 0 and item.text is None:
            kept[number] = ContentItem(text=OMITTED if counts[number] > note else "")
            excess -= counts[number] - (note if counts[number] > note else 0)
    if excess > 0:
        return shorten_text("\n".join(item.text for item in kept if item.text), max_tokens)
    return kept


def truncate_input(
    messages: Sequence[Message],
    max_tokens: int,
    functions: Iterable[Mapping[str, Any]] | None = None,
) -> list[Message]:
    """Makes a conversation fit into a number of tokens.

    System messages are kept whole. The oldest turns (a user's message and all up to the next) go first, whole. In
    the turn that has to shrink, results of tools are shortened at both ends, oldest first, then whole steps (a
    reply with its results) are left out, then the last step's results and at last the texts are shortened. A call
    and its results stay or go together; what is shortened keeps its name, its call's id and everything else.

    Args:
        messages: A valid history (see `history`); it is not changed.
        max_tokens: Tokens that messages and tools may have together; 0 or less means no limit.
        functions: Schemas of the tools that go with the request.

    Returns:
        The messages that fit; those that were not shortened are the same objects.

    Raises:
        ModelServiceError: The system message and the tools alone leave no room, or the last reply's call is too
            long and there is no user's message to go back to (code "400").
    """
    held = list(messages)
    if max_tokens <= 0:
        return held
    counted = [_Counted(message, _sent_tokens(message)) for message in held]
    tools = count_function_tokens(functions)
    excess = sum(one.tokens for one in counted) + tools - max_tokens
    if excess <= 0:
        return held
    fixed = tools + sum(one.tokens for one in counted if one.message.role == SYSTEM)
    if max_tokens - fixed < _LEAST_TURN:
        raise ModelServiceError(
            code="400",
            message=f"The input cannot be cut to {max_tokens} tokens: the system message and the tools alone have "
            f"{fixed}. Shorten them, offer fewer tools, or raise max_input_tokens.",
        )
    turns = _turns(counted)
    for number, turn in enumerate(turns):
        if excess <= 0:
            break
        last = number == len(turns) - 1
        tokens = turn.tokens
        if (not last and tokens <= excess) or not (turn.shrink(excess) or last):
            turn.clear()
        elif last and turn.tokens > tokens - excess:
            turn.shrink_texts(turn.tokens - (tokens - excess))
        excess -= tokens - turn.tokens
    if excess > 0:
        raise ModelServiceError(
            code="400", message=f"The input cannot be cut to {max_tokens} tokens: its last reply alone is longer."
        )
    kept = {id(one): one for turn in turns for one in turn.messages()}
    return [one.message for one in counted if one.message.role == SYSTEM or id(one) in kept]


@dataclass(slots=True)
class _Counted:
    """A message and its tokens; shortening puts a shorter message in its place."""

    message: Message
    tokens: int

    def shorten(self, excess: int, least: int = 0) -> int:
        """Shortens the content by `excess` tokens if that leaves `least`, else to a note. Returns what was saved."""
        content = count_content_tokens(self.message.content)
        room = content - excess
        if room < least:
            room = count_tokens(OMITTED) if least else 0
            shorter: Content = OMITTED if least and content > room else shorten_content(self.message.content, room)
        else:
            shorter = shorten_content(self.message.content, room)
        saved = content - count_content_tokens(shorter)
        if saved > 0:
            self.message = self.message.model_copy(update={"content": shorter})
            self.tokens -= saved
        return max(saved, 0)


@dataclass(slots=True)
class _Turn:
    """A user's messages and the steps that follow: replies, each with the results of its calls."""

    asked: list[_Counted]
    steps: list[list[_Counted]]

    def messages(self) -> list[_Counted]:
        return [*self.asked, *(one for step in self.steps for one in step)]

    @property
    def tokens(self) -> int:
        return sum(one.tokens for one in self.messages())

    def clear(self) -> None:
        self.asked, self.steps = [], []

    def shrink(self, excess: int) -> bool:
        """Shortens results and leaves out steps to save `excess` tokens. True when that was enough."""
        for step in self.steps[:-1]:
            excess -= _shorten_results(step, excess)
            if excess <= 0:
                return True
        while len(self.steps) > 1:
            dropped = self.steps.pop(0)
            excess -= sum(one.tokens for one in dropped)
            if excess <= 0:
                return True
        if self.steps:
            excess -= _shorten_results(self.steps[0], excess)
        return excess <= 0

    def shrink_texts(self, excess: int) -> None:
        """The last resort: the model's texts, the last step, and at last the user's own text."""
        for one in self.messages():
            if excess > 0 and one.message.role == ASSISTANT and one.message.function_call is None:
                excess -= one.shorten(excess, _WORTH_KEEPING)
        if excess <= 0 or not self.asked:
            return
        excess -= sum(one.tokens for step in self.steps for one in step)
        self.steps = []
        while excess > 0 and len(self.asked) > 1:
            excess -= self.asked.pop(0).tokens
        if excess > 0:
            self.asked[0].shorten(excess)


def _shorten_results(step: list[_Counted], excess: int) -> int:
    saved = 0
    for one in step:
        if one.message.role == FUNCTION and saved < excess:
            saved += one.shorten(excess - saved, _WORTH_KEEPING)
    return saved


def _turns(counted: Sequence[_Counted]) -> list[_Turn]:
    """The conversation without its system messages, cut before each user's message (or run of them)."""
    talk = [one for one in counted if one.message.role != SYSTEM]
    turns: list[_Turn] = []
    answered = True
    for start, end in groups_of([one.message for one in talk]):
        if talk[start].message.role == USER:
            if answered:
                turns.append(_Turn([], []))
            turns[-1].asked.append(talk[start])
            answered = False
            continue
        if not turns:
            turns.append(_Turn([], []))
        turns[-1].steps.append(talk[start:end])
        answered = True
    return turns
