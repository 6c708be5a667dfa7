"""Folders of the checkout."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MEASURED = DOCS / "measured"  # what the commands in meta_tests/measure and benchmarks write; its README lists the files
BACKENDS = ROOT / "meta_tests" / "backends"  # example backends, right and wrong
