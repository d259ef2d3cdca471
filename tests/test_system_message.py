"""The system message: what comes first, what stays last."""

from qwen_agentkit import Message
from qwen_agentkit.agents import Assistant
from qwen_agentkit.schema import ContentItem
from qwen_agentkit.system_message import appended
from qwen_agentkit.testing import ScriptedChatModel
from qwen_agentkit.utils.knowledge import Passage, read_knowledge, write_knowledge

BLOCK = write_knowledge([Passage(1, "a.pdf", "The pump weighs 12 kg.")])


def test_text_is_added_at_the_end_or_makes_a_system_message():
    assert appended([Message("user", "q")], "Be kind.")[0] == Message("system", "Be kind.")
    assert appended([Message("system", "A."), Message("user", "q")], "B.")[0].content == "A.\n\nB."
    assert appended([Message("system", ""), Message("user", "q")], "B.")[0].content == "B."


def test_a_knowledge_block_stays_last_and_whole():
    for content in (f"A.\n\n{BLOCK}", BLOCK, [ContentItem(text="A."), ContentItem(text=f"\n\n{BLOCK}")]):
        (message,) = appended([Message("system", content)], "B.")
        text = message.content if isinstance(content, str) else "".join(item.text for item in message.content)
        assert text.endswith(BLOCK) and text.index("B.") < text.index(BLOCK)
        assert read_knowledge(text) == [Passage(1, "a.pdf", "The pump weighs 12 kg.")]


def test_the_prompt_of_an_assistant_with_tools_ends_in_its_knowledge(tmp_path):
    path = tmp_path / "a.md"
    path.write_text("The pump weighs 12 kg.")
    bot = Assistant(
        llm=ScriptedChatModel(["12 kg [1]."], repeat=True),
        function_list=["calculator"],
        files=[str(path)],
        system_message="You help.",
        rag_cfg={"rag_keygen_strategy": "none"},
    )
    for question in ("What does the pump weigh?", "And in grams?"):
        bot.run_nonstream([Message("user", question)])
    first, second = (request.messages[0].content for request in bot.llm.requests)
    assert first.startswith("You help.\n\nBase what you say") and first.rstrip("`\n").endswith("12 kg.")
    assert first.partition("# Knowledge Base")[0] == second.partition("# Knowledge Base")[0]
