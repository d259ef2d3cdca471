"""`image_search`: pictures like one of the conversation, from SerpApi's reverse image search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qwen_agentkit.errors import ToolServiceError
from qwen_agentkit.log import logger
from qwen_agentkit.run_context import current_run
from qwen_agentkit.schema import ContentItem
from qwen_agentkit.tools.base import BaseTool, register_tool
from qwen_agentkit.tools.service import ask_service, service_key
from qwen_agentkit.utils.environment import environment
from qwen_agentkit.utils.message_files import images_of
from qwen_agentkit.utils.parallel_executor import parallel_exec
from qwen_agentkit.utils.web import fetch

_SERVER = "https://serpapi.com/search.json"
MAX_RESULTS = 10
# Seconds that one picture may take to say that it is there.
_CHECK_SECONDS = 5.0
_CHECKS_AT_ONCE = 5
_WRONG_INDEX = {
    "en": "There is no picture {index}; the conversation holds {count}, numbered from 0.",
    "zh": "没有第 {index} 张图片；对话中共有 {count} 张，从 0 开始编号。",
}


@dataclass(frozen=True)
class ImageHit:
    """A picture that was found."""

    title: str
    image: str
    page: str = ""
    snippet: str = ""


@register_tool("image_search")
class ImageSearch(BaseTool):
    """Searches the web for pictures like one of the conversation.

    Args:
        cfg: `api_key`, else `SERPAPI_IMAGE_SEARCH_KEY` in the environment; `url`, else `SERPAPI_URL`. How often a
            failed question is asked again: `QWEN_IMAGE_SEARCH_MAX_RETRY_TIMES`, 3. `check`: whether each picture is
            asked for before it is named (True).
    """

    fenced = True
    description = "Searches the web for pictures like one in the conversation; gives them with what is said of them."
    parameters = {
        "type": "object",
        "properties": {
            "img_idx": {"type": "number", "description": "Number of the picture in the conversation, from 0."}
        },
        "required": ["img_idx"],
    }

    def call(self, params: str | dict[str, Any], **kwargs: Any) -> list[ContentItem] | str:
        """Texts and pictures in turn; text alone when there is no such picture or nothing was found.

        Raises:
            ToolServiceError: No key, the picture is a local file, or the service failed.
        """
        index = int(self._verify_json_format_args(params)["img_idx"])
        lang = kwargs.get("lang", "en")
        images = images_of(kwargs.get("messages") or [])
        if not 0 <= index < len(images):
            return _WRONG_INDEX.get(lang, _WRONG_INDEX["en"]).format(index=index, count=len(images))
        address = images[index]
        if not address.startswith(("http://", "https://")):
            raise ToolServiceError(
                None, "local_image", "The search service can see pictures with a public address only, not local files."
            )
        hits = self.search(address)
        if not hits:
            return "没有找到相似的图片。" if lang == "zh" else "No similar picture was found."
        content: list[ContentItem] = []
        for number, hit in enumerate(hits, 1):
            content.append(ContentItem(text=f'[{number}] "{hit.image}" {hit.title}\n{hit.snippet}'.strip("\n")))
            content.append(ContentItem(image=hit.image))
        return content

    def search(self, image: str) -> list[ImageHit]:
        """Pictures like the one at an address, each once, those that cannot be had left out."""
        hits: dict[str, ImageHit] = {}
        for item in self._ask(image):
            found = _hit(item)
            if found is not None and (found.image not in hits or len(found.title) > len(hits[found.image].title)):
                hits[found.image] = found
        chosen = list(hits.values())[: MAX_RESULTS * 2]
        if self.cfg.get("check", True) and chosen:
            there = set(parallel_exec(_there, [{"address": hit.image} for hit in chosen], max_workers=_CHECKS_AT_ONCE))
            chosen = [hit for hit in chosen if hit.image in there]
        return chosen[:MAX_RESULTS]

    def _ask(self, image: str) -> list[Mapping[str, Any]]:
        key = service_key("image_search", self.cfg.get("api_key"), "SERPAPI_IMAGE_SEARCH_KEY", "https://serpapi.com")
        url = self.cfg.get("url") or environment("SERPAPI_URL", plain=True) or _SERVER
        tries = max(1, int(environment("QWEN_IMAGE_SEARCH_MAX_RETRY_TIMES", plain=True) or 3))
        for attempt in range(1, tries + 1):
            try:
                reply = ask_service(url, params={"engine": "google_reverse_image", "image_url": image, "api_key": key})
                return _items(reply.json())
            except ToolServiceError as error:
                # What the service refuses it will refuse again.
                if attempt == tries or (error.code or "").startswith("4"):
                    raise
                logger.info("The image search failed and is tried again: %s", error)
        return []


def _items(reply: Any) -> list[Mapping[str, Any]]:
    if not isinstance(reply, Mapping):
        raise ToolServiceError(None, "bad_reply", "The image search did not answer with a JSON object")
    items: list[Any] = []
    for key in ("image_results", "inline_images"):
        held = reply.get(key)
        items += held if isinstance(held, Sequence) and not isinstance(held, str) else []
    return [item for item in items if isinstance(item, Mapping)]


def _hit(item: Mapping[str, Any]) -> ImageHit | None:
    image = item.get("original") or item.get("thumbnail")
    if not isinstance(image, str) or not image.startswith(("http://", "https://")):
        return None
    words = [" ".join(str(item.get(key) or "").split()) for key in ("title", "link", "snippet")]
    return ImageHit(words[0], image, words[1], words[2])


def _there(address: str) -> str | None:
    """The address itself when a picture can be had there, else None."""
    run = current_run()
    try:
        response = fetch(address, method="HEAD", seconds=_CHECK_SECONDS, cancel=run.cancel if run else None)
    except (ToolServiceError, ValueError) as error:
        logger.debug("%s is left out: %s", address, error)
        return None
    return address if response.status < 400 else None
