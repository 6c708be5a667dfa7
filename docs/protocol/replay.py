"""Send the published messages to a server, and check its answers. Python's standard library is all that this needs.

    python replay.py COMMAND [ARGUMENT …]

The right requests are sent to one process, one after another, and each malformed one to a process of its own. One line is printed
for each request that is not answered as docs/protocol.md says, and the exit status is then 1.
"""

from __future__ import annotations

import json
import math
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "U32": 4, "BOOL": 1, "I8": 1, "U8": 1}
LETTERS = {"F64": "d", "F32": "f", "F16": "e", "BF16": "H", "I64": "q", "I32": "i", "U32": "I", "BOOL": "?", "I8": "b", "U8": "B"}
TIMEOUT_SECONDS = 60.0


def split(data: bytes) -> tuple[dict[str, str], dict[str, list[Any]], bytes]:
    """Return the metadata and the arrays of the first message, and the bytes after it. Raise ValueError if it is malformed."""
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    metadata = header.pop("__metadata__", {})
    start, arrays, end = 8 + size, {}, 0
    for name, array in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        (begin, stop), count = array["data_offsets"], math.prod(array["shape"])
        if begin != end or stop - begin != count * SIZES[array["dtype"]]:
            raise ValueError(f"the offsets of {name}")
        elements = struct.unpack(f"<{count}{LETTERS[array['dtype']]}", data[start + begin : start + stop])
        arrays[name], end = [array["dtype"], array["shape"], list(elements)], stop
    return metadata, arrays, data[start + end :]


def find_problem(request: dict[str, Any], metadata: dict[str, str], arrays: dict[str, list[Any]]) -> str:
    """Return what is wrong with the answer to a request, "" if nothing is."""
    kind = next((key for key in ("describe", "value", "not_implemented", "error") if key in metadata), "")
    expected = request["answer"]
    if kind == "describe" and expected == "describe":
        described = json.loads(metadata["describe"])
        missing = {"protocol", "name", "dtypes", "operations"} - described.keys()
        return f"its description lacks {', '.join(sorted(missing))}" if missing else ""
    if expected == "result" and (kind == "not_implemented" or (not kind and arrays == request["arrays"])):
        return ""
    if expected == "value" and (kind == "not_implemented" or metadata.get("value") == request["value"]):
        return ""
    if expected in ("not_implemented", "error") and kind == expected:
        return ""
    return "" if expected == "empty" and not kind and not arrays else f"expected {expected}; it answered {metadata} {arrays}"


def check_right(command: list[str], requests: list[dict[str, Any]]) -> list[str]:
    """Send all right requests to one process, and return what is wrong with its answers."""
    sent = b"".join((FOLDER / "messages" / request["file"]).read_bytes() for request in requests)
    try:
        done = subprocess.run(command, input=sent, stdout=subprocess.PIPE, timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        return [f"it did not answer {len(requests)} requests and end within {TIMEOUT_SECONDS:g} s"]
    except OSError as error:
        sys.exit(f"{command[0]} cannot be started: {error.strerror}")
    problems, rest = [], done.stdout
    for request in requests:
        try:
            metadata, arrays, rest = split(rest)
            problem = find_problem(request, metadata, arrays)
        except (ValueError, LookupError, TypeError, struct.error) as error:
            return [*problems, f"{request['file']}: no answer, or a malformed one ({error})"]
        problems += [f"{request['file']}: {problem}"] if problem else []
    problems += [f"{len(rest)} bytes follow the last answer"] if rest else []
    return [*problems, *([f"after `quit` its exit status is {done.returncode}"] if done.returncode else [])]


def check_malformed(command: list[str], request: dict[str, Any]) -> list[str]:
    """Send one malformed request to a process of its own, and return what is wrong with what it does."""
    message = (FOLDER / "messages" / request["file"]).read_bytes()
    try:
        done = subprocess.run(command, input=message, capture_output=True, timeout=TIMEOUT_SECONDS)
        if done.returncode > 0 and not done.stdout:
            return []
        metadata, arrays, rest = split(done.stdout)
        if not rest and ("error" in metadata or (request.get("lenient") and (arrays or metadata))):
            return []
        what = f"it answered {metadata} {arrays}"
    except subprocess.TimeoutExpired:
        what = f"it did nothing for {TIMEOUT_SECONDS:g} s"
    except (ValueError, LookupError, TypeError, struct.error):
        what = f"its exit status is {done.returncode}, after {len(done.stdout)} bytes"
    return [f"{request['file']}: {request['malformed']}; an error, or a positive exit status, was expected; {what}"]


def main(command: list[str]) -> int:
    requests = json.loads((FOLDER / "messages.json").read_text())["requests"]
    problems = check_right(command, [request for request in requests if "answer" in request])
    for request in [] if problems else requests:  # a server that answers right requests wrongly is mended first
        problems += check_malformed(command, request) if "malformed" in request else []
    print("\n".join(problems) or f"{len(requests)} requests answered as the protocol says")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) if sys.argv[1:] else __doc__)
