"""The process protocol in Python, with the standard library alone, for an environment that must not have the suite in it.

logsumexp is wrong on purpose: the maximum is not subtracted. Try it with

    pytest --pyargs spec_tests --backend="process:other-environment/bin/python server.py"
"""

import array, json, math, os, struct, sys  # noqa: E401, I001

SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "U32": 4, "BOOL": 1, "I8": 1, "U8": 1}
LETTERS = {"F64": "d", "F32": "f", "F16": "H", "BF16": "H", "I64": "q", "I32": "i", "U32": "I", "BOOL": "B", "I8": "b", "U8": "B"}
DESCRIPTION = {
    "protocol": 1, "name": "example-python", "version": sys.version.split()[0], "dtypes": ["float32", "float64"],
    "operations": {"relu": {"arrays": ["x"]}, "rms_norm": {"arrays": ["x", "weight"], "keywords": ["eps"]},
                   "logsumexp": {"arrays": ["x"]}},
}  # fmt: skip


def receive(channel):
    """Return the metadata and the arrays of a request, or None at the end of the input."""
    if not (length := channel.read(8)):
        return None
    (size,) = struct.unpack("<Q", length)
    header = json.loads(channel.read(size)) if size <= 1 << 20 else {"": None}
    metadata = header.pop("__metadata__", {})
    data = channel.read(max((x["data_offsets"][1] for x in header.values()), default=0))
    for x in header.values():
        start, end = x["data_offsets"]
        size = math.prod(x["shape"]) * SIZES[x["dtype"]]
        if not 0 <= start <= end <= len(data) or end - start != size or min(x["shape"], default=0) < 0:
            raise ValueError("offsets that do not fit")
        x["data"] = array.array(LETTERS[x["dtype"]], data[start:end])
    return metadata, header


def pack(metadata, results=None):
    header, parts, start = {"__metadata__": metadata}, [], 0
    for name, x in (results or {}).items():
        parts.append(x["data"].tobytes())
        header[name] = {"dtype": x["dtype"], "shape": x["shape"], "data_offsets": [start, start + len(parts[-1])]}
        start += len(parts[-1])
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([struct.pack("<Q", len(text)), text, *parts])


def relu(arrays, keywords):
    return finish(arrays["x"], [0.0 if v < 0 else v for v in arrays["x"]["data"]])


def rms_norm(arrays, keywords):
    weight, eps = arrays["weight"]["data"], float(keywords["eps"])
    roots = [math.sqrt(sum(v * v for v in row) / len(row) + eps) for row in rows(arrays["x"])]
    scales = [1 / root if root else math.inf for root in roots]
    scaled = zip(rows(arrays["x"]), scales, strict=True)
    return finish(arrays["x"], [v * s * w for row, s in scaled for v, w in zip(row, weight, strict=True)])


def logsumexp(arrays, keywords):  # wrong
    sums = [sum(math.inf if v > 709 else math.exp(v) for v in row) for row in rows(arrays["x"])]
    shape = arrays["x"]["shape"][:-1]
    return finish({**arrays["x"], "shape": shape}, [math.log(s) if s else -math.inf for s in sums])


def rows(x):
    width = x["shape"][-1]
    return [x["data"][i : i + width] for i in range(0, len(x["data"]), width or 1)]


def finish(x, values):
    if x["dtype"] not in ("F32", "F64"):
        raise NotImplementedError(f"arrays of {x['dtype']}")
    return {"result": {**x, "data": array.array(x["data"].typecode, values)}}


FUNCTIONS = {
    "relu": relu,
    "rms_norm": rms_norm,
    "logsumexp": logsumexp,
}


def call(operation, arrays, keywords):
    if operation not in FUNCTIONS:
        raise NotImplementedError(operation)
    return FUNCTIONS[operation](arrays, keywords)


def answer(metadata, arrays):
    request, operation = metadata.pop("request", None), metadata.pop("operation", None)
    if request == "describe":
        return pack({"describe": json.dumps(DESCRIPTION)})
    if request == "quit":
        return pack({})
    if request != "call":
        return pack({"error": f"unknown request {request}"})
    try:
        results = call(operation, arrays, metadata)
    except NotImplementedError as why:
        return pack({"not_implemented": str(why)})
    return pack({"value": str(results)}) if isinstance(results, int) else pack({}, results)


channel = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)  # what print writes goes to standard error
while (request := receive(sys.stdin.buffer)) is not None:
    channel.write(answer(*request))
    channel.flush()
