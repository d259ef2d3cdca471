"""Citations as a person reads them."""

import pytest

from qwen_agentkit.cli.citations import citation_line
from qwen_agentkit.cli.sources import Sources
from qwen_agentkit.cli.terminal import plain

EMPTY = dict.fromkeys(["page", "page_end", "sheet", "rows", "section", "quote", "start", "end", "score"])


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ({"page": 7, "page_end": 7, "section": "Warranty"}, '[2] a.pdf, page 7, "Warranty"'),
        ({"page": 7, "page_end": 9}, "[2] a.pdf, pages 7 to 9"),
        ({"sheet": "Prices", "rows": [2, 14]}, '[2] a.pdf, sheet "Prices", rows 2 to 14'),
        ({"sheet": "Prices", "rows": [5, 5]}, '[2] a.pdf, sheet "Prices", row 5'),
        ({}, "[2] a.pdf"),
    ],
)
def test_a_citation_says_what_is_known_of_its_place(place, line):
    sources = Sources(["/x/a.pdf"], {"/x/a.pdf": "a.pdf"})
    assert citation_line({**EMPTY, "n": 2, "source": "/x/a.pdf", **place}, sources) == line


def test_a_slide_is_called_a_slide():
    assert (
        citation_line({**EMPTY, "n": 1, "source": "/x/deck.pptx", "page": 3}, Sources()) == "[1] /x/deck.pptx, slide 3"
    )


def test_plain_text_keeps_lines_and_loses_what_steers_a_terminal():
    assert plain("a\tb\n\x1b[31mc\x07\u202e d é 中") == "a\tb\n[31mc d é 中"
