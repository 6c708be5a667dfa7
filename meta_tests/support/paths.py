"""Folders of the checkout."""

import os
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
KEPT_VARIABLE = "SPEC_TESTS_MEASURED"  # a folder that takes the place of docs/measured, until a measurement is complete
# What the commands in meta_tests/measure and benchmarks write; its README lists the files.
MEASURED = Path(os.environ.get(KEPT_VARIABLE, DOCS / "measured"))
BACKENDS = ROOT / "meta_tests" / "backends"  # example backends, right and wrong
