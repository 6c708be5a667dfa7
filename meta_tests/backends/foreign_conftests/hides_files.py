"""Hide the files of the laws of an operation from pytest, in a run of the whole suite."""


def pytest_ignore_collect(collection_path):
    return True if "relu" in collection_path.name or "every" in collection_path.name else None
