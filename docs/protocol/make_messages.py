"""Write the messages that docs/protocol.md publishes: requests and answers as bytes, right and malformed, and what each means.

    python docs/protocol/make_messages.py

The bytes are put together here by hand, with the standard library alone, so that they test every reader of the format.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

# what a server need not notice
LENIENT = {"leading_blank", "metadata_no_text", "name_twice", "number_too_long", "hole", "overlap"}
FOLDER = Path(__file__).parent / "messages"
DTYPES = {  # and their letters in `struct`
    "F64": "d", "F32": "f", "F16": "e", "BF16": "H", "I64": "q", "I32": "i", "U32": "I", "BOOL": "?", "I8": "b", "U8": "B",
}  # fmt: skip
Array = tuple[str, list[int], list[Any]]  # dtype, shape, elements; of BF16 the elements are 16-bit patterns

ONES = ("F32", [2], [1.0, 1.0])
WEIGHTS = {
    name: ("F32", shape, [0.0] * (shape[0] * shape[-1] if len(shape) > 1 else shape[0]))
    for name, shape in {
        "weights.token_embedding": [3, 2], "weights.layers.0.attn_norm": [2], "weights.layers.0.w_q": [2, 2],
        "weights.layers.0.w_k": [2, 2], "weights.layers.0.w_v": [2, 2], "weights.layers.0.w_o": [2, 2],
        "weights.layers.0.ffn_norm": [2], "weights.layers.0.w1": [4, 2], "weights.layers.0.w2": [2, 4],
        "weights.layers.0.w3": [4, 2], "weights.final_norm": [2], "weights.lm_head": [3, 2],
    }.items()
}  # fmt: skip
DESCRIPTION = {
    "protocol": 1,
    "name": "example",
    "version": "1.0",
    "dtypes": ["float32", "bfloat16"],
    "integer": "int32",
    "operations": {
        "softmax": {"arrays": ["x"], "keywords": ["axis"]},
        "linear": {"arrays": ["x", "weight"], "optional": ["bias"]},
    },
    "domain": {"softmax": {"axis": [-1], "n": {"range": [1, 4097]}, "empty": False}},
    "conventions": {"fully_masked_rows": "zero"},
    "precision": {"softmax": "fused"},
}


def pack(metadata: dict[str, str] | None, arrays: dict[str, Array] | None = None, order: tuple[str, ...] = ()) -> bytes:
    """Return a message. `order` names the arrays in the order in which their bytes follow one another."""
    parts: dict[str, bytes] = {}
    for name in order or tuple(arrays or {}):
        dtype, _, elements = (arrays or {})[name]
        parts[name] = struct.pack(f"<{len(elements)}{DTYPES[dtype]}", *elements)
    starts = {name: sum(map(len, list(parts.values())[:place])) for place, name in enumerate(parts)}
    described = {
        name: {"dtype": dtype, "shape": shape, "data_offsets": [starts[name], starts[name] + len(parts[name])]}
        for name, (dtype, shape, _) in (arrays or {}).items()
    }
    return frame({**({} if metadata is None else {"__metadata__": metadata}), **described}, b"".join(parts.values()))


def frame(header: Any, data: bytes = b"") -> bytes:
    """Return the length, the header and the data. A header that is a text is taken as it is."""
    text = (header if isinstance(header, str) else json.dumps(header, separators=(",", ":"))).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def call(operation: str, arrays: dict[str, Array] | None = None, order: tuple[str, ...] = (), **keywords: str) -> bytes:
    return pack({"request": "call", "operation": operation, **keywords}, arrays, order)


X = ("F32", [2, 3], [-1.5, 0.0, 2.0, 3.25, -4.0, 0.5])
RELU_X = ("F32", [2, 3], [0.0, 0.0, 2.0, 3.25, 0.0, 0.5])


def build_requests() -> list[tuple[str, bytes, dict[str, Any]]]:
    """Return the right requests: a name, the bytes, and the answer. Every `result` may also be answered `not_implemented`."""
    x, data = ("F32", [3], [-1.0, 0.0, 2.0]), struct.pack("<3f", -1, 0, 2)
    spaced = (
        '{ "x" : {"shape": [ 3 ],\n"data_offsets" :[0, 12], "dtype":"F32"} ,'
        ' "__metadata__": { "operation": "relu", "request": "call" } }     '
    )
    norm = {"x": ("F32", [1, 4], [1.0, -1.0, 1.0, 1.0]), "weight": ("F32", [4], [2.0, 3.0, 4.0, 5.0])}
    rows = {"x": ("F32", [1, 2], [1.0, 2.0]), "weight": ("F32", [3, 2], [1.0, 0.0, 0.0, 1.0, 1.0, 1.0])}
    bias = {"bias": ("F32", [3], [10.0, 20.0, 30.0])}
    table = {"token_ids": ("I64", [2], [2, 0]), "weight": ("F32", [3, 2], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0])}
    lm = {"token_ids": ("I64", [2], [2, 0]), **WEIGHTS}
    counted = {"d_model": "2", "d_ff": "4", "num_layers": "1", "num_heads": "1", "num_kv_heads": "null", "vocab_size": "3"}

    def result(*array: Any, name: str = "result") -> dict[str, Any]:
        return {"answer": "result", "arrays": {name: array}}

    return [
        ("describe", pack({"request": "describe"}), {"answer": "describe"}),
        ("relu", call("relu", {"x": X}), result(*RELU_X)),
        ("relu_of_a_scalar", call("relu", {"x": ("F32", [], [-1.0])}), result("F32", [], [0.0])),
        ("relu_of_nothing", call("relu", {"x": ("F32", [0, 3], [])}), result("F32", [0, 3], [])),
        ("relu_header_in_another_order", frame(spaced, data), result("F32", [3], [0.0, 0.0, 2.0])),
        ("relu_float64", call("relu", {"x": ("F64", [2], [-1.0, 0.1])}), result("F64", [2], [0.0, 0.1])),
        ("relu_float16", call("relu", {"x": ("F16", [2], [-1.0, 0.5])}), result("F16", [2], [0.0, 0.5])),
        ("relu_bfloat16", call("relu", {"x": ("BF16", [2], [0xBF80, 0x3F00])}), result("BF16", [2], [0x0000, 0x3F00])),
        ("softmax_keyword", call("softmax", {"x": ("F32", [1, 4], [7.0] * 4)}, axis="-1"), result("F32", [1, 4], [0.25] * 4)),
        ("rms_norm_weight_stored_first", call("rms_norm", norm, ("weight", "x"), eps="0.0"),
         result("F32", [1, 4], [2.0, -3.0, 4.0, 5.0])),
        ("linear", call("linear", rows), result("F32", [1, 3], [1.0, 2.0, 3.0])),
        ("linear_optional_bias", call("linear", {**rows, **bias}), result("F32", [1, 3], [11.0, 22.0, 33.0])),
        ("embedding", call("embedding", table), result("F32", [2, 2], [4.0, 5.0, 0.0, 1.0])),
        ("causal_mask", call("causal_mask", n="2", m="null", aligned="bottom-right"),
         result("BOOL", [2, 2], [True, False, True, True])),
        ("parameter_count", call("parameter_count", **counted, style="decoder"), {"answer": "value", "value": "58"}),
        ("relu_vjp", call("relu_vjp", {"cotangent": ("F32", [3], [5.0, 6.0, 7.0]), "x": ("F32", [3], [-1.0, 1.0, 2.0])}),
         result("F32", [3], [0.0, 6.0, 7.0], name="x")),
        ("transformer_lm_nested_weights",
         call("transformer_lm", lm, num_heads="1", num_kv_heads="null", theta="10000.0", layout="interleaved", eps="1e-05"),
         result("F32", [2, 3], [0.0] * 6)),
        ("unknown_operation", call("no_such_operation", {"x": x}), {"answer": "not_implemented"}),
        ("unknown_request", pack({"request": "sing"}), {"answer": "error"}),
        ("quit", pack({"request": "quit"}), {"answer": "empty"}),
    ]  # fmt: skip


def break_header(**changes: Any) -> dict[str, Any]:
    x = {"dtype": "F32", "shape": [3], "data_offsets": [0, 12]}
    return {"__metadata__": {"request": "call", "operation": "relu"}, "x": {**x, **changes}}


def build_malformed(metadata: dict[str, str], name: str) -> list[tuple[str, bytes, str]]:
    """Return messages that no side may send, as requests and as answers: a name, the bytes, and what is wrong."""
    data, head = struct.pack("<3f", 1, 2, 3), {"__metadata__": metadata}
    x = {"dtype": "F32", "shape": [3], "data_offsets": [0, 12]}

    def one(**changes: Any) -> dict[str, Any]:
        return {**head, name: {**x, **changes}}

    right = frame(one(), data)
    twice = json.dumps(one())[:-1] + f', "{name}": {json.dumps(x)}}}'
    return [
        ("length_cut_off", right[:5], "it ends in the length of its header"),
        ("header_cut_off", right[:20], "it ends in its header"),
        ("data_cut_off", right[:-5], "it ends in its arrays"),
        ("length_too_large", struct.pack("<Q", 1 << 62) + right[8:], "its header has more than 1 MiB"),
        ("no_json", frame("{no json"), "its header is not JSON"),
        ("no_object", frame("[1, 2]"), "its header is not an object"),
        ("leading_blank", frame(" " + json.dumps(one()), data), "its header does not begin with {"),
        ("nested_too_deep", frame('{"__metadata__":' + "[" * 20000 + "]" * 20000 + "}"), "its header is nested too deep"),
        ("number_too_long", frame(json.dumps(one()).replace("[3]", f"[{'9' * 4000}]"), data), "a number has 4000 digits"),
        ("metadata_no_text", frame({"__metadata__": {**metadata, "eps": 1e-5}, name: x}, data), "an entry is not a text"),
        ("name_twice", frame(twice, data), "a name occurs twice"),
        ("dtype_unknown", frame(one(dtype="F24"), data), "its dtype is none of the format"),
        ("dtype_not_in_the_protocol", frame(one(dtype="F8_E4M3"), data), "its dtype is none of the protocol"),
        ("shape_negative", frame(one(shape=[-3, -1]), data), "a size is negative"),
        ("shape_too_large", frame(one(shape=[1 << 62, 1 << 62]), data), "the sizes overflow"),
        ("shape_and_bytes_differ", frame(one(shape=[4]), data), "the offsets do not fit the shape"),
        ("offsets_reversed", frame(one(data_offsets=[12, 0]), data), "the array ends before it begins"),
        ("hole", frame(one(data_offsets=[4, 16]), b"\0" * 4 + data), "bytes belong to no array"),
        ("overlap", frame({**one(), "y": {**x, "data_offsets": [4, 16]}}, data + b"\0" * 4), "bytes belong to two arrays"),
        ("field_missing", frame({**head, name: {"dtype": "F32", "shape": [3]}}, data), "an array has no offsets"),
    ]  # fmt: skip


def build_answers() -> list[tuple[str, bytes, dict[str, Any]]]:
    """Return right answers: a name, the bytes, and what they mean."""
    y = ("F32", [2, 2], [0.5, -0.0, 2.0**100, -3.0])
    several = {"values": ("F32", [2], [3.0, 2.0]), "indices": ("I64", [2], [1, 0])}
    codes = {"result": ("U8", [2, 2], [0, 127, 128, 255]), "zero_point": ("I8", [2], [-128, 127])}
    narrow = {"result": ("BF16", [2], [0x3F80, 0xC000])}
    return [
        ("description", pack({"describe": json.dumps(DESCRIPTION)}), {"describe": DESCRIPTION}),
        ("result", pack({}, {"result": y}), {"arrays": {"result": y}}),
        ("result_without_metadata", pack(None, {"result": ONES}), {"arrays": {"result": ONES}}),
        ("result_and_a_note", pack({"note": "ignored"}, {"result": ONES}), {"arrays": {"result": ONES}}),
        ("result_bfloat16", pack({}, narrow), {"arrays": narrow}),
        ("result_bool", pack({}, {"result": ("BOOL", [2], [True, False])}), {"arrays": {"result": ("BOOL", [2], [True, False])}}),
        ("result_codes", pack({}, codes), {"arrays": codes}),
        ("result_empty", pack({}, {"result": ("F32", [0, 4], [])}), {"arrays": {"result": ("F32", [0, 4], [])}}),
        ("several_results", pack({}, several, ("indices", "values")), {"arrays": several}),
        ("gradients", pack({}, {"x": ONES, "weight": ONES}), {"arrays": {"x": ONES, "weight": ONES}}),
        ("value", pack({"value": "58"}), {"value": 58}),
        ("not_implemented", pack({"not_implemented": "no bias"}), {"not_implemented": "no bias"}),
        ("error", pack({"error": "ValueError: d must be even"}), {"error": "ValueError: d must be even", "lost": False}),
        ("error_lost", pack({"error": "the device is gone", "lost": "true"}), {"error": "the device is gone", "lost": True}),
        ("empty", pack({}), {"arrays": {}}),
    ]


def build_malformed_answers() -> list[tuple[str, bytes, str]]:
    return [
        *build_malformed({}, "result"),
        ("text_on_standard_output", b"loading the model ...\n", "text was printed to standard output"),
        ("result_and_error", pack({"error": "?"}, {"result": ONES}), "it holds an array and an error"),
        ("error_and_value", pack({"error": "?", "value": "1"}), "it holds an error and a value"),
        ("value_no_json", pack({"value": "five"}), "its value is not JSON"),
        ("value_no_integer", pack({"value": "[1]"}), "its value is not an integer"),
    ]


def write() -> None:
    """Write the messages and messages.json, which says what each means."""
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.iterdir():
        path.unlink()
    index: dict[str, list[dict[str, Any]]] = {"requests": [], "answers": []}
    named: dict[str, Any] = {"requests": (build_requests, lambda: build_malformed({"request": "call", "operation": "relu"}, "x")),
                             "answers": (build_answers, build_malformed_answers)}  # fmt: skip
    for kind, (right, malformed) in named.items():
        for name, message, meaning in right():
            file = f"{kind[:-1]}_{name}.safetensors"
            index[kind].append({"file": file, "bytes": len(message), **meaning})
            (FOLDER / file).write_bytes(message)
        for name, message, wrong in malformed():
            file = f"{kind[:-1]}_{name}.malformed"
            may_pass = {"lenient": True} if kind == "requests" and name in LENIENT else {}
            index[kind].append({"file": file, "bytes": len(message), "malformed": wrong, **may_pass})
            (FOLDER / file).write_bytes(message)
    lines = ",\n".join(
        f' "{kind}": [\n' + ",\n".join("  " + json.dumps(entry) for entry in entries) + "\n ]" for kind, entries in index.items()
    )
    (FOLDER.parent / "messages.json").write_text(f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    write()
