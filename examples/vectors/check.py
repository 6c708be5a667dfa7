"""Check a function against a file of test vectors, with Python's standard library alone: python check.py softmax.safetensors"""

import array
import json
import math
import struct
import sys

LETTERS = {"F64": "d", "F32": "f", "I64": "q", "I32": "i", "BOOL": "B"}  # arrays in 16 bits are left out


def softmax(x, width):  # the function to check: replace it by your own
    rows = [x[i : i + width] for i in range(0, len(x), width)]
    return [v for row in rows for v in exponentials(row)]


def exponentials(row):
    largest = max(row)
    e = [math.exp(v - largest) for v in row]
    total = sum(e)
    return [v / total for v in e]


def read(path):
    """Return the metadata, and for each array its dtype, its shape and its elements."""
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(size)), file.read()
    metadata, arrays = header.pop("__metadata__"), {}
    for name, x in header.items():
        start, end = x["data_offsets"]
        elements = array.array(LETTERS[x["dtype"]], data[start:end]) if x["dtype"] in LETTERS else None
        arrays[name] = (x["dtype"], x["shape"], elements)
    return metadata, arrays


def main(path):
    metadata, arrays = read(path)
    checked = failed = 0
    for number in range(int(metadata["count"])):
        about = {key.partition(".")[2]: text for key, text in metadata.items() if key.startswith(f"{number}.")}
        _, shape, x = arrays[f"{number}.x"]
        _, _, low = arrays[f"{number}.low"]
        _, _, high = arrays[f"{number}.high"]
        if about["dtype"] != "float32" or int(about["keywords.axis"]) not in (-1, len(shape) - 1):
            continue  # the function has the last axis alone, and float32
        y, checked = array.array("f", softmax(x, shape[-1])), checked + 1
        # no claim is made where low is -inf and high is inf; a NaN is wrong everywhere else
        wrong = [i for i in range(len(y)) if not low[i] <= y[i] <= high[i] and high[i] - low[i] != math.inf]
        if len(y) != len(low) or wrong:
            failed += 1
            i = wrong[0] if wrong else 0
            print(f"vector {number}, law {about['law']}: element {i} is {y[i]!r}, not in [{low[i]!r}, {high[i]!r}]")
            print(f"  so do: {about.get('catches') or 'no known bugs'}")
    print(f"{metadata['operation']}: {checked} of {metadata['count']} vectors checked, {failed} failed")
    return 1 if failed else 0


sys.exit(main(sys.argv[1]))
