"""Which agents a page has, and whom a message goes to."""

import pytest

from qwen_agentkit.agents import Assistant, GroupChat, UserAgent
from qwen_agentkit.gui.agents_shown import COLOURS, cast_of, mentioned
from qwen_agentkit.testing import ScriptedChatModel


def agent(name, **kwargs):
    return Assistant(llm=ScriptedChatModel([]), name=name, **kwargs)


def test_one_agent_needs_no_name():
    cast = cast_of(agent(None))
    assert list(cast.runners) == ["Assistant"] and not cast.named
    assert cast_of([agent("Mia")]).speakers == ("Mia",)


def test_of_a_list_each_can_be_asked():
    cast = cast_of([agent("Mia"), agent("Ken")])
    assert list(cast.runners) == ["Mia", "Ken"] and cast.named
    assert cast.runner("Ken").name == "Ken"
    assert cast.runner("nobody").name == "Mia"


def test_a_team_answers_as_one_and_shows_its_members():
    team = GroupChat([agent("Mia"), UserAgent(name="Ada")], agent_selection_method="round_robin", name="team")
    cast = cast_of(team)
    assert list(cast.runners) == ["team"] and cast.is_team
    assert cast.speakers == ("Mia", "Ada") and cast.people == ("Ada",)


@pytest.mark.parametrize("wrong", [None, [], "Mia", [agent(None), agent(None)], [agent("Mia"), agent("Mia")], [3]])
def test_what_is_no_agent_is_refused(wrong):
    with pytest.raises(ValueError):
        cast_of(wrong)


def test_names_are_escaped_and_colours_repeat():
    names = ["<b>&", *(f"a{number}" for number in range(COLOURS))]
    cast = cast_of([agent(name) for name in names])
    assert "&lt;b&gt;&amp;" in cast.badge("<b>&")
    assert "qak-c0" in cast.badge(names[0]) and "qak-c0" in cast.badge(names[COLOURS])


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("@Mia what do you think?", "Mia"),
        ("请@小明回答", "小明"),
        ("@mia and then @Ken", "Ken"),
        ("ask @Mia Smith", "Mia Smith"),
        ("write to me@mia.example", None),
        ("@Miaow", None),
        ("nobody", None),
    ],
)
def test_a_mention_is_found(text, name):
    assert mentioned(text, ["Mia", "Mia Smith", "Ken", "小明"]) == name
