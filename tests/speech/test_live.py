"""The three stages together, with a voice of the test's own."""

import threading
import time

import pytest

from qwen_agentkit import tool
from qwen_agentkit.agent import BasicAgent
from qwen_agentkit.agents import Assistant
from qwen_agentkit.cancel import CancelToken
from qwen_agentkit.run_context import current_run
from qwen_agentkit.schema import Message
from qwen_agentkit.speech import Audio, SentenceSkipped, SpeechEnded, speak_live
from qwen_agentkit.testing import ScriptedChatModel, call, reply

ASK = [{"role": "user", "content": "Oslo?"}]


class Echo:
    """A voice whose sound is the text."""

    media_type = "text/plain"

    def __init__(self, fails_at="nothing", seconds=0.0):
        self.fails_at = fails_at
        self.seconds = seconds
        self.asked = []

    def speak(self, text):
        self.asked.append((time.monotonic(), text))
        if self.fails_at in text:
            raise RuntimeError("the voice is hoarse")
        time.sleep(self.seconds)
        half = len(text) // 2
        yield text[:half].encode()
        yield text[half:].encode()


def agent(*script):
    return BasicAgent(llm=ScriptedChatModel(list(script), chunk_size=3), name="helper")


def heard(events):
    return b"".join(event.data for event in events if isinstance(event, Audio)).decode()


def test_the_answer_is_spoken_in_order_and_its_end_told():
    events = list(speak_live(agent("The weather is fine. It will be warm. Take a hat."), ASK, Echo()))
    assert heard(events) == "The weather is fine.It will be warm.Take a hat."
    assert [event.number for event in events[:-1]] == [1, 1, 2, 2, 3, 3]
    assert [event.text for event in events[:2]] == ["The weather is fine.", ""]
    end = events[-1]
    assert isinstance(end, SpeechEnded) and end.reason == "answered" and (end.sentences, end.skipped) == (3, 0)
    assert 0 < end.first_audio_seconds <= end.seconds
    assert end.response[-1].content.startswith("The weather")


@pytest.mark.parametrize("first", ["今天的天气非常好，我们去公园。", "The weather in Oslo is fine."])
def test_the_first_sound_leaves_before_the_second_sentence_is_written(first):
    second_written = threading.Event()
    may_go_on = threading.Event()

    class TwoSentences(BasicAgent):
        def _run(self, messages, lang="en", **kwargs):
            yield [Message("assistant", first)]
            assert may_go_on.wait(10)
            second_written.set()
            yield [Message("assistant", first + " And a second sentence.")]

    events = speak_live(TwoSentences(), ASK, Echo())
    sound = next(events)
    assert isinstance(sound, Audio) and sound.text == first and not second_written.is_set()
    may_go_on.set()
    assert heard([sound, *events]).endswith("And a second sentence.")


def test_a_sentence_that_fails_is_left_out_and_the_others_are_spoken():
    events = list(speak_live(agent("The weather is fine. It will hail. Take a hat."), ASK, Echo("hail")))
    (skipped,) = [event for event in events if isinstance(event, SentenceSkipped)]
    assert (skipped.number, skipped.text, skipped.error) == (2, "It will hail.", "the voice is hoarse")
    assert heard(events) == "The weather is fine.Take a hat."
    assert (events[-1].sentences, events[-1].skipped) == (2, 1)


def test_tools_and_thinking_are_not_spoken():
    @tool
    def look() -> str:
        """Looks."""
        return "a secret of the tool"

    model = ScriptedChatModel([["Let me look there.", call("look")], reply("It is warm there.", reasoning="Hmm.")])
    events = list(speak_live(Assistant(llm=model, function_list=[look]), ASK, Echo()))
    assert heard(events) == "Let me look there.It is warm there."


@pytest.mark.parametrize("blocked", ["agent", "voice", "listener"])
def test_a_cancel_ends_all_three_stages(blocked):
    stopped = threading.Event()

    class Slow(Echo):
        def speak(self, text):
            if blocked == "voice":
                current_run().cancel.wait(10)
                stopped.set()
            yield from super().speak(text)

    class Model(BasicAgent):
        def _run(self, messages, lang="en", **kwargs):
            text = ""
            try:
                for number in range(100_000):
                    text += f"This is sentence number {number} of many. "
                    yield [Message("assistant", text)]
                    if blocked == "agent" and number:
                        current_run().cancel.wait(10)
            finally:
                stopped.set()

    token = CancelToken()
    events = speak_live(Model(), ASK, Slow(), cancel=token)
    if blocked != "voice":
        assert isinstance(next(events), Audio)
    timer = threading.Timer(0.3, token.cancel)
    timer.start()
    if blocked == "listener":
        time.sleep(0.5)
    began = time.monotonic()
    end = list(events)[-1]
    assert time.monotonic() - began < 5
    assert isinstance(end, SpeechEnded) and end.reason == "cancelled"
    assert stopped.wait(5)


def test_a_listener_that_leaves_ends_the_run():
    over = threading.Event()

    class Endless(BasicAgent):
        def _run(self, messages, lang="en", **kwargs):
            text = ""
            while not current_run().cancel.cancelled:
                text += "And so it goes on and on. "
                yield [Message("assistant", text)]
                current_run().cancel.wait(0.01)
            over.set()

    events = speak_live(Endless(), ASK, Echo())
    next(events)
    events.close()
    assert over.wait(5)


def test_a_slow_voice_slows_the_agent_in_place_of_filling_memory():
    written = []

    class Writer(BasicAgent):
        def _run(self, messages, lang="en", **kwargs):
            text = ""
            for number in range(2000):
                text += f"This is sentence number {number}. "
                written.append(number)
                yield [Message("assistant", text)]

    events = speak_live(Writer(), ASK, Echo(seconds=0.2))
    next(events)
    time.sleep(0.5)
    assert len(written) < 400
    events.close()


def test_an_error_of_the_agent_is_raised_after_what_it_had_said():
    class Broken(BasicAgent):
        def _run(self, messages, lang="en", **kwargs):
            yield [Message("assistant", "This much is certain.")]
            raise RuntimeError("no more")

    events = speak_live(Broken(), ASK, Echo())
    said = []
    with pytest.raises(RuntimeError, match="no more"):
        for event in events:
            said.append(event)
    assert heard(said) == "This much is certain."


def test_messages_are_looked_at_at_once():
    with pytest.raises(ValueError, match="messages"):
        speak_live(agent("a"), ["no message"], Echo())
