"""Code that wants to take the machine along, in the real sandbox, each under an outer limit of the test's own."""

import os
import threading
import time

import pytest

from qwen_agentkit.errors import ToolServiceError
from qwen_agentkit.tools import CodeInterpreter, PythonExecutor
from qwen_agentkit.tools.code import sandbox
from qwen_agentkit.tools.code.pool import kernels
from qwen_agentkit.tools.code.watch import folder_bytes, use_of

try:
    sandbox.choose("bubblewrap")
    NO_WALL = None
except ToolServiceError as error:
    NO_WALL = error.message

pytestmark = pytest.mark.skipif(NO_WALL is not None, reason=str(NO_WALL))

MEMORY = 400_000_000
FOLDER = 30_000_000
PROCESSES = 20
# The outer limits: what even a broken wall may take before the test ends everything.
OUTER_MEMORY = 3_000_000_000
OUTER_FOLDER = 600_000_000
OUTER_PROCESSES = 2_000
OUTER_SECONDS = 30.0


class Outer:
    """Ends all kernels when the test's own processes, or its folder, take too much."""

    def __init__(self, folder) -> None:
        self.folder = folder
        self.broken = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stopped.set()
        self._thread.join()
        kernels.end()

    def _watch(self):
        before, began = use_of(os.getpid()).memory, time.monotonic()
        while not self._stopped.wait(0.05):
            use = use_of(os.getpid())
            if use.processes > OUTER_PROCESSES:
                self.broken = f"{use.processes} processes"
            elif use.memory - before > OUTER_MEMORY:
                self.broken = f"{use.memory} bytes of memory"
            elif folder_bytes(self.folder) > OUTER_FOLDER:
                self.broken = f"{folder_bytes(self.folder)} bytes of files"
            elif time.monotonic() - began > OUTER_SECONDS:
                self.broken = "too long"
            if self.broken:
                kernels.end()
                return


@pytest.fixture
def outer(tmp_path):
    with Outer(tmp_path) as held:
        yield held


@pytest.fixture
def tool(tmp_path, outer):
    made = CodeInterpreter(
        {
            "sandbox": "bubblewrap",
            "work_dir": str(tmp_path),
            "memory": MEMORY,
            "folder": FOLDER,
            "processes": PROCESSES,
            "timeout": 8,
        }
    )
    yield made
    assert outer.broken is None
    assert "2" in made.call({"code": "1 + 1"})


def children():
    return use_of(os.getpid()).processes - 1


def test_a_fork_bomb_ends_with_its_sandbox(tool):
    before = children()
    told = tool.call({"code": "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"})
    assert "more than 20 processes" in told or "more than 400 MB" in told
    kernels.end()
    end = time.monotonic() + 5
    while children() > before and time.monotonic() < end:
        time.sleep(0.05)
    assert children() <= before


def test_memory_that_is_taken_by_several_processes_is_counted_together(tool):
    code = (
        "import os, time\n"
        "for n in range(6):\n"
        "    if os.fork() == 0:\n"
        "        held = bytearray(os.urandom(1_000_000) * 100)\n"
        "        time.sleep(20)\n"
        "        os._exit(0)\n"
        "time.sleep(20)"
    )
    assert "400 MB of memory" in tool.call({"code": code})


def test_ten_gigabytes_of_output_cost_neither_memory_nor_a_long_answer(tool):
    before = use_of(os.getpid()).memory
    start = time.monotonic()
    told = tool.call(
        {"code": "import os\nblock = b'x' * 1_000_000\nfor _ in range(10_000): os.write(1, block)"}, timeout=3
    )
    assert "left out" in told
    assert len(told) < 100_000
    assert use_of(os.getpid()).memory - before < MEMORY
    assert time.monotonic() - start < 15


def test_the_disk_is_not_filled_in_many_small_files_or_in_one_with_holes(tool, tmp_path):
    code = "n = 0\nwhile True:\n    open(f'f{n}', 'wb').write(b'x' * 100_000); n += 1"
    assert "30 MB" in tool.call({"code": code})
    assert folder_bytes(tmp_path) < OUTER_FOLDER
    told = tool.call({"code": "f = open('holes', 'wb'); f.seek(10 ** 12); f.write(b'x'); f.flush()"})
    assert "Error" in told


def test_sleep_in_c_is_stopped_in_time(tool):
    start = time.monotonic()
    told = tool.call({"code": "import ctypes; ctypes.PyDLL(None).sleep(60)"}, timeout=1)
    assert "stopped after 1 seconds" in told
    assert time.monotonic() - start < 6


def test_links_and_pipes_in_the_folder_lead_the_host_nowhere(tool, tmp_path):
    (tmp_path / "mine").mkdir()
    data, precious = tmp_path / "mine" / "data.csv", tmp_path / "mine" / "precious.txt"
    data.write_text("a,b")
    precious.write_text("precious")
    traps = (
        "import os\nos.mkfifo('data.csv'); os.mkfifo('.qwen_agentkit_copies.json')\n"
        # The name that a copy on its way would have if it could be guessed.
        f"os.symlink({str(precious)!r}, '.data.csv.{os.getpid()}.tmp')"
    )
    tool.call({"code": traps})
    told = tool.call({"code": "import os; sorted(n for n in os.listdir() if n.startswith('data'))"}, files=[str(data)])
    assert "data-" in told
    assert precious.read_text() == "precious"
    swap = "import os\nclass Picture:\n    def _repr_png_(self):\n        return b'\\x89PNG drawn'\nPicture()"
    _, picture = tool.call({"code": swap})
    name = os.path.basename(picture.image)
    tool.call({"code": f"import os; os.remove({name!r}); os.symlink({str(precious)!r}, {name!r})"})
    with open(picture.image, "rb") as stream:
        assert stream.read() == b"\x89PNG drawn"


def test_the_executor_neither_ends_the_program_nor_reaches_what_is_its(tmp_path, outer, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    (tmp_path / "secret").write_text("secret")
    executor = PythonExecutor({"sandbox": "bubblewrap", "work_dir": str(tmp_path / "w"), "timeout_length": 5})
    for code in ("import os; os._exit(1)", "exit()", "import sys; sys.exit(3)", "raise KeyboardInterrupt"):
        answer, told = executor.call({"code": code})
        assert (answer, told != "Done") == ("", True), code
    for code in (
        "import os; print(os.environ.get('OPENAI_API_KEY', 'none'))",
        f"import os; print('none' if not os.path.exists({str(tmp_path / 'secret')!r}) else 'seen')",
        "getattr(__import__('o' + 's'), 'sys' + 'tem')('echo none')",
    ):
        assert executor.call({"code": code})[0] == "none"
    assert executor.call({"code": "print(6 * 7)"}) == ["42", "Done"]
    assert outer.broken is None
