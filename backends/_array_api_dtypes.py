"""How array_api computes on 16-bit arrays: in float32 up to the result."""

import functools

from array_api_compat import array_namespace


def _arrays(tree):
    if isinstance(tree, dict | list | tuple):
        for part in tree.values() if isinstance(tree, dict) else tree:
            yield from _arrays(part)
    elif hasattr(tree, "dtype"):
        yield tree


def _floating(x):
    return hasattr(x, "dtype") and array_namespace(x).isdtype(x.dtype, "real floating")


def _widened(tree):
    if isinstance(tree, dict):
        return {name: _widened(part) for name, part in tree.items()}
    if isinstance(tree, list | tuple):
        return [_widened(part) for part in tree]
    if _floating(tree) and (xp := array_namespace(tree)).finfo(tree.dtype).bits < 32:
        return xp.astype(tree, xp.float32)
    return tree


def in_float32(operation):
    """16-bit arrays in float32 up to the result, which takes the dtype of the first floating argument."""

    @functools.wraps(operation)
    def wrapper(*arrays, **keywords):
        first = next(x for x in _arrays([arrays, keywords]) if _floating(x))
        return array_namespace(first).astype(operation(*_widened(arrays), **_widened(keywords)), first.dtype)

    return wrapper
