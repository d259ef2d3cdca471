import os
from pathlib import Path

import pytest

from qwen_agentkit.errors import ToolArgumentsError
from qwen_agentkit.tools import TOOL_REGISTRY, BaseTool, BaseToolWithFileAccess, is_tool_schema, register_tool
from qwen_agentkit.tools.base import ToolServiceError
from qwen_agentkit.utils.lazy import LazyRegistry


@pytest.fixture(autouse=True)
def own_registry():
    before = dict(dict.items(TOOL_REGISTRY))
    yield
    TOOL_REGISTRY.clear()
    TOOL_REGISTRY.update(before)


def make(name="probe", **attributes):
    body = {"name": name, "description": "d", "parameters": [], "call": lambda self, params, **kwargs: "ok"}
    return type("Probe", (BaseTool,), {**body, **attributes})


LISTED = [{"name": "a", "type": "string", "description": "x", "required": True}, {"name": "b", "type": "integer"}]
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}, "n": {"type": "integer"}}, "required": ["a"]}


def test_registering_gives_the_name_and_finds_the_class():
    @register_tool("probe_one")
    class One(BaseTool):
        description = "d"
        parameters = []

        def call(self, params, **kwargs):
            return "one"

    assert One.name == "probe_one"
    assert TOOL_REGISTRY["probe_one"] is One
    assert One().call("{}") == "one"


def test_another_class_cannot_take_a_name_unless_allowed():
    register_tool("probe_x")(make(name="", __qualname__="A"))
    with pytest.raises(ValueError, match="registered already"):
        register_tool("probe_x")(make(name="", __qualname__="B"))
    replacement = make(name="", __qualname__="B")
    register_tool("probe_x", allow_overwrite=True)(replacement)
    assert TOOL_REGISTRY["probe_x"] is replacement


def test_a_notebook_cell_run_again_replaces_its_class_quietly():
    first, second = make(name="", __module__="__main__"), make(name="", __module__="__main__")
    register_tool("probe_cell")(first)
    register_tool("probe_cell")(second)
    assert TOOL_REGISTRY["probe_cell"] is second


def test_a_built_in_name_cannot_be_taken_by_accident():
    with pytest.raises(ValueError, match="'storage' is registered already"):
        register_tool("storage")(make(name=""))


def test_a_program_may_have_its_own_tool_under_a_name_that_qwen_agent_has_not():
    own = make(name="")
    register_tool("calculator")(own)
    assert TOOL_REGISTRY["calculator"] is own
    import qwen_agentkit.tools.calculator as module

    assert module.Calculator.name == "calculator"
    assert register_tool("calculator")(module.Calculator) is module.Calculator
    assert TOOL_REGISTRY["calculator"] is own
    with pytest.raises(ValueError, match="registered already"):
        register_tool("calculator")(make(name="", __qualname__="Another"))


def test_a_class_that_says_another_name_is_refused_but_a_subclass_may_have_its_own():
    with pytest.raises(ValueError, match="'other'"):
        register_tool("probe_y")(make(name="other"))
    from qwen_agentkit.tools import Storage

    mine = type("Mine", (Storage,), {})
    register_tool("probe_storage")(mine)
    assert mine.name == "probe_storage"
    assert Storage.name == "storage"


def test_both_forms_of_parameters_reach_the_model_as_a_schema():
    listed = make(parameters=LISTED)()
    assert listed.parameters == LISTED
    assert listed.function == {
        "name": "probe",
        "description": "d",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "string", "description": "x"}, "b": {"type": "integer"}},
            "required": ["a"],
        },
    }
    assert make(parameters=SCHEMA)().function["parameters"] == SCHEMA


@pytest.mark.parametrize("parameters", [{"type": "string"}, "text", [{"type": "string"}], {"properties": 3}])
def test_parameters_that_are_none_are_told_at_construction(parameters):
    with pytest.raises(ValueError, match="Tool 'probe'"):
        make(parameters=parameters)()


def test_a_tool_without_a_name_says_so():
    with pytest.raises(ValueError, match="has no name"):
        make(name="")()


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ('{"a": "x"}', {"a": "x"}),
        ({"a": "x"}, {"a": "x"}),
        ("```json\n{'a': 'x',}\n```", {"a": "x"}),
        ('{"a": "x", "n": "3"}', {"a": "x", "n": 3}),
        ('{"a": "x"', {"a": "x"}),
    ],
)
def test_arguments_are_read_with_tolerance(given, read):
    assert make(parameters=SCHEMA)()._verify_json_format_args(given) == read


def test_no_arguments_are_an_empty_object():
    for nothing in ("", "null", None, "{}"):
        assert make()()._verify_json_format_args(nothing) == {}


@pytest.mark.parametrize("given", ["[1]", '"text"', "not json at all", '{"n": 1}', '{"a": {"b": 1}}'])
def test_arguments_that_do_not_fit_are_one_line(given):
    with pytest.raises(ToolArgumentsError) as caught:
        make(parameters=SCHEMA)()._verify_json_format_args(given)
    assert isinstance(caught.value, ValueError)
    assert "\n" not in str(caught.value)


def test_strict_json_is_strict():
    tool = make(parameters=SCHEMA)()
    assert tool._verify_json_format_args('{"a": "x"}', strict_json=True) == {"a": "x"}
    with pytest.raises(ToolArgumentsError):
        tool._verify_json_format_args("{'a': 'x'}", strict_json=True)


def test_the_list_form_checks_presence_only():
    tool = make(parameters=LISTED)()
    assert tool._verify_json_format_args({"a": 1, "zz": 2}) == {"a": 1, "zz": 2}
    with pytest.raises(ToolArgumentsError, match="'a' is required"):
        tool._verify_json_format_args({"b": 1})


def test_arguments_that_were_cut_off_are_not_guessed_for_a_tool_with_side_effects():
    with pytest.raises(ToolArgumentsError, match="end in the middle"):
        make(parameters=SCHEMA, side_effects=True)()._verify_json_format_args('{"a": "delete all fi')


def test_a_schema_of_a_tool_may_be_any_json_schema():
    tool = {"name": "t", "description": "", "parameters": {**SCHEMA, "$defs": {}, "additionalProperties": False}}
    assert is_tool_schema(tool)
    assert is_tool_schema({**tool, "parameters": {"type": "object", "properties": {}}})
    for broken in ({"name": "", **tool, "parameters": []}, {**tool, "name": ""}, {"name": "t"}, "t", None):
        assert not is_tool_schema(broken)


def test_the_words_on_arguments_follow_the_description():
    assert make()().args_format == "Write the arguments as one JSON object."
    assert "JSON" in make(description="查天气")().args_format
    assert make()({"args_format": "as you like"}).args_format == "as you like"
    assert make()({"name_for_human": "Probe!"}).name_for_human == "Probe!"


def test_the_registry_lists_names_without_importing_and_gives_classes_any_way():
    registry = LazyRegistry({"storage": "qwen_agentkit.tools.storage:Storage"})
    from qwen_agentkit.tools import Storage

    assert list(registry) == ["storage"]
    assert registry.origin("storage") == ("qwen_agentkit.tools.storage", "Storage")
    for read in (
        lambda r: r["storage"],
        lambda r: r.get("storage"),
        lambda r: r.values()[0],
        lambda r: r.items()[0][1],
        lambda r: {**r}["storage"],
        lambda r: dict(r)["storage"],
        lambda r: (r | {})["storage"],
        lambda r: ({} | r)["storage"],
        lambda r: r.copy()["storage"],
        lambda r: r.setdefault("storage"),
        lambda r: r.pop("storage"),
        lambda r: r.popitem()[1],
    ):
        assert read(LazyRegistry({"storage": "qwen_agentkit.tools.storage:Storage"})) is Storage
    assert registry.get("none") is None
    with pytest.raises(KeyError):
        registry["none"]


class Reader(BaseToolWithFileAccess):
    name = "reader"
    description = "d"
    parameters = []

    def call(self, params, files=None, **kwargs):
        super().call(params, files=files)
        return sorted(name for name in os.listdir(self.work_dir) if not name.startswith("."))


def test_files_come_into_the_work_dir(tmp_path):
    (tmp_path / "a.csv").write_text("1")
    tool = Reader({"work_dir": str(tmp_path / "work")})
    assert tool.file_access
    assert tool.call({}, files=[str(tmp_path / "a.csv"), (tmp_path / "a.csv").as_uri()]) == ["a.csv"]


def test_a_file_that_is_in_the_work_dir_stays_there_untouched(tmp_path):
    data = tmp_path / "my.csv"
    data.write_text("precious")
    tool = Reader({"work_dir": str(tmp_path)})
    assert tool.call({}, files=[str(data)]) == ["my.csv"]
    assert data.read_text() == "precious"


def test_a_users_file_of_the_same_name_is_not_overwritten(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "my.csv").write_text("the user's")
    (tmp_path / "my.csv").write_text("another")
    tool = Reader({"work_dir": str(tmp_path / "work")})
    brought = tool.bring_files([str(tmp_path / "my.csv")])
    assert (tmp_path / "work" / "my.csv").read_text() == "the user's"
    assert Path(brought[str(tmp_path / "my.csv")]).read_text() == "another"


def test_a_copy_follows_its_source_until_someone_changes_it(tmp_path):
    source = tmp_path / "my.csv"
    source.write_text("one")
    tool = Reader({"work_dir": str(tmp_path / "work")})
    tool.bring_files([str(source)])
    source.write_text("two")
    assert tool.call({}, files=[str(source)]) == ["my.csv"]
    assert (tmp_path / "work" / "my.csv").read_text() == "two"
    (tmp_path / "work" / "my.csv").write_text("edited in the work folder")
    source.write_text("three")
    tool.bring_files([str(source)])
    assert (tmp_path / "work" / "my.csv").read_text() == "edited in the work folder"


def test_a_missing_file_is_a_warning_and_not_an_end(tmp_path, caplog):
    tool = Reader({"work_dir": str(tmp_path / "work")})
    assert tool.call({}, files=["/nowhere/x.csv"]) == []
    assert "/nowhere/x.csv could not be brought" in caplog.text


def test_the_old_import_paths_hold():
    assert ToolServiceError(code="500", message="m").code == "500"
