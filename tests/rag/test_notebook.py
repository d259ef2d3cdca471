import base64
import json

import pytest

from qwen_agentkit.errors import DamagedFile
from tests.rag.packages import kinds, read_document

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)


def read(tmp_path, notebook, **options):
    (tmp_path / "a.ipynb").write_text(notebook if isinstance(notebook, str) else json.dumps(notebook), encoding="utf-8")
    return read_document(tmp_path / "a.ipynb", **options)


def test_text_code_and_results_in_order(tmp_path):
    cells = [
        {"cell_type": "markdown", "source": ["# Study\n", "Some *words*."]},
        {
            "cell_type": "code",
            "source": "x = 1\n\nprint(x)\n",
            "outputs": [
                {"output_type": "stream", "text": ["1\n"]},
                {
                    "output_type": "execute_result",
                    "data": {"text/plain": "42", "image/png": base64.b64encode(PNG).decode()},
                },
                {"output_type": "error", "traceback": ["\x1b[31mValueError\x1b[0m: no"]},
            ],
        },
        {"cell_type": "raw", "source": "raw text"},
        "damaged",
    ]
    document = read(tmp_path, {"nbformat": 4, "metadata": {}, "cells": cells})
    assert document.title == "Study"
    assert kinds(document) == [
        ("heading", "Study"),
        ("text", "Some *words*."),
        ("code", "# Cell 2\nx = 1\n\nprint(x)"),
        ("code", "Output of cell 2:\n1"),
        ("code", "Output of cell 2:\n42"),
        ("code", "Output of cell 2:\nValueError: no"),
        ("text", "raw text"),
    ]
    assert document.warnings == ["cell 4 is not an object and was not read"]
    assert read(tmp_path, {"cells": cells}, keep_images=True).images[0].data == PNG


def test_the_older_form_with_worksheets_is_read(tmp_path):
    cells = [
        {"cell_type": "heading", "level": 2, "source": "Old"},
        {"cell_type": "code", "input": "y = 2", "outputs": []},
    ]
    document = read(tmp_path, {"nbformat": 3, "worksheets": [{"cells": cells}]})
    assert kinds(document) == [("heading", "Old"), ("code", "# Cell 2\ny = 2")]
    assert document.blocks[0].level == 2


@pytest.mark.parametrize("content", ["{", "[]", '{"cells": 5}', '{"a": 1}'])
def test_what_is_no_notebook_is_damaged(tmp_path, content):
    with pytest.raises(DamagedFile):
        read(tmp_path, content)
