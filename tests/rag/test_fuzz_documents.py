"""Broken files of every format are answered: a document or an error of the package, and no worker's end is ours."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qwen_agentkit.errors import DocParserError
from qwen_agentkit.rag.document import Document
from qwen_agentkit.rag.reading import PARSERS
from qwen_agentkit.rag.sniff import sniff
from qwen_agentkit.rag.workers import close_workers, read_documents
from tests.fuzz_documents import LIMITS, mutated, problem_of, run, samples


@pytest.fixture(autouse=True)
def no_workers_left():
    yield
    close_workers()


def test_the_samples_are_of_every_kind_and_readable(tmp_path):
    paths = []
    for name, content in samples().items():
        path = tmp_path / name
        path.write_bytes(content)
        paths.append(path)
    assert {sniff(path) for path in paths} >= set(PARSERS) - {"xls", "xlsb"}
    for path, result in read_documents(paths):
        assert isinstance(result, Document), result
        assert problem_of(result) is None, path


def test_a_few_broken_files(tmp_path):
    _, problems = run(60, 7, tmp_path)
    assert problems == []


@pytest.mark.slow
def test_two_hundred_broken_files(tmp_path):
    _, problems = run(200, 11, tmp_path)
    assert problems == []


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(sorted(samples())), seed=st.integers(0, 2**32))
def test_any_mutation_is_answered(tmp_path, name, seed):
    path = tmp_path / name
    path.write_bytes(mutated(samples()[name], random.Random(seed)))
    ((_, result),) = read_documents([path], limits=LIMITS)
    if isinstance(result, Document):
        assert problem_of(result) is None
    else:
        assert isinstance(result, DocParserError) and type(result) is not DocParserError
