"""`qwen-agentkit mcp --files`, started as a process by the official client."""

import asyncio
import json
import os
import shutil
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

mcp = pytest.importorskip("mcp")

ROOT = Path(__file__).resolve().parents[2]


@asynccontextmanager
async def session(folder, *arguments, log=None):
    """A session of the official client with a server that it starts in a folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("QWEN_", "OPENAI_", "DASHSCOPE"))}
    parameters = mcp.StdioServerParameters(
        command=sys.executable,
        args=["-m", "qwen_agentkit.cli", "mcp", *arguments],
        env={**kept, "PYTHONPATH": str(ROOT)},
        cwd=str(folder),
    )
    async with mcp.stdio_client(parameters) as (read, write), mcp.ClientSession(read, write) as client:
        await client.initialize()
        yield client


async def call(client, tool, **arguments):
    """The structured content of a result, or its text when it is an error."""
    result = (await client.call_tool(tool, arguments)).model_dump(by_alias=True, mode="json")
    text = result["content"][0]["text"]
    if result["isError"]:
        return text
    assert json.loads(text) == result["structuredContent"]
    return result["structuredContent"]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("library")
    docs = folder / "docs"
    (docs / "more").mkdir(parents=True)
    for name in ("handbook.pdf", "meeting_notes.md"):
        shutil.copy(ROOT / "resources" / name, docs / name)
    (docs / "more" / "note.md").write_text("# Parking\n\nThe garage closes at nine.\n")
    (docs / "broken.docx").write_bytes(b"PK\x03\x04 no document")
    return folder


def test_a_client_searches_reads_and_asks_with_citations(library):
    async def run():
        async with session(library, "--files", "docs") as client:
            listed = (await client.list_tools()).model_dump(by_alias=True, mode="json")["tools"]
            assert [tool["name"] for tool in listed] == ["search_documents", "read_document", "ask_documents"]
            assert all(tool["annotations"]["readOnlyHint"] for tool in listed)

            found = await call(client, "search_documents", query="How long is the motor guaranteed?", limit=2)
            first = found["passages"][0]
            assert first["page"] == 7
            assert first["section"] == "Warranty"
            assert "27 months" in first["text"]
            assert len(found["passages"]) == 2
            assert found["documents"] == 3
            assert [Path(problem["document"]).name for problem in found["problems"]] == ["broken.docx"]

            read = await call(client, "read_document", document=first["document"], page=7)
            assert "27 months" in read["text"]
            assert (read["page"], read["page_end"]) == (7, 7)
            around = await call(client, "read_document", document=first["document"], start=first["start"])
            assert around["text"].startswith(first["text"][:40])

            answer = await call(client, "ask_documents", question="How long is the motor guaranteed?")
            assert "27 months" in answer["answer"]
            assert answer["answered"]
            assert answer["citations"][0]["page"] == 7
            assert "27 months" in answer["citations"][0]["quote"]
            assert answer["model"] == "extractive"
            declined = await call(client, "ask_documents", question="Who won the chess championship in 1972?")
            assert not declined["answered"]

            (library / "docs" / "late.md").write_text("# Canteen\n\nThe canteen serves lentil soup on Mondays.\n")
            late = await call(client, "search_documents", query="lentil soup")
            assert Path(late["passages"][0]["document"]).name == "late.md"

    asyncio.run(run())


def test_only_the_documents_that_were_given_can_be_named(library):
    (library / "secret.txt").write_text("secret")

    async def run():
        async with session(library, "--files", "docs") as client:
            for name in ("/etc/hostname", "../secret.txt", "secret.txt", str(library / "secret.txt"), "", "."):
                told = await call(client, "read_document", document=name)
                assert "no such document" in told, name
            assert "closes at nine" in (await call(client, "read_document", document="more/note.md"))["text"]
            assert "has 10 pages" in await call(client, "read_document", document="handbook.pdf", page=99)
            assert "limit" in await call(client, "search_documents", query="x", limit=1000)
            assert "query" in await call(client, "search_documents", query=" ")
            assert "not a readable" in await call(client, "read_document", document="broken.docx")

    asyncio.run(run())
