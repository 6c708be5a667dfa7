"""A backend in the suite's own process may replace what its verdicts depend on. The replacement is found, reported and undone."""

import json
import math
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from spec_tests.implementation.lookup import BackendError
from spec_tests.running.lookout import EXAMPLES_BETWEEN_LOOKS, Lookout
from spec_tests.running.session import Session
from spec_tests.tampering.detector import LEFT_OUT, ON_DEMAND, PatchDetector, preloaded
from spec_tests.tampering.reachable import STATE, own_modules
from spec_tests.tampering.snapshot import CHECKS_OF_VALUES, Snapshot, make_container

from ..support.paths import ROOT
from ..support.pytest_process import NUMPY, RELU, environment, python, suite, write


def test_what_is_replaced_is_told_and_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    from spec_tests.bounds.expectation import Expectation

    detector, code = PatchDetector(), Expectation.accepts.__code__
    assert detector.restore() == []
    monkeypatch.delattr(math, "erf")
    monkeypatch.setattr(np, "all", lambda *_: True)
    monkeypatch.setattr(time, "monotonic", lambda: 0.0)
    Expectation.accepts.__code__ = (lambda self, result: True).__code__
    method = "spec_tests.bounds.expectation.Expectation.accepts"
    assert detector.restore() == ["math.erf", "time.monotonic", "numpy.all", method]
    assert Expectation.accepts.__code__ is code
    assert detector.restore() == []


PATCHES = {  # by the end of what a message calls it: code that an attacker may run
    ".ROUNDINGS['exp']": "import gc; from spec_tests.bounds.error_model import *; gc.get_referents(ROUNDINGS)[0]['exp'] = 1e9",
    ".STEP_ERRORS['new']":
        "import gc; from spec_tests.bounds.error_model import *; gc.get_referents(STEP_ERRORS)[0]['new'] = print",
    ".FORMATS['float32'].u":
        "from spec_tests.specification.formats import FORMATS; vars(FORMATS['float32'])['u'] = 1.0",
    ".FORMATS['float16'].precision":
        "from spec_tests.specification.formats import FORMATS; object.__setattr__(FORMATS['float16'], 'precision', 3)",
    ".ROUNDING_FACTORS":
        "from spec_tests.bounds.random_rounding import ROUNDING_FACTORS as a; a.flags.writeable = True; a[0] = 9",
    "spec_tests.bounds.expectation.Expectation.__getattribute__":
        "from spec_tests.bounds.expectation import Expectation; Expectation.__getattribute__ = lambda self, name: print",
    "spec_tests.helpers.assertions.all": "import spec_tests.helpers.assertions as a; a.all = lambda values: True",
    "spec_tests.bounds.error_model._relative_error.<locals>.<lambda>":
        "from spec_tests.bounds.error_model import *; STEP_ERRORS['divide'].__closure__[0].cell_contents = 'power'",
    "spec_tests.operations.sigmoid.declaration": "import spec_tests.operations.sigmoid as s; s.declaration = None",
    "specification('sigmoid').reference":
        "from spec_tests.specification.registry import *; vars(specification('sigmoid'))['reference'] = print",
    "spec_tests.specification.run_settings._current":
        "import spec_tests.specification.run_settings as s; s._current = s.RunSettings('smoke')",
    ".STRICTNESS": "import spec_tests.trials.shares as t; t.STRICTNESS = ('eager',)",
    ".FORMATS['bfloat16'].u":
        "import ctypes; from spec_tests.specification.formats import FORMATS; "
        "ctypes.c_double.from_address(id(FORMATS['bfloat16'].u) + 16).value = 1.0",
    "random.Random.getrandbits": "import random; random.Random.getrandbits = lambda self, count: 0",
    "_pytest.python.Function.runtest": "import _pytest.python as p; p.Function.runtest = lambda self: None",
    "HookCaller.__call__": "import pluggy._hooks as p; p.HookCaller.__call__ = lambda self, **_: None",
    "json.dumps": "import json; json.dumps = lambda x: '{}'",
    "random.Random.randint": "import random; random.Random.randint = lambda *_: 0",
    "numpy._core.fromnumeric._wrapreduction":
        "import numpy._core.fromnumeric as f; f._wrapreduction = lambda *_, **__: True",
    "numpy.all": "import numpy as np; np.all.__wrapped__.__code__ = (lambda *_, **__: True).__code__",
    "sys.modules['numpy']": "import sys, types; sys.modules['numpy'] = types.ModuleType('numpy')",
}  # fmt: skip


MUTABLE = {  # what a run changes, and the options, which decide nothing once they are parsed
    *STATE, "spec_tests.processes.python_server.SEEN_OF_ORACLE", "spec_tests.running.options.LISTS",
    "spec_tests.running.options.SWITCH", "spec_tests.running.options.OPTIONS", "spec_tests.report.backend_results.NO_VERDICT",
}  # fmt: skip


def test_constants_cannot_be_written_to() -> None:
    """A name in capitals is a mapping that is read-only, a tuple or a frozenset, wherever verdicts are made."""
    PatchDetector()
    mutable = {
        f"{name}.{key}"
        for name, module in own_modules().items()
        for key, value in vars(module).items()
        if key.isupper() and not key.startswith("_") and isinstance(value, dict | list | set)
    }
    assert mutable <= MUTABLE
    assert {name for name in STATE if name.rpartition(".")[2].isupper()} <= mutable


def test_constants_and_internals_are_watched_as_functions_are(tmp_path: Path) -> None:
    """Each patch is made in one process after the other has been undone, and an undone patch leaves nothing behind."""
    probe = """
        import json, sys
        from spec_tests.tampering.detector import PatchDetector
        from spec_tests.specification.first_use import import_modules

        detector, found = PatchDetector(guards_imports=True), []
        import_modules("spec_tests.test_sigmoid", "reference_numpy.sigmoid", "spec_tests.operations.sigmoid")
        for code in json.loads(sys.argv[1]):
            exec(code, {})
            found.append([detector.restore(), detector.restore()])
        print(json.dumps(found))
    """
    run = python(tmp_path, "-c", textwrap.dedent(probe), json.dumps(list(PATCHES.values())))
    assert run.returncode == 0, run.stderr
    for name, (first, second) in zip(PATCHES, json.loads(run.stdout), strict=True):
        assert any(text.endswith(name) for text in first), (name, first)
        assert second == [], (name, second)


def test_a_renamed_entry_is_found_although_the_values_are_the_same() -> None:
    kept, renamed = object(), object()
    table = {"kept": kept, "renamed": renamed}
    container = make_container("table", table, table, is_closed=True)
    assert container
    snapshot = Snapshot([container])
    table["other"] = table.pop("renamed")
    found = [name for _ in range(CHECKS_OF_VALUES) for name in snapshot.restore()]
    assert found == ["table['renamed']", "table['other']"]
    assert table == {"kept": kept, "renamed": renamed}
    assert not any(snapshot.restore() for _ in range(CHECKS_OF_VALUES))


def test_what_anothers_fixture_replaces_is_no_backends_doing(tmp_path: Path) -> None:
    fixture = "@pytest.fixture(autouse=True)\ndef quick(monkeypatch): monkeypatch.setattr('time.sleep', lambda seconds: None)\n"
    (tmp_path / "fixtures.py").write_text(f"import pytest\n\n{fixture}")
    write(tmp_path, mine=NUMPY + RELU)
    run = suite(
        tmp_path, "-p", "fixtures", "--backend=mine.py", "-k", "relu.reference or relu.rectifies", env=environment(ROOT, tmp_path)
    )
    assert run.code == 0, run.text


FOREIGN_HOOK = """
import pytest

calls = 0

@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    global calls
    calls += 1
    if calls == {call}:
        import {module} as module
        module.{name} = lambda *_, **__: None
    return (yield)
"""


@pytest.mark.parametrize(
    ("call", "name", "sentence"),
    [
        (1, "time.sleep", ""),
        (1, "spec_tests.helpers.assertions.assert_conforms", "a fixture or a plugin replaced"),
        (3, "time.sleep", "the backend, a fixture or a plugin replaced"),
    ],
)
def test_who_may_have_replaced_something_where_a_plugin_runs_before_each_law(
    call: int, name: str, sentence: str, tmp_path: Path
) -> None:
    """A look before the first law finds what a plugin replaces always. What is found later may be the backend's doing as well."""
    module, _, attribute = name.rpartition(".")
    (tmp_path / "hooks.py").write_text(FOREIGN_HOOK.format(call=call, module=module, name=attribute))
    write(tmp_path, mine=NUMPY + RELU)
    run = suite(tmp_path, "-p", "hooks", "--backend=mine.py", "-k", "relu and not vjp", env=environment(ROOT, tmp_path))
    assert run.code == (1 if sentence else 0), run.text
    assert sentence in run.text
    assert (f"replaced {name}, on which the verdict depends" in run.text) == bool(sentence)


def test_a_plugin_around_the_laws_that_replaces_nothing_adds_one_look() -> None:
    """With it the looks after laws are as rare as without it, until something is found."""
    alone, beside = Lookout(next_is_law=True), Lookout(next_is_law=True, others_run=True)
    assert [beside.begin_law() for _ in range(4)] == [True, False, False, False]
    assert [alone.note("mine", "relu", 9, failed=False) for _ in range(9)] == [
        beside.note("mine", "relu", 9, failed=False) for _ in range(9)
    ]
    assert beside.suspects == "the backend, a fixture or a plugin"
    beside.finish_look(["numpy.all"])
    assert beside.begin_law()
    assert beside.suspects == "the backend"


def test_a_backend_that_replaces_something_is_refused(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "allclose", np.allclose)  # so that monkeypatch puts it back
    (tmp_path / "mine.py").write_text("import numpy as np\nnp.allclose = print\nframework = 'numpy'\ndef relu(x): return x\n")
    session = Session((), tmp_path, (), None, (), frozenset())
    with pytest.raises(BackendError, match=r"importing it replaced numpy\.allclose, on which its verdicts depend; --isolate"):
        session._load("mine.py")


PATCHES_LATE = """
calls = 0

def relu(x):
    global calls
    calls += 1
    if calls == {call}:
        import spec_tests.bounds.expectation as e
        e.Expectation.accepts = lambda self, result: np.ones(result.shape, dtype=bool)
    return np.maximum(x, 0) + (calls >= {call})
"""


@pytest.mark.parametrize("call", [1, 100])
def test_a_replacement_between_two_looks_fails_the_run(call: int, tmp_path: Path) -> None:
    """The judge accepts everything from this call on. The look that follows finds it, and later laws are judged as ever."""
    write(tmp_path, mine=NUMPY + PATCHES_LATE.format(call=call))
    run = suite(tmp_path, "--backend=mine.py", "--effort=default", "-k", "relu and not vjp", "--hypothesis-seed=0")
    assert run.code == 1, run.text
    assert "the backend replaced spec_tests.bounds.expectation.Expectation.accepts, on which the verdict depends" in run.text
    assert run.count("failed") > 1


def test_a_level_does_not_excuse_a_replacement(tmp_path: Path) -> None:
    """The laws of levels that the run does not demand fail no run, but what was replaced may have decided others."""
    write(tmp_path, mine=NUMPY + PATCHES_LATE.format(call=1))
    run = suite(tmp_path, "--backend=mine.py", "-k", "relu.unbiased")
    assert run.code == 1, run.text


def test_the_last_look_finds_what_the_last_law_replaced() -> None:
    """A look is due after the first law of an operation, after a failure, when no law follows, and after enough examples."""
    lookout = Lookout(next_is_law=True)
    assert lookout.note("mine", "relu", 1, failed=False)
    assert lookout.finish_look([]) == 0
    assert not lookout.note("mine", "relu", EXAMPLES_BETWEEN_LOOKS - 1, failed=False)
    assert lookout.note("mine", "relu", 1, failed=False)
    assert lookout.finish_look([]) == 1
    assert lookout.note("mine", "relu", 1, failed=True)
    assert lookout.finish_look([]) == 0
    lookout.next_is_law = False
    assert lookout.note("mine", "relu", 0, failed=False)
    lookout.finish_look(["numpy.all"])
    lookout.next_is_law = True
    assert lookout.note("mine", "relu", 0, failed=False)


# --- what it covers ---------------------------------------------------------------------------------------------------

MIN_NAMESPACES, MIN_FUNCTIONS = 169, 953  # of the suite, watched when all of its modules lay in one folder
PROBE = """
import json, sys
from pathlib import Path
from types import FunctionType, ModuleType
from spec_tests.tampering.detector import PatchDetector
from spec_tests.specification.registry import gradients, import_specifications, operations
from spec_tests.specification.first_use import import_modules

detector = PatchDetector(guards_imports=True)
first = sorted(sys.modules)
import_specifications((*operations(), *gradients()))
import_modules(*json.loads(sys.argv[1]))
owners = [container.owner for container in detector.ours.containers]
counts = [sum(isinstance(owner, kind) for owner in owners) for kind in (ModuleType | type, FunctionType)]
print(json.dumps([*counts, first, sorted(detector.loaded), detector.find_imports()]))
"""


def modules_to_protect() -> set[str]:
    """Return the modules of the suite, found in its folders, without what is imported only when it is needed."""
    found = set()
    for path in (ROOT / "spec_tests").rglob("*.py"):
        names = path.relative_to(ROOT).with_suffix("").parts
        rest = names[1:]
        is_left_out = rest[0] in ON_DEMAND or ".".join(rest) in LEFT_OUT or rest[0].startswith("test_")
        if not (is_left_out or rest[-1] == "__main__"):
            found.add(".".join(names).removesuffix(".__init__"))
    return found


def test_every_module_is_preloaded_but_those_imported_when_needed() -> None:
    """preloaded() names no package and no module with a leading underscore. The next test covers them."""
    packages = {name.rpartition(".")[0] for name in modules_to_protect()}
    expected = {name for name in modules_to_protect() - packages if not name.rpartition(".")[2].startswith("_")}
    assert set(preloaded()) == expected
    assert len(expected) > 90


def test_the_detector_watches_no_less_than_it_once_did(tmp_path: Path) -> None:
    """Count in a new process, in which nothing else imports modules. A smaller number means that modules moved out of sight."""
    later = [f"spec_tests.{path.stem}" for path in sorted((ROOT / "spec_tests").glob("test_*.py"))]
    later += ["spec_tests.trials.cause_search", "spec_tests.report.failure", "spec_tests.running.recording"]
    run = python(tmp_path, "-c", PROBE, json.dumps(later))
    assert run.returncode == 0, run.stderr
    namespaces, functions, first, loaded, unwatched = json.loads(run.stdout)
    assert modules_to_protect() <= set(first)
    assert {*later} <= set(loaded)
    assert unwatched == []
    assert namespaces >= MIN_NAMESPACES
    assert functions >= MIN_FUNCTIONS


def test_the_folders_and_modules_that_are_left_out_exist() -> None:
    """A name that no longer exists leaves nothing out, and hides that its module has moved."""
    package = ROOT / "spec_tests"
    assert all((package / folder).is_dir() for folder in ON_DEMAND if folder != "backends")  # which only the wheel has there
    assert all((package / name.replace(".", "/")).with_suffix(".py").is_file() for name in LEFT_OUT)


PATCHES_EARLY = """
calls = 0

def relu(x):
    global calls
    calls += 1
    if calls == {call}:
        import spec_tests.report.failure as messages
        import reference_numpy.relu
        messages.summarize_failure = lambda parts: "all is well"
    return np.maximum(x, 0) + 1
"""


def test_what_a_backend_loads_and_patches_before_its_first_use_is_not_used(tmp_path: Path) -> None:
    """The suite imports its own module at the first failure, in place of the one that the backend has patched."""
    write(tmp_path, mine=NUMPY + PATCHES_EARLY.format(call=1))
    run = suite(tmp_path, "--backend=mine.py", "-k", "relu.reference", "-rf")
    assert run.code == 1, run.text
    assert "all is well" not in run.text
    assert "y = «1 + max(x, 0)»" in run.text


def test_a_look_precedes_the_first_use_of_a_module(tmp_path: Path) -> None:
    """What a look before an import finds is put back, and told by the next look."""
    probe = """
        import json, math
        from spec_tests.tampering.detector import PatchDetector
        from spec_tests.specification.first_use import import_modules

        detector, erf = PatchDetector(guards_imports=True), math.erf
        math.erf = print
        import_modules("spec_tests.trials.cause_search")
        print(json.dumps([math.erf is erf, detector.restore(), detector.restore()]))
    """
    assert json.loads(python(tmp_path, "-c", textwrap.dedent(probe)).stdout) == [True, ["math.erf"], []]
