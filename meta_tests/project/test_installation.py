"""The line that installs an optional dependency works from a checkout, from a wheel, and from an index."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from spec_tests.specification import installation


@pytest.mark.parametrize(
    ("origin", "line"),
    [
        ({"url": "file:///home/me/spec%20tests", "dir_info": {"editable": True}}, "pip install -e '/home/me/spec tests[report]'"),
        ({"url": "file:///home/me/suite", "dir_info": {}}, "pip install '/home/me/suite[report]'"),
        ({"url": "file:///tmp/suite.whl", "archive_info": {}}, "pip install '/tmp/suite.whl[report]'"),
        (None, "pip install 'spec-tests[report]'"),
    ],
)
def test_the_line_names_where_the_suite_was_installed_from(origin: Any, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps(origin) if origin else None
    monkeypatch.setattr(installation, "distribution", lambda name: SimpleNamespace(read_text=lambda file: text))
    assert installation.install_line("report") == line
