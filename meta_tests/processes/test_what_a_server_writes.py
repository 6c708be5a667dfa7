"""What is said of a server that does not start: its limit, what it wrote in place of an answer, and what it printed."""

import json
import sys
from pathlib import Path

import pytest

from spec_tests.implementation.lookup import BackendError
from spec_tests.processes.server_backend import load_process
from spec_tests.processes.stray_output import find_stray
from spec_tests.specification.registry import gradients, operations

from ..support.servers import EXAMPLES

RIGHT = (EXAMPLES / "python" / "server.py").read_text()
SEND = "channel.write(answer(*request))"
SLEEP = "import time; time.sleep(60)"


def refuse(folder: Path, code: str, seconds: float) -> str:
    """Return the sentence that refuses a server."""
    (folder / "server.py").write_text(code)
    stated = {"command": [sys.executable, "-S", "server.py"], "start_seconds": seconds}
    (folder / "server.json").write_text(json.dumps(stated))
    with pytest.raises(BackendError) as refusal:
        load_process("server.json", folder, operations(), gradients())
    return str(refusal.value)


def writing(text: str) -> str:
    """Return the server that writes this text before each answer."""
    assert SEND in RIGHT
    return RIGHT.replace(SEND, f"channel.write({text.encode()!r} + answer(*request))")


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        (SLEEP, "no answer within 2 s (start_seconds)"),
        (f"print('ready', flush=True)\n{SLEEP}", r"no answer within 2 s (start_seconds); it wrote as its answer 'ready\n'"),
    ],
    ids=["silent", "after a text"],
)
def test_the_limit_of_a_start_is_named(code: str, sentence: str, tmp_path: Path) -> None:
    assert sentence in refuse(tmp_path, code, 2)


WRITTEN = {
    "a text before the answer": (writing("loading weights\n"), r"it begins with 'loading weights\n', which is text"),
    "six bytes": (writing("ready\n"), r"it begins with 'ready\n', which is text"),
    "two bytes": (writing("1\n"), r"it begins with '1\n', which is text"),
    "one byte": (writing("\n"), r"it begins with '\n', which is text"),
    "bytes that are no text": (writing("\x01\x02"), r"it begins with b'\x01\x02', which is no part of a message"),
    "six bytes and no answer": ("print('ready')", r"with exit status 0; it wrote as its answer 'ready\n'"),
    "a big-endian length": (
        RIGHT.replace('struct.pack("<Q"', 'struct.pack(">Q"'),
        "in big-endian order; lengths and elements are little-endian",
    ),
    "a header that is none": (RIGHT.replace("text, *parts", "b'[]', *parts"), "its header begins with '[]', not with {"),
}


@pytest.mark.parametrize("what", WRITTEN)
def test_what_is_no_answer_is_shown(what: str, tmp_path: Path) -> None:
    code, sentence = WRITTEN[what]
    assert code != RIGHT
    assert sentence in refuse(tmp_path, code, 60)


PRINTED = {
    "one line": ("sys.stderr.write('no device\\n')", "; it printed 'no device'"),
    "two lines": (
        "sys.stderr.write('panic: no device\\n\\nnote: see the log\\n')",
        "; it printed first 'panic: no device'; it printed last 'note: see the log'",
    ),
    "a traceback": (
        "def load():\n    raise ValueError('no weights')\nload()",
        "; it printed first 'File \"server.py\", line 4, in <module>'; it printed last 'ValueError: no weights'",
    ),
    "more lines than are kept": (
        "[print(n, 'of', 50000, file=sys.stderr) for n in range(50000)]",
        "; it printed first '0 of 50000'; it printed last '49999 of 50000'",
    ),
}


@pytest.mark.parametrize("what", PRINTED)
def test_the_first_and_the_last_line_of_the_output_are_shown(what: str, tmp_path: Path) -> None:
    code, sentence = PRINTED[what]
    refused = refuse(tmp_path, f"import sys\n{code}\nsys.exit(3)", 60)
    assert refused.replace(f"{tmp_path}/", "").endswith(f"with exit status {1 if what == 'a traceback' else 3}{sentence}")


@pytest.mark.parametrize("text", [b"", b"1", b"done", b"loading the model ...\n", b"\x00\xff"])
def test_what_stands_before_a_message_is_found(text: bytes) -> None:
    header = b'{"__metadata__":{}}     '
    assert find_stray(text + len(header).to_bytes(8, "little") + header) == text
