"""Text of models and tools can put no HTML and no picture on the page."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwen_agentkit.gui.escaping import escape, fenced, parts, unescape

markdown_it = pytest.importorskip("markdown_it")

# What may open a tag, a fence, a span, a list, a quote, a picture or a formula.
PIECES = st.lists(
    st.sampled_from(
        [
            "<b>",
            "<img src=x onerror=y>",
            "</p>",
            "<!--",
            "<?",
            "`",
            "``",
            "```",
            "~~~",
            "\n",
            "\n\n",
            "- ",
            "> ",
            "1. ",
            "    ",
            "  ",
            "\t",
            "a",
            "&lt;",
            "&",
            "![x](y)",
            "[x](y)",
            "|",
            "\\",
            "$$",
            "# ",
            "html",
            "\r\n",
            "<",
        ]
    ),
    max_size=25,
).map("".join)


def html_tokens(text):
    """The pieces of raw HTML and the pictures that a CommonMark parser finds."""
    tokens = markdown_it.MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)
    every = [*tokens, *(child for token in tokens for child in token.children or ())]
    return [token.content for token in every if token.type in ("html_block", "html_inline", "image")]


@given(PIECES)
def test_no_html_and_no_picture_is_left(text):
    assert html_tokens(escape(text)) == []


@given(PIECES)
def test_pieces_joined_are_the_text(text):
    assert "".join(piece for _, piece in parts(text)) == text.replace("\r\n", "\n").replace("\r", "\n")


@pytest.mark.parametrize(
    "text",
    [
        "a < b & c > d",
        "<b>bold</b> and `<i>` and ![x](http://a/b?c=1&d=2)",
        "&lt; stays what it was, &amp;lt; too",
        "```html\n<b>&amp;</b>\n```\n<u>",
        "1. list\n   ```html\n   <b>\n   ```\n<i>",
        "    indented <b>\n\n<b>",
    ],
)
def test_an_edited_text_comes_back_as_it_was(text):
    assert unescape(escape(text)) == text


def test_code_is_shown_as_it_is():
    text = "See `<i>`:\n\n```html\n<b>&</b>\n```\n\n1. so\n   ```\n   <u>\n   ```\n"
    assert escape(text) == text


def test_a_fence_that_is_still_open_is_code():
    assert escape("<a>\n```\n<b>") == "&lt;a>\n```\n<b>"


def test_a_picture_of_another_server_is_a_link():
    assert escape("![secret](https://evil.example/?q=1)") == "&#33;[secret](https://evil.example/?q=1)"


def test_a_formula_keeps_its_columns_but_no_tag():
    assert escape("$$a < b & c$$") == r"$$a \lt  b & c$$"


@given(st.text(alphabet="`~a\n <"))
def test_nothing_ends_a_fenced_text(text):
    tokens = markdown_it.MarkdownIt("commonmark").parse(fenced(text))
    assert [token.type for token in tokens] == ["fence"]
    assert tokens[0].content == text + "\n"


def test_more_is_done_outside_of_code_only():
    assert escape("x `x`", lambda piece: piece.replace("x", "y")) == "y `x`"
