"""A server of the process protocol with the standard library alone, whose sigmoid fails in the way that its argument names.

Its relu is right. `server_*.toml` start it, each with a fault of its own.
"""

import array
import json
import math
import mmap
import os
import struct
import sys
import time

LETTERS = {"F64": "d", "F32": "f"}
DESCRIPTION = {"protocol": 1, "name": "broken", "dtypes": ["float32"]}
CODES = "\x1b[2J\x1b]0;title\x07\n::error::all is well\n"
PLACE = b'{"result": {"dtype": "F32", "shape": %s, "data_offsets": %s}}'
OVERLAPPING = b'{"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}'
OPERATIONS = {"sigmoid": {"arrays": ["x"]}, "relu": {"arrays": ["x"]}}


def receive():
    """Return the metadata and the array of a request, or None at the end of the input."""
    length = sys.stdin.buffer.read(8)
    if not length:
        return None
    header = json.loads(sys.stdin.buffer.read(struct.unpack("<Q", length)[0]))
    metadata = header.pop("__metadata__")
    x = header.get("x")
    if x:
        x["data"] = array.array(LETTERS[x["dtype"]], sys.stdin.buffer.read(x["data_offsets"][1]))
    return metadata, x


def pack(metadata, **arrays):
    """Return the bytes of an answer."""
    data = b"".join(x["data"].tobytes() for x in arrays.values())
    header = {name: {"dtype": x["dtype"], "shape": x["shape"], "data_offsets": [0, len(data)]} for name, x in arrays.items()}
    return put_header(json.dumps({"__metadata__": metadata, **header}).encode()) + data


def put_header(text):
    return struct.pack("<Q", len(text)) + text


def logistic(value):
    return 1 / (1 + math.exp(-value)) if value > -700 else math.exp(value)


def compute(function, x):
    return {**x, "data": array.array(x["data"].typecode, map(function, x["data"]))}


def answer_sigmoid(fault, x):
    """Return the bytes of the answer with its fault."""
    right = compute(logistic, x)
    answer = pack({}, result=right)
    if fault in ("dies", "describes_itself_anew"):
        os._exit(0)
    if fault == "dies_in_an_answer":
        os.write(1, answer[: len(answer) // 2])
        os._exit(0)
    if fault == "hangs":
        time.sleep(600)
    if fault == "trickles":
        for byte in answer:
            os.write(1, bytes([byte]))
            time.sleep(0.2)
    if fault == "fills_standard_error":
        os.write(2, b"loading weights ...\n" * (1 << 20))
    if fault == "prints_terminal_codes":
        os.write(2, CODES.encode())
    if fault == "allocates_without_end":
        kept = []
        while True:
            kept.append(mmap.mmap(-1, 1 << 24, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))  # which takes no time
    answers = {
        "prints": b"loading weights ...\n" + answer,
        "sends_half": answer[:-1],
        "sends_a_header_without_end": struct.pack("<Q", 1 << 62) + answer[8:],
        "sends_no_json": answer[:8] + answer[8:].replace(b'":', b'";'),
        "answers_nothing": pack({}),
        "answers_another_shape": pack({}, result={**right, "shape": [1, *x["shape"]]}),
        "answers_more_than_it_sends": pack({}, result={**right, "shape": [2, *x["shape"]]}),
        "answers_with_its_argument": pack({}, result=x),
        "answers_twice": 2 * answer,
        "answers_in_another_dtype": pack({}, result={**right, "dtype": "F64", "data": array.array("d", right["data"])}),
        "answers_with_a_number": pack({"value": "7"}),
        "sends_long_numbers": put_header(b'{"result": {"dtype": "F32", "shape": [%s], "data_offsets": [0, 4]}}' % (b"9" * 4000)),
        "sends_deep_nesting": put_header(b'{"__metadata__": ' + b"[" * 10_000 + b"]" * 10_000 + b"}"),
        "sends_overlapping_arrays": put_header(b'{"result": %s, "y": %s}' % (OVERLAPPING, OVERLAPPING)) + bytes(4),
        "sends_fractions_of_axes": put_header(PLACE % (b"[1.0, true]", b"[0, 4]")) + bytes(4),
        "sends_negative_axes": put_header(PLACE % (b"[-1, -1]", b"[0, 4]")) + bytes(4),
        "sends_offsets_that_are_no_numbers": put_header(PLACE % (b"[1]", b"[NaN, Infinity]")),
        "sends_a_name_twice": put_header(b'{"result": %s, "result": %s}' % (OVERLAPPING, OVERLAPPING)) + bytes(4),
        "sends_half_of_a_character": put_header(b'{"__metadata__": {"error": "\\ud800"}}'),
        "sends_text_of_another_encoding": put_header('{"__metadata__": {"error": "\u00e9"}}'.encode("latin-1")),
        "fills_standard_error": pack({}, result=x),
        "prints_terminal_codes": pack({"error": CODES}),
        "raises_text_without_end": pack({"error": "out of memory " * 36_000}),
        "refuses_everything": pack({"not_implemented": "not today"}),
        "says_that_it_is_lost": pack({"error": "the device is gone", "lost": "true"}),
    }
    return answers[fault]


def describe(fault):
    if fault == "never_describes_itself":
        time.sleep(600)
    changes = {
        "describes_what_is_not": {"operations": {"sigmoid": {"arrays": ["x", "slope"]}}},
        "describes_no_sigmoid": {"operations": {"relu": {"arrays": ["x"]}}},
        "describes_itself_anew": {"version": str(os.getpid())},
        "states_an_empty_domain": {"domain": {"sigmoid": {"d": {"range": [1, 1]}}}},
    }
    return pack({"describe": json.dumps({**DESCRIPTION, "operations": OPERATIONS, **changes.get(fault, {})})})


def main(fault):
    while (request := receive()) is not None:
        metadata, x = request
        if metadata["request"] == "describe":
            answer = describe(fault)
        elif metadata["request"] == "quit":
            answer = pack({})
        elif metadata["operation"] == "sigmoid":
            answer = answer_sigmoid(fault, x)
        else:
            answer = pack({}, result=compute(lambda value: value if value > 0 or value != value else 0.0, x))
        sys.stdout.buffer.write(answer)
        sys.stdout.buffer.flush()


main(sys.argv[1])
