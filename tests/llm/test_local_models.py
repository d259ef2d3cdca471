"""Models run in this process: what they ask for before anything heavy is loaded.

Running them takes packages and weights that the suite does not bring; the grammar's text is tested in
`test_tool_grammar`.
"""

import copy
import importlib.util

import pytest

from qwen_agentkit.errors import MissingDependencyError
from qwen_agentkit.llm import get_chat_model

HI = [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize(
    ("cfg", "said"),
    [
        ({"model_type": "llama_cpp"}, "model_path"),
        ({"model_type": "llama_cpp", "model_path": "/no/such.gguf"}, "GGUF"),
        ({"model_type": "openvino", "model": "m"}, "ov_model_dir"),
        ({"model_type": "transformers"}, "folder"),
        ({"model_type": "llama_cpp", "model_path": "x", "context_window": "much"}, "context_window"),
    ],
)
def test_what_is_missing_is_named_when_the_model_is_made(cfg, said):
    with pytest.raises(ValueError, match=said):
        get_chat_model(cfg)


@pytest.mark.parametrize(
    ("cfg", "package", "extra"),
    [
        ({"model_type": "transformers", "model": "some/model"}, "torch", "transformers"),
        ({"model_type": "openvino", "ov_model_dir": "folder"}, "transformers", "openvino"),
        ({"model_type": "llama_cpp"}, "llama_cpp", "local"),
    ],
)
def test_a_package_that_is_missing_is_named_with_its_extra(cfg, package, extra, tmp_path):
    if importlib.util.find_spec(package) is not None:
        pytest.skip(f"{package} is installed")
    if cfg["model_type"] == "llama_cpp":
        path = tmp_path / "m.gguf"
        path.write_bytes(b"GGUF")
        cfg = {**cfg, "model_path": str(path)}
    with pytest.raises(MissingDependencyError, match=rf"qwen-agentkit\[{extra}\]"):
        get_chat_model(cfg).chat(HI, stream=False)


def test_copies_share_the_weights(tmp_path):
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF")
    model = get_chat_model({"model_type": "llama_cpp", "model_path": str(path)})
    assert copy.deepcopy(model)._loaded is model._loaded
    assert model.model == "m.gguf"


def test_the_context_of_a_gguf_model_bounds_its_input(tmp_path):
    from qwen_agentkit.llm.profiles import bounded_input_tokens

    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF")
    model = get_chat_model({"model_type": "llama_cpp", "model_path": str(path), "context_window": 1000})
    assert bounded_input_tokens(model, 58000) < 1000
