"""Make a plain checkout work as the installed suite does. Nothing else belongs here."""

from typing import Any

from spec_tests.running import options

pytest_plugins = ["spec_tests.plugin"]


def pytest_addoption(parser: Any) -> None:
    options.add_short_spellings(parser)
