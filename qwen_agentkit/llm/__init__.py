"""Chat models: `get_chat_model(cfg).chat(messages)`."""

from qwen_agentkit.utils.lazy import lazy_exports

_HERE = "qwen_agentkit.llm"

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "get_chat_model": f"{_HERE}.registry",
        "register_llm": f"{_HERE}.registry",
        "LLM_REGISTRY": f"{_HERE}.registry",
        "BaseChatModel": f"{_HERE}.base",
        "Delta": f"{_HERE}.delta",
        "ModelRequest": f"{_HERE}.request",
        "ModelServiceError": "qwen_agentkit.errors",
        "TextChatAtOAI": f"{_HERE}.oai",
        "TextChatAtAzure": f"{_HERE}.azure",
        "QwenChatAtDS": f"{_HERE}.qwen_dashscope",
        "QwenVLChatAtDS": f"{_HERE}.qwenvl_dashscope",
        "QwenVLChatAtOAI": f"{_HERE}.qwenvl_oai",
        "QwenAudioChatAtDS": f"{_HERE}.qwenaudio_dashscope",
        "QwenVLoChatAtDS": f"{_HERE}.qwenvlo_dashscope",
        "QwenOmniChatAtOAI": f"{_HERE}.qwenomni_oai",
        "OpenVINO": f"{_HERE}.openvino",
        "Transformers": f"{_HERE}.transformers_llm",
        "LlamaCpp": f"{_HERE}.llama_cpp",
        "ExtractiveChat": f"{_HERE}.extractive",
        "check_history": f"{_HERE}.history",
        "repair_history": f"{_HERE}.history",
    },
)
