"""Sphinx builds the pages from Markdown; every warning is an error (sphinx-build -W)."""

import re
import sys
from pathlib import Path

import spec_tests

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_extensions"), str(HERE.parent)]  # the extensions; meta_tests, for their random calls
CITATION = dict(re.findall(r"^([\w-]+): (.+)$", (HERE.parent / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE))
project = "spec_tests"
author = "the spec_tests authors"
project_copyright = author
version = release = spec_tests.__version__
extensions = [
    "myst_parser",
    "operation_pages",
    "folded_sections",
    "mathematics",
    "pictures",
    "conformance_grid",
    "measured_tables",
    "breaking_names",
    "navigation",
    "search_words",
    "glossary_links",
]
exclude_patterns = ["_build", "_extensions", "_templates", "pictures", "proofs"]
html_theme = "furo"
html_title = f"spec_tests {release}"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = [("cut_blocks.js", {"defer": "defer"})]
templates_path = ["_templates"]  # the footer of every page
html_extra_path = ["../CITATION.cff", "../LICENSE"]
html_context = {"author": author, "citation": {name: CITATION[name].strip('"') for name in ("title", "version", "license")}}
myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3
