from qwen_agentkit.schema import ContentItem, FunctionCall, Message
from qwen_agentkit.utils.output_beautify import multimodal_typewriter_print, typewriter_print

RESPONSE = [
    Message("assistant", "", reasoning_content="hm"),
    Message("assistant", "", function_call=FunctionCall("f", '{"a": 1}')),
    Message("function", "42", name="f"),
    Message("assistant", "It is 42."),
]
TEXT = '[THINK]\nhm\n[TOOL_CALL] f\n{"a": 1}\n[TOOL_RESPONSE] f\n42\n[ANSWER]\nIt is 42.'


def test_a_growing_response_is_printed_once(capsys):
    text = ""
    for count in range(5):
        text = typewriter_print(RESPONSE[:count], text)
    assert text == TEXT
    assert capsys.readouterr().out == TEXT


def test_dicts_print_the_same(capsys):
    assert typewriter_print([message.model_dump() for message in RESPONSE], "") == TEXT


def test_a_replaced_answer_is_printed_anew(capsys):
    text = typewriter_print([Message("assistant", "first")], "")
    typewriter_print([Message("assistant", "other")], text)
    assert capsys.readouterr().out == "[ANSWER]\nfirst\n[ANSWER]\nother"


def test_pictures_are_named_once_outside_of_a_notebook(capsys):
    result = Message("function", [ContentItem(text="see"), ContentItem(image="/a/b.png")], name="zoom")
    text = multimodal_typewriter_print([result])
    multimodal_typewriter_print([result, Message("assistant", "done")], text)
    assert capsys.readouterr().out == "[TOOL_RESPONSE] zoom\nsee\n[IMAGE] /a/b.png\n[ANSWER]\ndone"


def test_the_plain_printer_names_pictures_in_the_text(capsys):
    response = [Message("function", [ContentItem(image="dog.png")], name="draw")]
    assert typewriter_print(response, "") == "[TOOL_RESPONSE] draw\n[image] dog.png"
    assert capsys.readouterr().out == "[TOOL_RESPONSE] draw\n[image] dog.png"
