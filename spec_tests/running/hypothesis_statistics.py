"""Let --hypothesis-show-statistics show the laws, which Hypothesis's own plugin does for functions with @given alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def shown_statistics(item: pytest.Function) -> Iterator[None]:
    """Give the item the statistics of the runs of Hypothesis's engine within the block. Its plugin prints them."""
    if not item.config.getoption("hypothesis_show_statistics", False):
        yield
        return
    from hypothesis.statistics import collector, describe_statistics

    texts: list[str] = []

    def describe(statistics: Any) -> None:
        if any(key.endswith("-phase") for key in statistics):
            statistics["nodeid"] = item.nodeid
            texts.append(describe_statistics(statistics))

    try:
        with collector.with_value(describe):  # type: ignore[arg-type]
            yield
    finally:
        if texts:
            item.hypothesis_statistics = "\n".join(texts)  # type: ignore[attr-defined]
