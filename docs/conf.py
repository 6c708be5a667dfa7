"""Sphinx builds the pages from Markdown; every warning is an error (sphinx-build -W)."""

import sys
from pathlib import Path

import spec_tests

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))
project = "spec_tests"
author = "the spec_tests authors"
version = release = spec_tests.__version__
extensions = ["myst_parser", "operation_pages"]
exclude_patterns = ["_build", "_extensions"]
html_theme = "furo"
html_title = f"spec_tests {release}"
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
