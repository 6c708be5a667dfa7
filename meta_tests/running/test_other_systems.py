"""The suite judges on Windows and on macOS as it does here. Both are simulated: it finds what Python has there."""

import json
from pathlib import Path

import pytest

from spec_tests.report import read

from ..support.other_systems import SITE, SYSTEMS, find_missing, variables
from ..support.paths import ROOT
from ..support.pytest_process import EPS_OUTSIDE, NUMPY, RELU, RMS_NORM, Run, environment, python, suite, write

pytest.importorskip("mypy", reason="which names a system has is read from the stubs that mypy ships")
ASCII = {"PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}  # no text is UTF-8 by default
EXPECTED = {"relu.reference mine": "passed", "rms_norm.reference mine": "passed", "rms_norm.reference wrong": "failed"}


def simulated(folder: Path, system: str) -> dict[str, str]:
    """Return the environment of a process that simulates the system."""
    (site := folder / "site").mkdir(exist_ok=True)
    (site / "sitecustomize.py").write_text(SITE)
    return environment(ROOT, site, **variables(system), **ASCII)


def run_on(system: str, folder: Path, *args: str) -> Run:
    """Run the suite on a right and a wrong operation."""
    write(folder, mine=NUMPY + RELU + RMS_NORM, wrong=NUMPY + EPS_OUTSIDE)
    return suite(folder, "-k", "relu.reference or rms_norm.reference", "--backend=mine.py", *args, env=simulated(folder, system))


def judged(run: Run) -> dict[str, str]:
    """Return the status of each verdict, by "id backend"."""
    return {name.rpartition(" ")[0]: status for name, status in run.statuses.items() if status != "skipped"}


def test_the_stubs_say_what_a_system_lacks() -> None:
    windows, macos = map(find_missing, SYSTEMS)
    assert {"fcntl", "grp", "pwd", "resource", "termios"} <= {name for name, names in windows.items() if not names}
    assert {"fork", "killpg", "setsid", "getuid", "sysconf", "readv", "pread", "register_at_fork"} <= {*windows["os"]}
    assert {"SIGALRM", "SIGHUP", "SIGKILL", "SIGSTOP", "setitimer", "ITIMER_REAL"} <= {*windows["signal"]}
    assert not {"SIGINT", "SIGTERM", "SIGABRT"} & {*windows["signal"]}
    assert {"sched_getaffinity", "pidfd_open"} <= {*macos["os"]}
    assert not {"fork", "killpg", "setsid"} & {*macos["os"]}
    assert macos["fcntl"]


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_simulation_hides_from_the_suite_alone(system: str, tmp_path: Path) -> None:
    probe = """
        import json, os, sys

        def look(name):
            scope = {"__name__": name, "found": {}}
            exec(CODE, scope)
            return scope["found"]

        CODE = '''
        import os, signal, sys, importlib.util, pathlib
        found.update(fork=hasattr(os, "fork"), affinity=hasattr(os, "sched_getaffinity"), alarm=hasattr(signal, "SIGALRM"))
        found.update(platform=sys.platform, fcntl=importlib.util.find_spec("fcntl") is not None)
        try:
            from resource import getrlimit
        except ImportError:
            found["resource"] = False
        else:
            found["resource"] = True
        '''
        CODE = __import__("textwrap").dedent(CODE)
        print(json.dumps([look("spec_tests.running.probe"), look("numpy.probe"), os.path.exists("/proc/self")]))
    """
    write(tmp_path, probe=probe)
    done = python(tmp_path, "probe.py", env=simulated(tmp_path, system))
    suites, others, has_proc = json.loads(done.stdout)
    posix = system != "win32"
    assert suites == {
        "fork": posix, "affinity": False, "alarm": posix, "platform": system, "fcntl": posix, "resource": posix,
    }  # fmt: skip
    assert others == {key: "linux" if key == "platform" else True for key in others}
    assert not has_proc


@pytest.mark.rotating
@pytest.mark.parametrize(("system", "workers"), [("win32", ("-n", "2")), ("darwin", ())], ids=["win32", "darwin"])
def test_the_suite_judges_there(system: str, workers: tuple[str, ...], tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    found = run_on(system, tmp_path, "--backend=wrong.py", "--report=seen", *workers)
    assert "Traceback" not in found.text, found.text
    assert found.code == 1, found.text
    assert judged(found) == EXPECTED
    assert (tmp_path / "seen" / "report.html").exists()
    said = "this system has no signal.setitimer: --time-limit ends no call" in found.text
    assert said == (system == "win32")


def test_isolation_is_refused_on_windows(tmp_path: Path) -> None:
    complaint = run_on("win32", tmp_path, "--isolate").complaint
    assert complaint.startswith("--isolate: this system lacks os.killpg, os.setsid, select on pipes; ")


@pytest.mark.rotating
def test_isolation_judges_on_macos(tmp_path: Path) -> None:
    found = run_on("darwin", tmp_path, "--backend=wrong.py", "--isolate")
    assert "Traceback" not in found.text, found.text
    assert found.code == 1, found.text
    assert judged(found) == EXPECTED


SPAWNED = """
    import multiprocessing, sys, pytest

    def run():
        sys.exit(pytest.main(sys.argv[1:]))

    if __name__ == "__main__":
        assert multiprocessing.get_start_method() == "spawn"
        process = multiprocessing.Process(target=run)
        process.start()
        process.join()
        sys.exit(process.exitcode)
"""


@pytest.mark.rotating
def test_a_spawned_process_runs_the_suite(tmp_path: Path) -> None:
    write(tmp_path, wrong=NUMPY + EPS_OUTSIDE, spawned=SPAWNED)
    words = ("-p", "spec_tests.plugin", "-p", "no:cacheprovider", "--pyargs", "spec_tests", "--effort=smoke", "--dtype=float32")
    selected = ("-k", "rms_norm.reference", "--backend=wrong.py", "--report=seen")
    done = python(tmp_path, "spawned.py", *words, *selected, env=simulated(tmp_path, "darwin"))
    assert done.returncode == 1, done.stdout + done.stderr
    footer = read(tmp_path / "seen").footer
    assert footer is not None
    assert footer.exit_status == 1


COMMANDS = [("spec_tests", "--help"), ("pytest", "-p", "spec_tests.plugin", "--pyargs", "spec_tests", "--list-deviations")]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_prints_where_characters_are_missing(words: tuple[str, ...], tmp_path: Path) -> None:
    done = python(tmp_path, "-m", *words, env=simulated(tmp_path, "win32"))
    assert done.returncode == 0, done.stderr
    assert "\\u" in done.stdout
