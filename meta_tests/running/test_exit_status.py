"""The exit status and the last lines are those of the run, whatever a backend has registered to run at exit."""

import sys
from pathlib import Path

import pytest

from ..support.paths import BACKENDS
from ..support.pytest_process import NUMPY, RELU, python, suite, write

WRONG = "\n\ndef relu(x):\n    return np.zeros_like(x)\n"
ENDS = "\n\nimport atexit, os, sys\natexit.register(lambda: (print('==== 8 passed ====', file=sys.stderr), os._exit(0)))\n"
WAYS = {"in one process": (), "with workers": ("-n", "2"), "isolated": ("--isolate",), "without capture": ("-s",)}


@pytest.mark.rotating
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_what_runs_at_exit_changes_neither_the_status_nor_the_last_line(way: tuple[str, ...], tmp_path: Path) -> None:
    backend = BACKENDS / "dishonest" / "exits_at_exit.py"
    run = suite(tmp_path, f"--backend={backend}", "-k", "sigmoid.reference", *way)
    assert run.code == 1, run.text
    assert "8 passed" not in run.text, run.text
    assert "1 failed" in run.text.strip().splitlines()[-1]


def test_a_refused_backend_cannot_end_the_process_either(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY.replace("float32", "float33") + RELU + ENDS)
    run = suite(tmp_path, "--backend=mine.py")
    assert run.complaint.startswith("--backend=mine.py: its dtypes name 'float33'")


def test_what_an_honest_backend_registers_runs_and_leaves_no_process(tmp_path: Path) -> None:
    honest = """

        import atexit, pathlib, tempfile

        folder = tempfile.TemporaryDirectory(dir=".")  # removed by a finalizer
        atexit.register(pathlib.Path("at_exit").write_text, "it ran")
        never = pathlib.Path("never")
        atexit.register(never.write_text, "it ran")
        atexit.unregister(never.write_text)
    """
    write(tmp_path, mine=NUMPY + RELU + honest.replace("\n        ", "\n"))
    run = suite(tmp_path, "--backend=mine.py", "-k", "relu.reference")
    assert run.code == 0, run.text
    assert sorted(path.name for path in tmp_path.iterdir() if path.name[0] not in "._h") == ["at_exit", "junit.xml", "mine.py"]


@pytest.mark.rotating
def test_what_hangs_at_exit_is_ended(tmp_path: Path) -> None:
    hangs = "\n\nimport atexit, time\natexit.register(time.sleep, 3600)\n"
    write(tmp_path, mine=NUMPY + WRONG + hangs)
    assert suite(tmp_path, "--backend=mine.py", "-k", "relu.reference").code == 1


@pytest.mark.rotating
def test_code_that_a_fork_would_run_is_not_forked(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + WRONG + ENDS + "os.register_at_fork(before=lambda: os._exit(0))\n")
    run = suite(tmp_path, "--backend=mine.py", "-k", "relu.reference")
    assert run.code == 1, run.text


@pytest.mark.rotating
def test_a_caller_of_pytest_main_goes_on(tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + WRONG + "\n\nimport atexit\natexit.register(print, 'at exit')\n")
    words = ["-p", "spec_tests.plugin", "--pyargs", "spec_tests", "--backend=mine.py", "--effort=smoke", "-k", "relu.reference"]
    done = python(tmp_path, "-c", f"import pytest\nprint('status', int(pytest.main({words!r})))")
    assert done.stdout.splitlines()[-2:] == ["status 1", "at exit"], done.stdout
    assert done.returncode == 0, sys.version
