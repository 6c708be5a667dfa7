"""A server of version 1 of the process protocol, written from the page of 0.1.0 alone. It must go on working as it is.

It takes everything that the page of that version has, and answers `error` to a request that has anything else.
"""

import json
import os
import struct
import sys

import numpy as np

DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "BOOL": "?"}
NAMES = {"<f8": "F64", "<f4": "F32", "|b1": "BOOL"}
OPERATIONS = {
    "softmax": {"arrays": ["x"], "keywords": ["axis"]},
    "rms_norm": {"arrays": ["x", "weight"], "keywords": ["eps"]},
    "linear": {"arrays": ["x", "weight"], "optional": ["bias"]},
    "embedding": {"arrays": ["token_ids", "weight"]},
    "causal_mask": {"keywords": ["n", "m", "aligned"]},
    "relu": {"arrays": ["x"]},
    "relu_vjp": {"arrays": ["cotangent", "x"]},
    "add_rms_norm": {"arrays": ["x", "residual", "weight"], "keywords": ["eps"]},
    "gelu": {"arrays": ["x"], "keywords": ["approximate"]},
    "parameter_count": {
        "keywords": ["d_model", "d_ff", "num_layers", "num_heads", "num_kv_heads", "vocab_size", "style"],
    },
}
DESCRIPTION = {
    "protocol": 1, "name": "version-1", "version": "1", "device": "somewhere",
    "dtypes": ["float64", "float32"], "integer": "int32",
    "operations": OPERATIONS,
    "domain": {"softmax": {"axis": [-1]}, "rms_norm": {"d": {"range": [1, 4097]}}},
    "conventions": {"causal_alignment": "bottom-right"},
    "precision": {"softmax": "eager"},
}  # fmt: skip


def rms_norm(x, weight, eps):
    return (x / np.sqrt(np.mean(x.astype(np.float64) ** 2, axis=-1, keepdims=True) + eps) * weight).astype(x.dtype)


def softmax(x, axis):
    e = np.exp(x - x.max(axis=axis, keepdims=True)) if x.size else x
    return e / e.sum(axis=axis, keepdims=True)


def call(operation, arrays, keywords):
    x = arrays.get("x")
    if operation == "relu":
        return {"result": np.where(x < 0, x.dtype.type(0), x)}
    if operation == "relu_vjp":
        return {"x": np.where(x > 0, arrays["cotangent"], x.dtype.type(0))}
    if operation == "softmax":
        return {"result": softmax(x, int(keywords["axis"]))}
    if operation == "rms_norm":
        return {"result": rms_norm(x, arrays["weight"], float(keywords["eps"]))}
    if operation == "add_rms_norm":
        total = x + arrays["residual"]
        return {"y": rms_norm(total, arrays["weight"], float(keywords["eps"])), "residual": total}
    if operation == "linear":
        product = x @ arrays["weight"].T
        return {"result": product + arrays["bias"] if "bias" in arrays else product}
    if operation == "embedding":
        return {"result": arrays["weight"][arrays["token_ids"]]}
    if operation == "causal_mask":
        n = int(keywords["n"])
        m = n if keywords["m"] == "null" else int(keywords["m"])
        offset = m - n if keywords["aligned"] == "bottom-right" else 0
        return {"result": np.arange(m)[None, :] <= np.arange(n)[:, None] + offset}
    return None


def receive(channel):
    length = channel.read(8)
    if not length:
        return None
    header = json.loads(channel.read(*struct.unpack("<Q", length)))
    metadata = header.pop("__metadata__")
    data = channel.read(max((entry["data_offsets"][1] for entry in header.values()), default=0))
    arrays = {}
    for name, entry in header.items():
        start, end = entry["data_offsets"]
        arrays[name] = np.frombuffer(data[start:end], DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return metadata, arrays


def pack(metadata, results):
    header, parts, start = {"__metadata__": {**metadata, "a note": "which the suite ignores"}}, [], 0
    for name, x in results.items():
        x = np.ascontiguousarray(x).reshape(x.shape)
        parts.append(x.tobytes())
        header[name] = {"shape": list(x.shape), "dtype": NAMES[x.dtype.str], "data_offsets": [start, start + x.nbytes]}
        start += x.nbytes
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + b"".join(parts)


def answer(metadata, arrays):
    request, operation = metadata.get("request"), metadata.get("operation")
    if request == "describe" and len(metadata) == 1 and not arrays:
        return pack({"describe": json.dumps(DESCRIPTION)}, {})
    if request == "quit" and len(metadata) == 1:
        return pack({}, {})
    keywords = {name: text for name, text in metadata.items() if name not in ("request", "operation")}
    takes = OPERATIONS.get(operation, {})
    expected = [*takes.get("arrays", []), *(name for name in takes.get("optional", []) if name in arrays)]
    if request != "call" or sorted(keywords) != sorted(takes.get("keywords", [])) or sorted(arrays) != sorted(expected):
        return pack({"error": f"unknown to version 1: {request} {operation} {sorted(keywords)} {sorted(arrays)}"}, {})
    if operation == "parameter_count":
        if keywords["style"] != "decoder":
            return pack({"not_implemented": "other than a decoder"}, {})
        d, d_ff, layers, vocabulary, heads = (
            int(keywords[name]) for name in ("d_model", "d_ff", "num_layers", "vocab_size", "num_heads")
        )
        kv_heads = heads if keywords["num_kv_heads"] == "null" else int(keywords["num_kv_heads"])
        block = 2 * d + 2 * d * d + 2 * d * (d // heads) * kv_heads + 3 * d * d_ff
        return pack({"value": str(layers * block + 2 * vocabulary * d + d)}, {})
    results = call(operation, arrays, keywords)
    return pack({"not_implemented": "no such operation"} if results is None else {}, results or {})


channel = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)
while (request := receive(sys.stdin.buffer)) is not None:
    channel.write(answer(*request))
    channel.flush()
    if request[0].get("request") == "quit":
        break
