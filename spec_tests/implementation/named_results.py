"""The results of an operation that has several, by name, whether they come as a tuple, as a named tuple or as a dict."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any


def name_results(names: Collection[str], result: Any) -> dict[str, Any]:
    """Return each result under its name: of a dict those with these names, otherwise all of them, in order.

    Raise ValueError, whose text is one sentence, if the results are not all there.
    """
    expected = f"{', '.join([*names][:-1])} and {[*names][-1]}"
    if not isinstance(result, dict | list | tuple):
        raise ValueError(f"the result is one object of type {type(result).__name__}; expected {expected}")
    if isinstance(result, dict) and any(name in result for name in names):
        if absent := [name for name in names if name not in result]:
            raise ValueError(f"the results are named {', '.join(map(str, result))}; there is no {absent[0]}")
        return {name: result[name] for name in names}
    if len(result) != len(names):
        raise ValueError(f"there are {len(result)} results; expected {expected}")
    return dict(zip(names, result.values() if isinstance(result, dict) else result, strict=True))
