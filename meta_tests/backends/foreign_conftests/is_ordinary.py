"""Use fixtures, marks and hooks that change no outcome, as many projects do."""

import pytest


@pytest.fixture(autouse=True)
def quick(monkeypatch, tmp_path):
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True, scope="session")
def once():
    return 1


def pytest_collection_modifyitems(items):
    items.reverse()
    for item in items:
        item.add_marker("fast")


def pytest_configure(config):
    config.addinivalue_line("markers", "fast: all")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    report.sections.append(("seen", "by another"))
    return report
