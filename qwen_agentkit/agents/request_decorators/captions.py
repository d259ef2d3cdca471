"""`Captions`: images in words, for a model that cannot see."""

from __future__ import annotations

import threading
from typing import Any

from qwen_agentkit.agents.request_decorators.base import RequestDecorator
from qwen_agentkit.errors import ModelServiceError
from qwen_agentkit.log import logger
from qwen_agentkit.schema import USER, ContentItem, Message
from qwen_agentkit.utils.message_text import text_of

_ASK = {
    "en": "Describe this picture for somebody who cannot see it: what it shows, and every text in it word for word.",
    "zh": "请为看不到图片的人描述这张图片：画面内容，以及图中的全部文字（逐字写出）。",
}
_CAPTION = {"en": "[Picture: {text}]", "zh": "[图片：{text}]"}
_UNSEEN = {"en": "[A picture that could not be described]", "zh": "[一张未能描述的图片]"}
_MOST_REMEMBERED = 256


class Captions(RequestDecorator):
    """Replaces images by descriptions when the agent's model does not take images.

    Args:
        model: A model that sees, or its configuration. Each image is described once.
    """

    order = 30

    def __init__(self, model: Any) -> None:
        if isinstance(model, (dict, str)):
            from qwen_agentkit.llm import get_chat_model

            model = get_chat_model(model)
        self._model = model
        self._known: dict[tuple[str, str], str] = {}
        self._lock = threading.Lock()

    def decorate(self, messages: list[Message], llm: Any, lang: str) -> list[Message]:
        if getattr(llm, "support_multimodal_input", False):
            return messages
        return [self._described(message, "zh" if lang == "zh" else "en") for message in messages]

    def _described(self, message: Message, lang: str) -> Message:
        if isinstance(message.content, str) or not any(item.image for item in message.content):
            return message
        items = [ContentItem(text=self._caption(item.image, lang)) if item.image else item for item in message.content]
        return message.model_copy(update={"content": items})

    def _caption(self, image: str, lang: str) -> str:
        with self._lock:
            known = self._known.get((image, lang))
        if known is not None:
            return known
        question = Message(USER, [ContentItem(image=image), ContentItem(text=_ASK[lang])])
        try:
            reply = self._model.chat(messages=[question], stream=False)
        except ModelServiceError as error:
            logger.warning("A picture could not be described: %s", error)
            return _UNSEEN[lang]
        caption = _CAPTION[lang].format(text=" ".join(text_of(reply[-1]).split()))
        with self._lock:
            while len(self._known) >= _MOST_REMEMBERED:
                self._known.pop(next(iter(self._known)))
            self._known[image, lang] = caption
        return caption

    def __deepcopy__(self, memo: dict[int, Any]) -> Captions:
        return self
