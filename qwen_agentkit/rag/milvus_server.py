"""A Milvus server (or milvus-lite in a file) as the stores of this package see it: one address, errors in one shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from qwen_agentkit.utils.optional import need

LITE_FILE = "milvus.db"
# The most rows that one search may give: Milvus refuses more.
MOST_HITS = 16_384
# Rows sent in one request; with the vectors of 500 passages a request stays below a few megabytes.
ROWS = 500
_SECONDS = 30.0


class MilvusServer:
    """A connection.

    Args:
        options: `uri` (`http://host:19530`, or a file for milvus-lite), `token`, `db_name`.
        folder: Folder of the index: without `uri`, milvus-lite keeps its file there.

    Raises:
        ValueError: There is neither an address nor a folder.
        MissingDependencyError: pymilvus, or for a file milvus-lite, is not installed.
        ConnectionError: The server does not answer.
    """

    def __init__(self, options: Mapping[str, Any], folder: Path | None) -> None:
        if not options.get("uri") and folder is None:
            raise ValueError("An index in memory over Milvus needs the server: store={'name': 'milvus', 'uri': ...}")
        self.address = str(options.get("uri") or folder / LITE_FILE) if folder is not None else str(options["uri"])
        pymilvus = need("pymilvus", extra="milvus")
        if "://" not in self.address:
            need("milvus_lite", package="milvus-lite")
        self._error = pymilvus.MilvusException
        self.types: Any = pymilvus
        given = {name: str(options[name]) for name in ("token", "db_name") if options.get(name)}
        self.client: Any = self.ask(lambda: pymilvus.MilvusClient(uri=self.address, timeout=_SECONDS, **given))

    def ask(self, question: Callable[[], Any]) -> Any:
        """Runs a call of the client; what it raises is a ConnectionError that names the server."""
        try:
            return question()
        except self._error as error:
            raise ConnectionError(f"Milvus at {self.address}: {error.message}") from error

    def make(self, collection: str, fields: list[dict[str, Any]], index: dict[str, Any], bm25: bool = False) -> None:
        """Makes a collection whose searches see every write that came before them.

        Args:
            collection: Its name; one that is there already is replaced.
            fields: Arguments of `add_field` for each.
            index: Arguments of `add_index`.
            bm25: The field `terms` is turned into the sparse vector `sparse` by Milvus itself.
        """

        def build() -> None:
            schema = self.client.create_schema(auto_id=False, enable_dynamic_field=False)
            for one in fields:
                schema.add_field(**one)
            if bm25:
                schema.add_function(
                    self.types.Function(
                        name="bm25",
                        function_type=self.types.FunctionType.BM25,
                        input_field_names=["terms"],
                        output_field_names=["sparse"],
                    )
                )
            parameters = self.client.prepare_index_params()
            parameters.add_index(**index)
            if self.client.has_collection(collection):
                self.client.drop_collection(collection)
            self.client.create_collection(
                collection, schema=schema, index_params=parameters, consistency_level="Strong"
            )

        self.ask(build)

    def has(self, collection: str) -> bool:
        """Whether there is a collection of that name."""
        return bool(self.ask(lambda: self.client.has_collection(collection)))

    def drop(self, collection: str) -> None:
        """Removes a collection, if it is there."""
        if self.has(collection):
            self.ask(lambda: self.client.drop_collection(collection))

    def upsert(self, collection: str, rows: list[dict[str, Any]]) -> None:
        """Writes rows; those with the number of an earlier one replace it."""
        for first in range(0, len(rows), ROWS):
            part = rows[first : first + ROWS]
            self.ask(partial(self.client.upsert, collection, part))

    def delete(self, collection: str, documents: list[int]) -> None:
        """Takes out all rows of documents."""
        for first in range(0, len(documents), ROWS):
            wanted = in_documents(documents[first : first + ROWS])
            self.ask(partial(self.client.delete, collection, filter=wanted))

    def nearest(self, collection: str, field: str, query: Any, top_k: int, documents: Any) -> list[tuple[int, float]]:
        """(chunk, what Milvus gives as distance) of the best rows."""
        found = self.ask(
            lambda: self.client.search(
                collection,
                data=[query],
                anns_field=field,
                limit=min(top_k, MOST_HITS),
                filter="" if documents is None else in_documents(documents),
                output_fields=["chunk"],
            )
        )
        return [(int(row["entity"]["chunk"]), float(row["distance"])) for row in found[0]]

    def count(self, collection: str, condition: str = "") -> int:
        """How many rows there are, or fulfil a condition."""
        rows = self.ask(lambda: self.client.query(collection, filter=condition, output_fields=["count(*)"]))
        return int(rows[0]["count(*)"])

    def close(self) -> None:
        """Closes the connection."""
        self.client.close()


def in_documents(documents: Any) -> str:
    """The condition that a row is of one of these documents."""
    return f"document in [{', '.join(str(int(document)) for document in documents)}]"
