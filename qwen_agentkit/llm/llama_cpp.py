"""Text models in GGUF files, run in this process by llama.cpp."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from qwen_agentkit.limits import Usage
from qwen_agentkit.llm._transport import SharedPool, run_interruptibly
from qwen_agentkit.llm.base import BaseChatModel, Delta, ModelRequest, register_llm
from qwen_agentkit.llm.generate_cfg import GenerateOptions
from qwen_agentkit.llm.oai_messages import to_oai_messages
from qwen_agentkit.llm.tool_grammar import answer_grammar, tool_grammar
from qwen_agentkit.run_context import current_run
from qwen_agentkit.utils.optional import need

# Tokens that a context holds when the configuration does not say; 0 would be as many as the model was trained on.
CONTEXT_TOKENS = 8192
_NOTHING = object()


@register_llm("llama_cpp")
class LlamaCpp(BaseChatModel):
    """A model in a GGUF file, loaded at first use and shared by copies of this object.

    Tool calls are kept to the tools' schemas by a grammar, and so is an answer in a form.

    Args:
        cfg: Beside what `BaseChatModel` reads: `model_path` (or `model`), the file; `context_window` (default 8192
            tokens); `llama` (a dict), further arguments of `llama_cpp.Llama`, such as `n_gpu_layers` or `n_threads`;
            `constrain_tools` (default true), whether tool calls are kept to a grammar.

    `generate_cfg` goes to `create_chat_completion` (`temperature`, `top_p`, `seed`, ...).
    """

    native_json = True

    def __init__(self, cfg: Mapping[str, Any] | None = None) -> None:
        cfg = dict(cfg or {})
        cfg.setdefault("context_window", CONTEXT_TOKENS)
        super().__init__(cfg)
        path = os.path.expanduser(str(self.cfg.get("model_path") or self.model))
        if not os.path.isfile(path):
            raise ValueError(f"A model of llama_cpp needs 'model_path', a GGUF file; {path!r} is none")
        self._path = path
        self.model = self.model or os.path.basename(path)
        self._loaded: SharedPool[Any] = SharedPool()
        self._turn: SharedPool[Any] = SharedPool()

    def _load(self) -> Any:
        llama_cpp = need("llama_cpp", extra="local")
        options = {"n_ctx": self.cfg["context_window"], "verbose": False, **(self.cfg.get("llama") or {})}
        return llama_cpp.Llama(model_path=self._path, **options)

    def takes_beginnings(self, options: GenerateOptions) -> bool:
        return False

    def _deltas(self, request: ModelRequest) -> Iterator[Delta]:
        settings = self._settings(request)
        lock = self._turn.get(threading.Lock)
        run = current_run()

        def begin() -> tuple[Iterator[dict[str, Any]], Any]:
            # Reading the prompt is what takes long; it happens when the first piece is asked for.
            lock.acquire()
            try:
                llama = self._loaded.get(self._load)
                pieces = llama.create_chat_completion(stream=True, **settings)
                return pieces, next(pieces, _NOTHING)
            except BaseException:
                lock.release()
                raise

        pieces, piece = run_interruptibly(begin, discard=lambda late: lock.release())
        count = 0
        try:
            while piece is not _NOTHING:
                choice = piece["choices"][0]
                text = choice["delta"].get("content") or ""
                count += bool(text)
                yield Delta(text=text, finish_reason=choice.get("finish_reason"))
                if run is not None:
                    run.cancel.raise_if_cancelled()
                piece = next(pieces, _NOTHING)
            yield Delta(usage=Usage(max(0, self._loaded.get(self._load).n_tokens - count), count))
        finally:
            close = getattr(pieces, "close", None)
            if close is not None:
                close()
            lock.release()

    def _settings(self, request: ModelRequest) -> dict[str, Any]:
        settings = dict(request.generate_cfg)
        settings.update(settings.pop("extra_body", None) or {})
        for name in ("request_timeout", "timeout", "extra_headers", "extra_query"):
            settings.pop(name, None)
        settings["messages"] = to_oai_messages(request.messages)
        if request.options.stop:
            settings["stop"] = request.options.stop
        if request.options.max_response_tokens is not None:
            settings["max_tokens"] = request.options.max_response_tokens
        text = None
        if request.form is not None and not request.offered:
            text = answer_grammar(request.form.schema)
        elif request.offered and self.cfg.get("constrain_tools", True):
            text = tool_grammar(request.offered, request.options.function_choice)
        if text is not None and "grammar" not in settings:
            settings["grammar"] = need("llama_cpp", extra="local").LlamaGrammar.from_string(text, verbose=False)
        return settings
