import pytest

from qwen_agentkit.run_context import RunContext, current_run
from qwen_agentkit.tools import StaticWorkbench, Workbench, tool


@tool
def weather(city: str) -> str:
    """Weather."""
    return f"rain in {city}"


@tool(side_effects=True, timeout=5)
def refund(order: int) -> str:
    """Refund."""
    return f"refunded {order}"


def names(bench):
    return [one.name for one in bench.list_tools()]


def test_a_list_of_tools_is_a_workbench():
    bench = StaticWorkbench([weather, refund])
    assert isinstance(bench, Workbench)
    assert names(bench) == ["weather", "refund"]
    assert bench.call_tool("weather", '{"city": "Oslo"}') == "rain in Oslo"
    with pytest.raises(KeyError, match="weather, refund"):
        bench.call_tool("nothing", {})


def test_two_tools_of_one_name_are_refused():
    with pytest.raises(ValueError, match="'weather'"):
        StaticWorkbench([weather, weather])
    with pytest.raises(ValueError, match="not 'weather'"):
        StaticWorkbench(["weather"])


def test_views_narrow_and_rename_and_can_be_stacked():
    bench = StaticWorkbench([weather, refund])
    assert names(bench.only("refund")) == ["refund"]
    assert names(bench.without("refund")) == ["weather"]
    assert names(bench.prefixed("acme-")) == ["acme-weather", "acme-refund"]
    view = bench.renamed({"refund": "pay_back"}).without("weather").prefixed("x_")
    assert names(view) == ["x_pay_back"]
    assert view.call_tool("x_pay_back", {"order": 7}) == "refunded 7"
    with pytest.raises(KeyError):
        view.call_tool("refund", {"order": 7})


def test_a_renamed_tool_is_the_same_in_all_else():
    renamed = StaticWorkbench([refund]).prefixed("a_").list_tools()[0]
    assert renamed.function == {**refund.function, "name": "a_refund"}
    assert (renamed.side_effects, renamed.timeout, renamed.sequential) == (True, 5, False)


def test_renaming_into_one_name_is_an_error():
    with pytest.raises(ValueError, match="'same'"):
        StaticWorkbench([weather, refund]).renamed({"weather": "same", "refund": "same"}).list_tools()


def test_a_condition_is_asked_before_every_call_and_knows_the_run():
    bench = StaticWorkbench([weather, refund]).enabled_if(
        lambda one: not one.side_effects or bool(current_run() and current_run().state.get("is_admin"))
    )
    assert names(bench) == ["weather"]
    run = RunContext("a")
    run.state["is_admin"] = True
    assert run.enter().run(names, bench) == ["weather", "refund"]


def test_starting_stopping_and_state_go_through_a_view():
    class Counting(StaticWorkbench):
        started = 0

        def start(self):
            self.started += 1

        def stop(self):
            self.started -= 1

        def save_state(self):
            return {"started": self.started}

        def load_state(self, state):
            self.started = state["started"]

    bench = Counting([weather])
    view = bench.only("weather").prefixed("a")
    view.start()
    assert view.save_state() == {"started": 1}
    view.stop()
    view.load_state({"started": 4})
    assert bench.started == 4
