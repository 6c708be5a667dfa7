"""The pytest plugin: which trials are run, and what becomes of each. Imports nothing heavy until it is used."""

from __future__ import annotations

import atexit
import gc
import json
import re
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .trials.collection import is_law_file

if TYPE_CHECKING:
    from .running.session import Session


SESSION: pytest.StashKey[Session] = pytest.StashKey()

LISTINGS = ("--list-backends", "--list-deviations")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(parser: Any, args: list[str]) -> None:
    if any("spec_tests" in arg or arg in LISTINGS for arg in args):
        from .running import options

        options.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("require_level", None) is None:  # not ours: a run that has nothing to do with this suite
        return
    from .running import xdist_workers

    xdist_workers.share_cores(config)  # before NumPy is imported
    xdist_workers.share_devices(config)
    xdist_workers.stop_on_termination()
    from .running.session import Session

    config.pluginmanager.register(xdist_workers, "spec_tests.workers")
    config.stash[SESSION] = session = Session.of(config)
    if not any(config.getoption(option.lstrip("-").replace("-", "_")) for option in LISTINGS):
        xdist_workers.load(config, session)
        register(config, session)


def pytest_cmdline_main(config: pytest.Config) -> int | None:
    asked = [option for option in LISTINGS if config.getoption(option.lstrip("-").replace("-", "_"), None)]
    if not asked:
        return None
    from .running import listing

    for option in asked:
        print(listing.LISTED[option]())
    return 0


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Any:
    """Our test files are collected whatever a foreign project's python_files says."""
    from fnmatch import fnmatch

    if not is_law_file(file_path):
        return None
    patterns = parent.config.getini("python_files")
    if parent.session.isinitpath(file_path) or any(fnmatch(file_path.name, pattern) for pattern in patterns):
        return None  # pytest does it itself
    return SpecModule.from_parent(parent, path=file_path)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> Any:
    return SpecModule.from_parent(parent, path=module_path) if is_law_file(module_path) else None


class SpecModule(pytest.Module):
    """Collects our invariants whatever a foreign project's python_functions says."""

    def funcnamefilter(self, name: str) -> bool:
        return name.startswith("test_")

    def classnamefilter(self, name: str) -> bool:
        return False


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    described = getattr(metafunc.function, "invariant", None)
    if described is None or "trial" not in metafunc.fixturenames:
        return
    if SESSION not in metafunc.config.stash:
        raise pytest.UsageError("the invariants of spec_tests need its options: run pytest --pyargs spec_tests --backend=…")
    trials = metafunc.config.stash[SESSION].selection.collect(described)
    metafunc.parametrize("trial", trials, ids=[trial.id for trial in trials])


def _trial(item: pytest.Item) -> Any:
    callspec = getattr(item, "callspec", None)
    described = getattr(getattr(item, "obj", None), "invariant", None)
    return (described, callspec.params["trial"]) if described and callspec else (None, None)


def pytest_itemcollected(item: pytest.Item) -> None:
    described, trial = _trial(item)
    if described:
        item.extra_keyword_matches |= {described.of(trial.operation_name), f"[{described.of(trial.operation_name)}]"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In -k a whole invariant's id means that invariant, not every one whose id contains it. Gradients come after the operations:
    of two failures that tells more which is first."""
    items[:] = [item for item in items if not _needless(config, *_trial(item))]
    items.sort(key=_backward)
    whole = {described.of(trial.operation_name) for described, trial in map(_trial, items) if described}
    if SESSION in config.stash:
        config.stash[SESSION].check_known_ids(whole)
    config.option.keyword = re.sub(r"[\w.]+", lambda word: f"[{word[0]}]" if word[0] in whole else word[0], config.option.keyword)


@pytest.hookimpl(trylast=True, specname="pytest_collection_modifyitems")
def pytest_selected_items(config: pytest.Config, items: list[pytest.Item]) -> None:
    if SESSION in config.stash and config.stash[SESSION].example:
        config.stash[SESSION].require_one_item([item for item in items if _trial(item)[0]])


def pytest_collection_finish(session: pytest.Session) -> None:
    """Frameworks and tests stay until the end: what looks for garbage need not look at them; nor at anything, for a second,
    before the interpreter goes."""
    if SESSION in session.config.stash:
        gc.freeze()
        atexit.register(gc.freeze)


def _backward(item: pytest.Item) -> bool:
    described, trial = _trial(item)
    return described is not None and described.of(trial.operation_name).partition(".")[0].endswith("_vjp")


def _needless(config: pytest.Config, described: Any, trial: Any) -> bool:
    if described is None:
        return False
    from .running.selection import is_selected

    return trial.redundant or not is_selected(described)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
    described, _ = _trial(pyfuncitem)
    if described is None:
        return (yield)
    from functools import partial

    from .running.runtest import run_trial

    test = pyfuncitem.obj
    pyfuncitem.obj = partial(run_trial, pyfuncitem.config.stash[SESSION], described, test)
    try:
        return (yield)
    finally:
        pyfuncitem.obj = test


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Generator[None, Any, Any]:
    report = yield
    if _trial(item)[0] is None or call.when != "call":
        return report
    from .running.makereport import make_report

    make_report(report, item, call, item.config.stash[SESSION])
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" and (collected := getattr(report, "user_properties", None)):
        VERDICTS.extend(json.loads(value) for key, value in collected if key == "spec_tests")


VERDICTS: list[dict[str, Any]] = []  # of this process's session; with xdist, of all workers' in the controller


def pytest_sessionstart(session: pytest.Session) -> None:
    recorder: Any = session.config.pluginmanager.get_plugin("spec_tests.report")
    VERDICTS[:] = recorder.before.verdicts if recorder and recorder.before else []


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """A run in which nothing ran is not green."""
    if SESSION in session.config.stash and not hasattr(session.config, "workerinput"):
        session.config.stash[SESSION].update_known_files(VERDICTS)
    ours = SESSION in session.config.stash and bool(VERDICTS) and not hasattr(session.config, "workerinput")
    if ours and exitstatus == 0 and all(verdict["status"] == "skipped" for verdict in VERDICTS):
        session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if VERDICTS and not terminalreporter.no_summary:
        from .report.terminal import write

        write(terminalreporter, VERDICTS)


def register(config: pytest.Config, session: Any) -> None:
    """Where the results come together: not in a worker."""
    if hasattr(config, "workerinput"):
        if config.getoption("resume"):
            from .running import resuming

            resuming.register(config, None)
        return
    if config.getoption("resume") and not config.getoption("report"):
        raise pytest.UsageError("--resume: name the report to go on with, as in --report=DIR --resume")
    from .running.progress import ProgressLines

    config.pluginmanager.register(ProgressLines(config), "spec_tests.progress")
    if config.getoption("report"):
        from .running.recording import build_recorder

        config.pluginmanager.register(build_recorder(config, session), "spec_tests.report")
