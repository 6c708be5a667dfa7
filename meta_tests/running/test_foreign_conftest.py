"""What a conftest.py of another project does to laws shows in the verdict, and what changes outcomes is never green."""

import json
import re
import textwrap
from pathlib import Path

import pytest

from ..measure.conftest_faults import BODIES, FOLDER, TABLE, describe, list_faults, read_table, run_beside
from ..support.paths import ROOT
from ..support.pytest_process import NUMPY, RELU, RMS_NORM, Run, environment, pytest_run, write

WRONG = "\n\ndef relu(x):\n    return np.zeros_like(x)\n"
LAWS = ("-k", "relu.reference or relu.rectifies or relu.infinities")


def run_with(folder: Path, conftest: str, body: str = WRONG, *args: str) -> Run:
    """Run laws beside a conftest.py of another project."""
    write(folder, mine=NUMPY + body, conftest="import pytest\n\n" + textwrap.dedent(conftest))
    words = ["-p", "spec_tests.plugin", "-p", "no:cacheprovider", "--hypothesis-profile=default", "--hypothesis-seed=1"]
    if any(
        f"def pytest_{hook}" in conftest for hook in ("pyfunc_call", "runtest", "ignore_collect")
    ):  # such of a conftest.py do not reach other folders
        (folder / "conftest.py").rename(folder / "theirs.py")
        words += ["-p", "theirs"]
    return pytest_run(
        folder, *words, "--confcutdir=.", "-c", "/dev/null", "--rootdir=.", "--pyargs", "spec_tests", ".", "--backend=mine.py",
        "--effort=smoke", *args, env=environment(ROOT, folder),
    )  # fmt: skip


REMOVES = """
    def pytest_collection_modifyitems(items):
        items[:] = [item for item in items if "test_reference[relu-mine" not in item.nodeid]
"""
DESELECTS = """
    def pytest_collection_modifyitems(config, items):
        removed = [item for item in items if "relu" in item.nodeid]
        items[:] = [item for item in items if item not in removed]
        config.hook.pytest_deselected(items=removed)
"""
XFAILS = """
    def pytest_collection_modifyitems(items):
        for item in items:
            item.add_marker(pytest.mark.xfail(strict=False, reason="later"))
"""
SKIPS = """
    def pytest_collection_modifyitems(items):
        for item in items:
            if "relu" in item.nodeid:
                item.add_marker(pytest.mark.skip(reason="not today"))
"""
SKIPPING_FIXTURE = """
    @pytest.fixture(autouse=True)
    def later():
        pytest.skip("not now")
"""
CALLS_NOTHING = """
    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(pyfuncitem):
        return True
"""
RUNS_NOTHING = """
    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(item, nextitem):
        return True
"""
REPLACES_TESTS = """
    def pytest_collection_modifyitems(items):
        for item in items:
            item.obj = lambda **_: None
"""
CHANGES_REPORTS = """
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(item, call):
        report = yield
        report.outcome = "passed"
        return report
"""
REPLACES_THE_JUDGE = """
    @pytest.fixture(autouse=True)
    def quick(monkeypatch):
        monkeypatch.setattr("spec_tests.helpers.assertions.assert_conforms", lambda *_, **__: None)
"""
CHANGES_A_CONSTANT = """
    @pytest.fixture(autouse=True, scope="session")
    def generous():
        import gc
        from spec_tests.bounds.error_model import ROUNDINGS
        gc.get_referents(ROUNDINGS)[0].update(dict.fromkeys(ROUNDINGS, 1e30))
"""
HIDES_FILES = """
    def pytest_ignore_collect(collection_path):
        return True if "relu" in collection_path.name or "every" in collection_path.name else None
"""
CHANGES_THE_STATUS = """
    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(session):
        session.exitstatus = 0

    def pytest_unconfigure(config):
        config.pluginmanager.get_plugin("session").exitstatus = 0
"""
HIDDEN = sum(path.stem == "test_relu" or "every" in path.name for path in (ROOT / "spec_tests").glob("test_*.py"))
OFFENCES = {  # a conftest.py, and what the run says of it
    "removes": (REMOVES, "ERROR: 1 law (test_reference[relu-mine-float32]) was removed by a conftest.py"),
    "deselects": (DESELECTS, "were removed by a conftest.py or a plugin of another project"),
    "xfails": (XFAILS, "marks of another project on laws: xfail on"),
    "skips": (SKIPS, "not tried, because of a mark, a fixture or a plugin of another project (not today)"),
    "skips in a fixture": (SKIPPING_FIXTURE, "not tried, because of a mark, a fixture or a plugin of another project (not now)"),
    "calls nothing": (CALLS_NOTHING, "a conftest.py or a plugin of another project kept this law from being tried"),
    "runs nothing": (RUNS_NOTHING, "not tried, because of a mark, a fixture or a plugin of another project"),
    "replaces tests": (REPLACES_TESTS, "were removed by a conftest.py or a plugin of another project"),
    "changes reports": (CHANGES_REPORTS, "found to fail, and reported otherwise by a conftest.py"),
    "replaces the judge": (REPLACES_THE_JUDGE, "a fixture or a plugin replaced spec_tests.helpers.assertions.assert_conforms"),
    "changes a constant": (CHANGES_A_CONSTANT, "a fixture or a plugin replaced spec_tests.bounds.error_model.ROUNDINGS"),
    "hides files": (
        HIDES_FILES,
        f"nothing was collected of {HIDDEN} files (test_every_gradient.py, test_every_gradient__numbers.py",
    ),
    "changes the status": (CHANGES_THE_STATUS, "3 failed"),
}
NEEDS_THE_WHOLE_SUITE = ("deselects", "hides files")  # with -k, a selection is expected


WORKERS = ("-n", "2")
ALONE = ("replaces the judge", "changes a constant", "changes the status", "deselects", "hides files")  # of the whole run
RUNS = [
    *(pytest.param(name, (), id=name, marks=() if name in ALONE else pytest.mark.nightly) for name in OFFENCES),
    *(
        pytest.param(name, WORKERS, id=f"{name}, workers", marks=pytest.mark.nightly)
        for name in ("changes reports", "removes", "xfails", "skips")
    ),
]


@pytest.mark.rotating
@pytest.mark.parametrize(("name", "workers"), RUNS)
def test_what_changes_outcomes_is_named_and_never_green(name: str, workers: tuple[str, ...], tmp_path: Path) -> None:
    conftest, sentence = OFFENCES[name]
    body = RELU if name in ("hides files", "calls nothing") else WRONG
    run = run_with(tmp_path, conftest, body, *(() if name in NEEDS_THE_WHOLE_SUITE else LAWS), *workers, "--report=out")
    assert run.code == 1, run.text
    assert sentence in " ".join(run.text.split()), run.text
    assert "Traceback" not in run.text, run.text
    records = [json.loads(line) for line in (tmp_path / "out" / "report.jsonl").read_text().splitlines()]
    assert records[-1]["exit_status"] == 1 or name == "changes the status"
    assert json.loads((tmp_path / "out" / "badge.json").read_text())["color"] != "brightgreen"


# Each offence against the law of another operation. Every operation is wrong, but for the one whose law is not called.
EACH_OF_ANOTHER = """
    OPERATIONS = %r

    def of(offence, item):
        return f"test_reference[{OPERATIONS[offence]}-mine" in item.nodeid

    def pytest_collection_modifyitems(items):
        items[:] = [item for item in items if not of("removes", item)]
        for item in items:
            if of("xfails", item):
                item.add_marker(pytest.mark.xfail(strict=False, reason="later"))
            if of("skips", item):
                item.add_marker(pytest.mark.skip(reason="not today"))
            if of("replaces tests", item):
                item.obj = lambda **_: None

    @pytest.fixture(autouse=True)
    def later(request):
        if of("skips in a fixture", request.node):
            pytest.skip("not now")

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(pyfuncitem):
        return True if of("calls nothing", pyfuncitem) else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(item, nextitem):
        return True if of("runs nothing", item) else None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(item, call):
        report = yield
        if of("changes reports", item):
            report.outcome = "passed"
        return report
"""
ATTACKED = {
    "relu": "removes",
    "silu": "xfails",
    "sigmoid": "skips",
    "softmax": "skips in a fixture",
    "rms_norm": "calls nothing",
    "gelu": "runs nothing",
    "log_softmax": "replaces tests",
    "logsumexp": "changes reports",
}
ALL_WRONG = RMS_NORM + "".join(
    f"\n\ndef {name}(x, **options):\n    return np.zeros_like(x)\n" for name in ATTACKED if name != "rms_norm"
)


@pytest.mark.rotating
@pytest.mark.parametrize("workers", [(), WORKERS], ids=["serial", "workers"])
def test_each_offence_is_named_with_the_laws_that_it_met(workers: tuple[str, ...], tmp_path: Path) -> None:
    laws = ("-k", " or ".join(f"{name}.reference" for name in ATTACKED))
    offences = EACH_OF_ANOTHER % {offence: name for name, offence in ATTACKED.items()}
    run = run_with(tmp_path, offences, ALL_WRONG, *laws, *workers, "--report=out")
    assert run.code == 1, run.text
    assert "Traceback" not in run.text, run.text
    errors = [line for line in run.text.splitlines() if line.startswith("ERROR: ")]

    def named_in(sentence: str) -> set[str]:
        (line,) = (line for line in errors if sentence in line)
        return {*re.findall(r"test_reference\[(\w+)-mine-float32\]", line)}

    assert named_in("removed by a conftest.py or a plugin of another project") == {"relu", "log_softmax"}, run.text
    assert named_in("found to fail, and reported otherwise by a conftest.py") == {"logsumexp"}, run.text
    not_tried = "not tried, because of a mark, a fixture or a plugin of another project (not now, not today)"
    assert named_in(not_tried) == {"sigmoid", "softmax", "gelu"}, run.text
    assert re.search(r"marks of another project on laws: .*xfail on 1", run.text), run.text
    assert OFFENCES["calls nothing"][1] in " ".join(run.text.split()), run.text
    assert "breaks silu.reference" in run.text  # with its whole message, although it is marked xfail
    assert not any(fact["status"] == "passed" for fact in run.facts), run.text
    report = [json.loads(line) for line in (tmp_path / "out" / "report.jsonl").read_text().splitlines()]
    assert report[-1]["exit_status"] == 1
    assert json.loads((tmp_path / "out" / "badge.json").read_text())["color"] != "brightgreen"


ORDINARY = (FOLDER / "is_ordinary.py").read_text()


@pytest.mark.rotating
@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "workers"])
def test_ordinary_fixtures_marks_and_hooks_are_no_offence(workers: tuple[str, ...], tmp_path: Path) -> None:
    run = run_with(tmp_path, ORDINARY, RELU, *LAWS, *workers)
    assert run.code == 0, run.text
    assert "marks of another project on laws: fast on" in run.text
    assert "ERROR" not in run.text


@pytest.mark.parametrize("arguments", [["spec_tests.test_relu"], ["-k", "relu.reference", "spec_tests"]])
def test_paths_on_the_command_line_are_a_selection_as_k_is(arguments: list[str], tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU)
    words = ("-p", "spec_tests.plugin", "-p", "no:cacheprovider", "--backend=mine.py", "--effort=default", "--report=out")
    run = pytest_run(tmp_path, *words, "--pyargs", *arguments)
    assert run.code == 0, run.text
    header = json.loads((tmp_path / "out" / "report.jsonl").read_text().partition("\n")[0])
    assert list(header["selection"]) == (["keyword"] if "-k" in arguments else ["paths"])
    assert json.loads((tmp_path / "out" / "badge.json").read_text())["message"] == "the selected invariants hold"


@pytest.mark.nightly
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("path", list_faults(), ids=lambda path: path.stem)
def test_the_table_is_what_a_run_shows(path: Path, body: str) -> None:
    assert describe(*run_beside(path, body)) == read_table()[path.stem][body]


def test_the_table_has_every_conftest_and_no_wrong_code_is_green() -> None:
    table = read_table()
    assert list(table) == [path.stem for path in list_faults()]
    green = {name for name, rows in table.items() if rows["wrong"].startswith("exit 0")}
    assert green == {"ends_the_process"}  # which the threat model names
    assert table["is_ordinary"]["right"].startswith("exit 0; 3 passed")
    assert "Traceback" not in TABLE.read_text()


@pytest.mark.parametrize("source", ["def own[A](x: A) -> A: ...", "import nothing_of_this_name"])
def test_a_conftest_that_cannot_be_imported_is_named_with_what_to_write(tmp_path: Path, source: str) -> None:
    (tmp_path / "tests").mkdir()
    write(tmp_path, mine=NUMPY + RELU)
    (tmp_path / "tests" / "conftest.py").write_text(f"{source}\nraise ImportError\n")
    words = ["-p", "spec_tests.plugin", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir=.", "--pyargs", "spec_tests"]
    words += ["--backend=mine.py", "--effort=smoke", "-k", "relu.reference"]
    run = pytest_run(tmp_path, *words, env=environment(ROOT, tmp_path))
    assert run.code == 4
    assert re.search(r"ERROR: Python 3[.\d]+ cannot import \S+conftest\.py: ", run.text), run.text
    assert "add --noconftest, or name the Python of that project" in run.text
    assert "Traceback" not in run.text
    assert pytest_run(tmp_path, *words, "--noconftest", env=environment(ROOT, tmp_path)).code == 0
