"""Mark the laws of an operation as skipped."""

import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        if "relu" in item.nodeid:
            item.add_marker(pytest.mark.skip(reason="not today"))
