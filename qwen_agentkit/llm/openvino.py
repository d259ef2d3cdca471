"""Text models run in this process by OpenVINO."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from qwen_agentkit.llm.base import register_llm
from qwen_agentkit.llm.transformers_llm import Transformers
from qwen_agentkit.utils.optional import need


@register_llm("openvino")
class OpenVINO(Transformers):
    """A causal language model that was exported for OpenVINO.

    Args:
        cfg: As of `Transformers`, with `ov_model_dir` (the folder of the exported model), `device` (default `cpu`)
            and `ov_config` (default: low latency, one stream).
    """

    def __init__(self, cfg: Mapping[str, Any] | None = None) -> None:
        folder = (cfg or {}).get("ov_model_dir")
        if not folder:
            raise ValueError("A model of OpenVINO needs 'ov_model_dir', the folder of the exported model")
        super().__init__({"model": str(folder), **(cfg or {}), "model_path": str(folder)})

    def _load(self) -> tuple[Any, Any]:
        transformers = need("transformers", extra="openvino")
        optimum = need("optimum.intel.openvino", extra="openvino")
        ov_config = self.cfg.get("ov_config") or {"PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": "1", "CACHE_DIR": ""}
        tokenizer = transformers.AutoTokenizer.from_pretrained(self._path, trust_remote_code=False)
        model = optimum.OVModelForCausalLM.from_pretrained(
            self._path,
            device=self.cfg.get("device") or "cpu",
            ov_config=ov_config,
            config=transformers.AutoConfig.from_pretrained(self._path, trust_remote_code=False),
        )
        return tokenizer, model
