"""Text models run in this process by Hugging Face transformers."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from qwen_agentkit.errors import RunCancelled
from qwen_agentkit.limits import Usage
from qwen_agentkit.llm._transport import SharedPool
from qwen_agentkit.llm.base import BaseChatModel, Delta, ModelRequest, register_llm
from qwen_agentkit.llm.generate_cfg import GenerateOptions
from qwen_agentkit.llm.oai_messages import to_oai_messages
from qwen_agentkit.run_context import current_run
from qwen_agentkit.utils.optional import need

# Tokens of an answer when nothing says how many.
MAX_NEW_TOKENS = 2048
# Seconds between two looks at the cancel token while no token comes.
_LOOK = 0.2


@register_llm("transformers")
class Transformers(BaseChatModel):
    """A causal language model of transformers, loaded at first use and shared by copies of this object.

    Args:
        cfg: Beside what `BaseChatModel` reads: `model` or `model_path` (a name on the hub, or a folder); `device`
            (`cpu`, `cuda`, `auto`, ...; default: the GPU if there is one); `model_kwargs` for `from_pretrained`.

    `generate_cfg` goes to `generate()`; `seed` seeds torch. One answer is generated at a time.
    """

    def __init__(self, cfg: Mapping[str, Any] | None = None) -> None:
        super().__init__(cfg)
        path = self.cfg.get("model_path") or self.model
        if not path:
            raise ValueError("A model of transformers needs 'model': a name on the hub, or a folder")
        self._path = str(path)
        self._loaded: SharedPool[tuple[Any, Any]] = SharedPool()
        self._turn: SharedPool[Any] = SharedPool()

    def takes_beginnings(self, options: GenerateOptions) -> bool:
        return True

    def _load(self) -> tuple[Any, Any]:
        """Tokenizer and model."""
        need("torch", extra="transformers")
        transformers = need("transformers", extra="transformers")
        device = self.cfg.get("device")
        kwargs: dict[str, Any] = dict(self.cfg.get("model_kwargs") or {})
        if device == "auto":
            kwargs.setdefault("device_map", "auto")
        tokenizer = transformers.AutoTokenizer.from_pretrained(self._path)
        model = transformers.AutoModelForCausalLM.from_pretrained(self._path, **kwargs)
        if device != "auto":
            import torch

            model = model.to(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        return tokenizer, model.eval()

    def _deltas(self, request: ModelRequest) -> Iterator[Delta]:
        tokenizer, model = self._loaded.get(self._load)
        with self._turn.get(threading.Lock):
            yield from _generated(tokenizer, model, request)


def _generated(tokenizer: Any, model: Any, request: ModelRequest) -> Iterator[Delta]:
    """One answer, token by token. `generate` runs in a daemon thread that a closed iterator or a cancel stops."""
    from transformers import StoppingCriteria, StoppingCriteriaList

    template: dict[str, Any] = dict(request.generate_cfg.get("chat_template_kwargs") or {})
    if request.options.thinking is not None:
        template["enable_thinking"] = request.options.thinking
    encoded = tokenizer.apply_chat_template(
        to_oai_messages(request.messages),
        add_generation_prompt=not request.continues,
        continue_final_message=request.continues,
        return_tensors="pt",
        return_dict=True,
        **template,
    ).to(model.device)
    # Some tokenizers give more than a causal model takes.
    inputs = {name: encoded[name] for name in ("input_ids", "attention_mask") if name in encoded}
    given = int(encoded["input_ids"].shape[1])
    settings = _generate_settings(request, tokenizer)
    pieces: queue.Queue[str | BaseException | None] = queue.Queue()
    stopped = threading.Event()

    class Stop(StoppingCriteria):
        def __call__(self, input_ids: Any, scores: Any, **kwargs: Any) -> bool:
            return stopped.is_set()

    streamer = _Streamer(tokenizer, pieces)

    def work() -> None:
        try:
            model.generate(**inputs, streamer=streamer, stopping_criteria=StoppingCriteriaList([Stop()]), **settings)
            pieces.put(None)
        except BaseException as error:
            pieces.put(error)

    worker = threading.Thread(target=work, daemon=True, name="qwen-agentkit-generate")
    worker.start()
    run = current_run()
    try:
        while True:
            try:
                piece = pieces.get(timeout=_LOOK)
            except queue.Empty:
                piece = ""
            if run is not None and run.cancel.cancelled:
                raise RunCancelled(run.cancel.reason or "cancelled")
            if piece is None:
                break
            if isinstance(piece, BaseException):
                raise piece
            if piece:
                yield Delta(text=piece)
    finally:
        stopped.set()
        # The next answer must not begin while this one still uses the model.
        worker.join()
    cut = streamer.count >= settings["max_new_tokens"]
    yield Delta(finish_reason="length" if cut else "stop", usage=Usage(given, streamer.count))


def _generate_settings(request: ModelRequest, tokenizer: Any) -> dict[str, Any]:
    settings = {key: value for key, value in request.generate_cfg.items() if key != "chat_template_kwargs"}
    settings.update(settings.pop("extra_body", None) or {})
    limit = request.options.max_response_tokens or settings.pop("max_tokens", None)
    settings.setdefault("max_new_tokens", limit or MAX_NEW_TOKENS)
    if settings.get("temperature") == 0:
        del settings["temperature"]
        settings["do_sample"] = False
    elif "temperature" in settings or "top_p" in settings:
        settings.setdefault("do_sample", True)
    seed = settings.pop("seed", None)
    if seed is not None:
        import torch

        torch.manual_seed(seed)
    for name in ("request_timeout", "timeout", "extra_headers", "extra_query"):
        settings.pop(name, None)
    if tokenizer.pad_token_id is None and tokenizer.eos_token_id is not None:
        settings.setdefault("pad_token_id", tokenizer.eos_token_id)
    return settings


class _Streamer:
    """What `generate` hands its tokens to: whole characters go on into the queue.

    transformers' own streamer holds back each word until the next begins; here a piece leaves as soon as its
    characters are complete.
    """

    def __init__(self, tokenizer: Any, pieces: queue.Queue[str | BaseException | None]) -> None:
        self._tokenizer = tokenizer
        self._pieces = pieces
        self._ids: list[int] = []
        self._shown = 0
        self._prompt = True
        self.count = 0

    def put(self, value: Any) -> None:
        if self._prompt:  # the first call holds the prompt
            self._prompt = False
            return
        new = value.flatten().tolist()
        self.count += len(new)
        self._ids.extend(new)
        text = self._tokenizer.decode(self._ids, skip_special_tokens=True)
        if text.endswith("\ufffd"):
            return  # a character whose bytes are not complete
        self._pieces.put(text[self._shown :])
        self._shown = len(text)
        if text.endswith("\n"):
            # Decoding begins anew behind a line, or its cost would grow with the answer's length.
            self._ids, self._shown = [], 0

    def end(self) -> None:
        text = self._tokenizer.decode(self._ids, skip_special_tokens=True)
        self._pieces.put(text[self._shown :])
        self._ids, self._shown = [], 0
