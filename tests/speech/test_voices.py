"""The two voices against services on loopback."""

import base64
import json
import threading
import time

import pytest

from qwen_agentkit.agent import BasicAgent
from qwen_agentkit.cancel import CancelToken
from qwen_agentkit.errors import ModelServiceError
from qwen_agentkit.speech import Audio, DashScopeVoice, OpenAIVoice, SpeechEnded, speak_live
from qwen_agentkit.testing import ScriptedChatModel

SOUND = bytes(range(256)) * 40
ASK = [{"role": "user", "content": "Oslo?"}]


def chunked(handler, kind, pieces, hold=None):
    handler.send_response(200)
    handler.send_header("Content-Type", kind)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    for piece in pieces:
        handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
    handler.wfile.flush()
    if hold is not None:
        hold.wait(20)
    handler.wfile.write(b"0\r\n\r\n")


def openai_speech(handler, hold=None):
    chunked(handler, "audio/pcm", [SOUND[:5000], SOUND[5000:]], hold)


def dashscope_speech(handler, hold=None):
    events = []
    for number, piece in enumerate((SOUND[:4000], SOUND[4000:], b""), 1):
        output = {"audio": {"data": base64.b64encode(piece).decode()}, "finish_reason": None if piece else "stop"}
        data = json.dumps({"output": output, "usage": {}, "request_id": "r"}).encode()
        events.append(b"id:%d\nevent:result\n:HTTP_STATUS/200\ndata:%s\n\n" % (number, data))
    chunked(handler, "text/event-stream", events[:2] if hold else events, hold)


KINDS = {
    "openai": ("/v1/audio/speech", openai_speech, OpenAIVoice),
    "dashscope": ("/api/v1/services/aigc/multimodal-generation/generation", dashscope_speech, DashScopeVoice),
}


@pytest.fixture(params=sorted(KINDS))
def service(request, site):
    path, speech, make = KINDS[request.param]
    site.routes[path] = speech
    cfg = {"voice": "Ada", "api_key": "key-1", "model": "a-voice"}
    if request.param == "openai":
        voice = make({**cfg, "model_server": f"{site.url}/v1", "instructions": "Calm."})
    else:
        voice = make({**cfg, "base_http_api_url": f"{site.url}/api/v1"})
    return site, path, voice, speech


def test_a_voice_gives_the_sound_as_it_is(service):
    site, _, voice, _ = service
    pieces = list(voice.speak("It is warm."))
    assert b"".join(pieces) == SOUND and len(pieces) > 1
    _, _, headers, body = site.requests[0]
    asked = json.loads(body)
    headers = {name.lower(): value for name, value in headers.items()}
    assert headers["authorization"] == "Bearer key-1" and asked["model"] == "a-voice"
    held = asked.get("input")
    assert held == "It is warm." or held == {"text": "It is warm.", "voice": "Ada"}
    if held == "It is warm.":
        assert (asked["voice"], asked["response_format"], asked["instructions"]) == ("Ada", "pcm", "Calm.")


def test_a_refusal_is_an_error_of_the_package(service):
    site, path, voice, _ = service
    body = json.dumps({"error": {"message": "no such voice"}, "code": "Invalid", "message": "no such voice"}).encode()
    site.routes[path] = (400, {"Content-Type": "application/json"}, body)
    with pytest.raises(ModelServiceError, match="no such voice") as caught:
        list(voice.speak("It is warm."))
    assert caught.value.code == "400"


def test_an_answer_is_spoken_by_the_service(service):
    _, _, voice, _ = service
    agent = BasicAgent(llm=ScriptedChatModel(["It is warm today. It will rain tomorrow."]))
    events = list(speak_live(agent, ASK, voice))
    assert b"".join(event.data for event in events if isinstance(event, Audio)) == SOUND * 2
    assert isinstance(events[-1], SpeechEnded) and events[-1].sentences == 2


def test_a_cancel_ends_a_request_that_hangs(service):
    site, path, voice, speech = service
    hold = threading.Event()
    site.routes[path] = lambda handler: speech(handler, hold)
    token = CancelToken()
    agent = BasicAgent(llm=ScriptedChatModel(["It is warm today. It will rain tomorrow."]))
    threading.Timer(0.5, token.cancel).start()
    began = time.monotonic()
    events = list(speak_live(agent, ASK, voice, cancel=token))
    assert time.monotonic() - began < 5 and events[-1].reason == "cancelled"

    def voices():
        return [
            thread for thread in threading.enumerate() if thread.name == "qwen-agentkit-voice" and thread.is_alive()
        ]

    over = time.monotonic() + 5
    while voices() and time.monotonic() < over:
        time.sleep(0.02)
    assert not voices()
    hold.set()


def test_dashscope_wants_a_key(monkeypatch):
    monkeypatch.delenv("DASHSCOPE_API_KEY", raising=False)
    with pytest.raises(ModelServiceError, match="DASHSCOPE_API_KEY"):
        list(DashScopeVoice().speak("It is warm."))
