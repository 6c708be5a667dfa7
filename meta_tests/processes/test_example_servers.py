"""Test the servers in examples/ on the published messages of the process protocol."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from ..support.paths import DOCS
from ..support.servers import EXAMPLES, SERVERS, Server

pytestmark = [pytest.mark.rotating, pytest.mark.xdist_group("processes/servers")]  # which share what is built
REPLAY = DOCS / "protocol" / "replay.py"


def replay(command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, REPLAY, *shlex.split(command)], capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.language)
def test_a_server_answers_the_published_messages(server: Server, commands: dict[str, str]) -> None:
    server.skip_without_tools()
    done = replay(commands[server.language])
    assert (done.returncode, done.stderr) == (0, "")
    assert "40 requests answered as the protocol says" in done.stdout


SUFFIXES = {".c", ".cpp", ".go", ".h", ".java", ".js", ".py", ".rs"}
LIBRARIES = {"tensorflow_js", "onnxruntime_web", "tract"}  # folders of other libraries' servers
NO_SERVERS = {"vectors", "compositions"}


def test_a_server_has_fewer_than_120_lines_and_that_of_a_library_fewer_than_200() -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in EXAMPLES.glob("*/*") if path.suffix in SUFFIXES}
    limits = {path: 200 if path.parent.name in LIBRARIES else 120 for path in lengths}
    assert {str(path): length for path, length in lengths.items() if length >= limits[path]} == {}
    assert {path.parent.name for path in lengths} - LIBRARIES - NO_SERVERS == {server.language for server in SERVERS}


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.language)
def test_the_readme_has_the_lines_that_build_and_start_a_server(server: Server) -> None:
    """Those of its folder, where the tests write into another one."""
    build = shlex.join(server.build).replace("-d '$OUT' ", "").replace("'$OUT/server'", "server")
    start = server.start.replace("$OUT/bin/", "").replace("$OUT/", "./").replace("$HERE/", "").replace("-cp $OUT ", "")
    row = f"| `{server.language}/` | {f'`{build}` ' if build else ''}| `{start}` | `{server.wrong}` |"
    assert row in (EXAMPLES / "README.md").read_text().splitlines()


BREAKING = {
    "checks no sizes": ("raise ValueError(", "str("),
    "prints to standard output": ("SIZES = ", "print(1, flush=True)\nSIZES = "),
    "does not end": ('if request == "quit":', 'if request == "qui":'),
    "answers with a wrong shape": ('"shape": x["shape"]', '"shape": [*x["shape"], 1]'),
    "takes relu for another operation": ("0.0 if v < 0 else v", "v"),
}


@pytest.mark.parametrize("broken", BREAKING)
def test_a_broken_server_is_found(broken: str, tmp_path: Path) -> None:
    """The script that replays the messages notices a server that does not keep to the protocol."""
    right = (EXAMPLES / "python" / "server.py").read_text()
    old, new = BREAKING[broken]
    assert old in right
    (tmp_path / "server.py").write_text(right.replace(old, new))
    done = replay(shlex.join([sys.executable, str(tmp_path / "server.py")]))
    assert done.returncode == 1
    assert "request_" in done.stdout


def test_a_server_that_hangs_is_found(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text("import time\ntime.sleep(60)\n")
    (tmp_path / "replay.py").write_text(
        REPLAY.read_text()
        .replace("TIMEOUT_SECONDS = 60.0", "TIMEOUT_SECONDS = 1.0")
        .replace("FOLDER = Path(__file__).parent", f"FOLDER = Path({str(REPLAY.parent)!r})")
    )
    words = [sys.executable, tmp_path / "replay.py", sys.executable, tmp_path / "server.py"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "it did not answer 20 requests and end within 1 s" in done.stdout
