"""Deselect every law of an operation, in a run of the whole suite."""


def pytest_collection_modifyitems(config, items):
    removed = [item for item in items if "relu" in item.nodeid]
    items[:] = [item for item in items if item not in removed]
    config.hook.pytest_deselected(items=removed)
