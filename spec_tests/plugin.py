"""The pytest plugin: it selects the trials of a run and records what they showed.

Every pytest run in an environment with this package imports this module. It must stay light: NumPy, Hypothesis and most of this
package are imported inside functions, when a run uses them.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .running.options import LISTING_OPTIONS, VERDICT_PROPERTY, add_options, concerns_suite, read_option
from .trials.collection import is_beside_laws, is_law_file

if TYPE_CHECKING:
    from .report.verdict import Verdict
    from .running.session import Session

SESSION: pytest.StashKey[Session] = pytest.StashKey()

UNWRITABLE = ("default::pytest.PytestCacheWarning", "default:The database setting is not configured")  # Hypothesis's warning
STALE_EXIT_STATUS = 6  # nothing fails, and a file of known failures lists what holds now


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Generator[None, None, None]:
    from .running.spellings import explain_conftests, leave_out_conftests, take_spellings

    leave_out_conftests(early_config, args)
    with explain_conftests(early_config, args):
        yield
    take_spellings(early_config, parser, args)


def pytest_configure(config: pytest.Config) -> None:
    if not concerns_suite(config) or config.option.help:
        return
    for line in UNWRITABLE:  # a folder that is read-only is no error, even if a project makes errors of warnings
        config.addinivalue_line("filterwarnings", line)
    from .running import garbage_collection, threads, xdist_workers

    garbage_collection.pause(config)
    threads.set_threads(config)  # before NumPy is imported
    from .running.names import read_names

    read_names(config)  # before the rest is imported, which takes longer than to refuse a misspelt name
    xdist_workers.share_devices(config)
    xdist_workers.stop_on_termination()
    from .running.session import Session

    config.pluginmanager.register(xdist_workers, "spec_tests.workers")
    config.stash[SESSION] = session = Session.from_config(config)
    if not _requested_listings(config):
        xdist_workers.load_backends(config, session)
        from .running.plugins import register_plugins

        register_plugins(config, session, VERDICTS)
        config.pluginmanager.register(session.ledger, "spec_tests.ledger")


def pytest_unconfigure(config: pytest.Config) -> None:
    if SESSION in config.stash:
        config.stash[SESSION].close()


def _requested_listings(config: pytest.Config) -> list[str]:
    """Return the options of the command line that print a list and exit."""
    return [name for name in LISTING_OPTIONS if read_option(config, name.replace("-", "_"))]


def pytest_cmdline_main(config: pytest.Config) -> int | None:
    if not (requested := _requested_listings(config)):
        return None
    from .implementation.printable import escape_unencodable
    from .running import listing

    escape_unencodable()
    for name in requested:
        print(listing.LISTING_FORMATTERS[name]())
    return 0


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Any:
    """Collect the files of laws, even if python_files of the project in which pytest runs excludes them."""
    if not is_law_file(file_path):
        return None
    patterns = parent.config.getini("python_files")
    if parent.session.isinitpath(file_path) or any(fnmatch(file_path.name, pattern) for pattern in patterns):
        return None  # pytest collects it
    return SpecModule.from_parent(parent, path=file_path)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the files of laws that the run does not need, and the packages beside them, which have no laws.

    pytest does not ask about a file or a folder that the command line names.
    """
    if SESSION not in config.stash or not is_beside_laws(collection_path):
        return None
    if is_law_file(collection_path):
        return None if config.stash[SESSION].law_files.is_needed(collection_path) else True
    return True if collection_path.is_dir() else None


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> Any:
    return SpecModule.from_parent(parent, path=module_path) if is_law_file(module_path) else None


class SpecModule(pytest.Module):
    """A file of laws. It collects them, even if python_functions of the project in which pytest runs excludes them."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        if SESSION in self.config.stash:
            self.config.stash[SESSION].law_files.collect(self.path)

    def _getobj(self) -> Any:
        if SESSION in self.config.stash:
            self.config.stash[SESSION].law_files.import_collected()
        return super()._getobj()  # type: ignore[no-untyped-call]

    def funcnamefilter(self, name: str) -> bool:
        return name.startswith("test_")

    def classnamefilter(self, name: str) -> bool:
        return False


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    invariant = getattr(metafunc.function, "invariant", None)
    if invariant is None or "trial" not in metafunc.fixturenames:
        return
    if SESSION not in metafunc.config.stash:
        raise pytest.UsageError("the invariants of spec_tests need its options: run pytest --pyargs spec_tests --backend=…")
    trials = metafunc.config.stash[SESSION].collect(invariant)
    metafunc.parametrize("trial", trials, ids=[trial.id for trial in trials])


def _invariant_and_trial(item: pytest.Item) -> Any:
    """Return the invariant and the trial of an item, or (None, None) if it is no item of this suite."""
    callspec = getattr(item, "callspec", None)
    invariant = getattr(getattr(item, "obj", None), "invariant", None)
    return (invariant, callspec.params["trial"]) if invariant and callspec else (None, None)


def pytest_itemcollected(item: pytest.Item) -> None:
    invariant, trial = _invariant_and_trial(item)
    if invariant:
        from .running.selection import is_unneeded

        item.config.stash[SESSION].ledger.add(item, is_needed=not is_unneeded(invariant, trial))
        item.extra_keyword_matches |= {invariant.id_for(trial.operation_name), f"[{invariant.id_for(trial.operation_name)}]"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out unneeded items, put the others in the order in which to mend their failures, and let -k find whole ids.

    In -k the id of an invariant means that invariant only, not every invariant whose id contains it.
    """
    if SESSION not in config.stash:
        return
    laws = {item: pair for item in items if (pair := _invariant_and_trial(item))[0]}
    from .running.selection import is_unneeded, mending_order

    items[:] = [item for item in items if item not in laws or not is_unneeded(*laws[item])]
    if chosen := config.stash[SESSION].operations:
        left_out = {item for item, (invariant, trial) in laws.items() if invariant.subject(trial.operation_name) not in chosen}
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]
    items.sort(key=lambda item: mending_order(*laws[item]) if item in laws else ())
    ids = {invariant.id_for(trial.operation_name) for invariant, trial in (laws[item] for item in items if item in laws)}
    config.stash[SESSION].known_failures.check_names(ids)
    config.option.keyword = re.sub(r"[\w.]+", lambda word: f"[{word[0]}]" if word[0] in ids else word[0], config.option.keyword)


@pytest.hookimpl(trylast=True, specname="pytest_collection_modifyitems")
def pytest_selected_items(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let --example run only if one test of this suite is selected."""
    if SESSION in config.stash and config.stash[SESSION].example:
        from .running.arguments import require_one_item

        require_one_item([item for item in items if _invariant_and_trial(item)[0]])


def pytest_collection_finish(session: pytest.Session) -> None:
    if SESSION in session.config.stash:
        from .running import garbage_collection
        from .running.collected import finish_collection

        laws = [item for item in session.items if _invariant_and_trial(item)[0]]
        finish_collection(session.config.stash[SESSION], laws)
        garbage_collection.resume(session.config)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    if SESSION in item.config.stash:
        item.config.stash[SESSION].lookout.next_is_law = nextitem is not None and _invariant_and_trial(nextitem)[0] is not None


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
    if (invariant := _invariant_and_trial(pyfuncitem)[0]) is None:
        return (yield)
    from functools import partial

    from .running.hypothesis_statistics import shown_statistics
    from .running.runtest import judge

    test = pyfuncitem.obj
    pyfuncitem.obj = partial(judge, pyfuncitem.config.stash[SESSION], pyfuncitem.nodeid, invariant, test)
    try:
        with shown_statistics(pyfuncitem):
            return (yield)
    finally:
        pyfuncitem.obj = test


@pytest.hookimpl(wrapper=True, tryfirst=True)  # outside of the wrappers of others, so that what they change is seen
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Generator[None, Any, Any]:
    report = yield
    if _invariant_and_trial(item)[0] is None or call.when != "call":
        return report
    from .running.makereport import make_report

    make_report(report, item, call, item.config.stash[SESSION])
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if verdict := _find_verdict(report):
        _add_verdict(report.nodeid, verdict)


def _find_verdict(report: Any) -> Verdict | None:
    if all(key != VERDICT_PROPERTY for key, _ in getattr(report, "user_properties", ())):
        return None
    from .running.reported import find_verdict

    return find_verdict(report)


def _add_verdict(node: str, verdict: Verdict) -> None:
    """Add a verdict of the run. With --dist=each several workers judge a test: a failure counts, else the first verdict."""
    position = VERDICT_POSITIONS.setdefault(node, len(VERDICTS))
    if position == len(VERDICTS):
        VERDICTS.append(verdict)
    elif verdict.status == "failed" != VERDICTS[position].status:
        VERDICTS[position] = verdict


VERDICTS: list[Verdict] = []  # of the run of this process; under pytest-xdist, in the controller, of all workers
VERDICT_POSITIONS: dict[str, int] = {}  # where in VERDICTS the verdict on a test is, by the test's node id


def pytest_sessionstart(session: pytest.Session) -> None:
    recorder: Any = session.config.pluginmanager.get_plugin("spec_tests.report")
    VERDICTS[:] = recorder.interrupted.verdicts if recorder and recorder.interrupted else []
    VERDICT_POSITIONS.clear()
    if completeness := session.config.pluginmanager.get_plugin("spec_tests.completeness"):
        completeness.keep_verdicts(VERDICTS)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Update the files of known failures. Give a run in which everything was skipped the exit status of an empty run.

    If an entry of these files is stale, and nothing else is wrong, the exit status says so.
    """
    if SESSION not in session.config.stash or hasattr(session.config, "workerinput"):
        return
    from .report.verdicts import is_tried

    session.config.stash[SESSION].known_failures.update_files(VERDICTS)
    if session.exitstatus == 0 and (any(v.stale for v in VERDICTS) or _find_stale_patterns(session.config)):
        session.exitstatus = STALE_EXIT_STATUS
    if VERDICTS and exitstatus == 0 and all(verdict.status == "skipped" for verdict in VERDICTS):
        session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED
    run = session.config.stash[SESSION]
    run.ledger.finish(session, [name for name in run.required if not is_tried(name, VERDICTS)])
    if completeness := session.config.pluginmanager.get_plugin("spec_tests.completeness"):
        completeness.finish(session)


def _find_stale_patterns(config: pytest.Config) -> list[str]:
    """Return the places of stale patterns in the files of known failures. Only a whole run can show that a pattern is stale."""
    from .running.selected_paths import find_selection

    is_partial = find_selection(config) or read_option(config, "dtype") or read_option(config, "effort") == "smoke"
    return [] if is_partial else config.stash[SESSION].known_failures.find_stale_patterns(VERDICTS)


def pytest_report_teststatus(report: Any) -> Any:
    """Count an invariant that holds, and that a file lists as failing, apart from those that passed."""
    if report.passed and (verdict := _find_verdict(report)) and verdict.stale:
        return "holds now", "h", ("HOLDS NOW", {"yellow": True})
    return None


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if SESSION in terminalreporter.config.stash:
        terminalreporter.config.stash[SESSION].ledger.write_summary(terminalreporter)
    if VERDICTS and not terminalreporter.no_summary:
        from .report.terminal import write_summary
        from .running.completeness import find_cuts

        write_summary(terminalreporter, VERDICTS, is_cut=bool(find_cuts(terminalreporter.config)))
        for place in _find_stale_patterns(terminalreporter.config):
            terminalreporter.write_line(f"{place}: nothing that it is about fails now; remove the line")
