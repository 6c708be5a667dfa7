"""Sphinx builds the pages from Markdown; every warning is an error (sphinx-build -W)."""

import spec_tests

project = "spec_tests"
author = "the spec_tests authors"
version = release = spec_tests.__version__
extensions = ["myst_parser"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"spec_tests {release}"
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
