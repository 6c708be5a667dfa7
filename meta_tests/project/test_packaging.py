"""Test what wheel and sdist contain, and that the installed suite works without the checkout."""

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from spec_tests.specification.version import __version__

from ..support.paths import ROOT
from ..support.pytest_process import EPS_OUTSIDE, NUMPY, RELU, environment, pytest_run, python, write

pytestmark = pytest.mark.xdist_group("project/packaging")  # tests that share a wheel

SHIPPED = {"reference_numpy": "reference_numpy", "spec_tests": "spec_tests", "backends": "spec_tests/backends"}


def run(*command: str, cwd: Path) -> None:
    done = subprocess.run(command, cwd=cwd, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Build an sdist from a copy of the checkout and a wheel from the sdist, and install the wheel into an empty folder."""
    pytest.importorskip("build")
    folder = tmp_path_factory.mktemp("built")
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", "build", "dist", ".*")
    shutil.copytree(ROOT, folder / "copy", ignore=ignored)
    (folder / "copy" / "README.md").touch()  # pyproject.toml names it
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder / "dist"), cwd=folder / "copy")
    (wheel,), (sdist,) = (folder / "dist").glob("*.whl"), (folder / "dist").glob("*.tar.gz")
    run(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-compile", "--target", "site", str(wheel), cwd=folder)
    return {"wheel": wheel, "sdist": sdist, "site": folder / "site", "copy": folder / "copy"}


SUFFIXES = (".py", ".typed", ".json", ".html", ".css", ".js", ".md", ".svg")  # besides templates in other languages


@pytest.mark.rotating
def test_the_wheel_has_exactly_the_files_of_the_folders(built: dict[str, Path]) -> None:
    with zipfile.ZipFile(built["wheel"]) as wheel:
        shipped = {name: wheel.read(name) for name in wheel.namelist() if ".dist-info/" not in name}
        info = {name.split("/", 1)[1] for name in wheel.namelist() if ".dist-info/" in name}
    folders = {
        f"{there}/{path.relative_to(built['copy'] / here)}": path.read_bytes()
        for here, there in SHIPPED.items()
        for path in (built["copy"] / here).rglob("*")
        if path.is_file() and (path.suffix in SUFFIXES or "templates" in path.parts)
    }
    assert shipped.keys() == folders.keys()
    assert shipped == folders
    assert {name.split("/")[0] for name in shipped} == {"reference_numpy", "spec_tests"}
    assert {"spec_tests/py.typed", "reference_numpy/py.typed", "spec_tests/backends/numpy_cpu.py"} <= shipped.keys()
    assert "entry_points.txt" in info
    assert any(name.endswith("LICENSE") for name in info)


@pytest.mark.rotating
def test_the_sdist_has_the_meta_tests(built: dict[str, Path]) -> None:
    import tarfile

    with tarfile.open(built["sdist"]) as sdist:
        names = {name.split("/", 1)[1] for name in sdist.getnames() if "/" in name}
    assert {"conftest.py", "pyproject.toml", "LICENSE", "backends/numpy_cpu.py", "meta_tests/project/test_packaging.py"} <= names
    assert {"ARCHITECTURE.md", "CONTRIBUTING.md", "noxfile.py", "docs/_static/packages.svg", "meta_tests/README.md"} <= names
    assert not any(name.endswith(".pyc") for name in names)


@pytest.mark.rotating
@pytest.mark.parametrize("backend", ["numpy-cpu", "mine.py"])
def test_the_installed_suite_runs_from_an_empty_folder(backend: str, built: dict[str, Path], tmp_path: Path) -> None:
    write(tmp_path, mine=NUMPY + RELU)
    args = ("--pyargs", "spec_tests", f"--backend={backend}", "--effort=smoke", "-k", "relu.reference or gelu.reference")
    done = pytest_run(tmp_path, *args, env=environment(built["site"]))
    assert done.code == 0, done.text
    assert done.ids == ({"relu.reference"} if backend == "mine.py" else {"relu.reference", "gelu.reference"})


def write_hostile_project(folder: Path) -> None:
    """Write a project whose configuration and names could interfere with the suite."""
    (folder / "pyproject.toml").write_text(
        """
[tool.pytest.ini_options]
python_files = ["check_*.py"]
python_functions = ["check_*"]
python_classes = ["Check"]
filterwarnings = ["error"]
addopts = ["--strict-markers", "--strict-config"]
xfail_strict = true
"""
    )
    (folder / "backends").mkdir()
    write(folder / "backends", __init__="raise RuntimeError('not yours')", numpy_cpu="raise RuntimeError('nor this')")
    write(folder, conftest="import pytest\n\n\n@pytest.fixture(autouse=True)\ndef theirs():\n    yield\n")
    write(folder, check_own="def check_nothing(theirs):\n    pass\n\n\ndef test_never():\n    assert False\n")


@pytest.mark.rotating
def test_the_installed_suite_runs_in_a_hostile_project(built: dict[str, Path], tmp_path: Path) -> None:
    write_hostile_project(tmp_path)
    write(tmp_path, mine=NUMPY + EPS_OUTSIDE + RELU)
    args = ("--pyargs", "spec_tests", "--backend=mine.py", "--backend=numpy-cpu", "--effort=smoke")
    selection = ("-k", "relu.reference or relu.nan_propagation or rms_norm.odd or rms_norm.reference")
    done = pytest_run(tmp_path, *args, "--dtype=float32", *selection, env=environment(built["site"], tmp_path))
    assert done.code == 1, done.text
    passing = ("relu.reference mine", "relu.reference numpy-cpu", "rms_norm.odd mine", "rms_norm.reference numpy-cpu")
    expected = {f"{name} float32": "passed" for name in passing} | {"rms_norm.reference mine float32": "failed"}
    assert done.statuses.items() >= expected.items()
    assert "INTERNALERROR" not in done.text
    own = pytest_run(tmp_path, "-q", env=environment(built["site"], tmp_path))
    assert own.nodes == {"check_own::check_nothing": ""}


@pytest.mark.rotating
def test_another_project_may_have_its_own_backend_option(built: dict[str, Path], tmp_path: Path) -> None:
    option = "def pytest_addoption(parser):\n    parser.addoption('--backend', default='sqlite')\n"
    fixture = "\n\n@pytest.fixture\ndef backend(request):\n    return request.config.getoption('backend')\n"
    write(tmp_path, conftest="import pytest\n\n\n" + option + fixture)
    write(tmp_path, test_own="def test_own(backend):\n    assert backend in ('sqlite', 'postgres')\n")
    for args in ((), ("--backend=postgres",)):
        done = pytest_run(tmp_path, "-q", *args, env=environment(built["site"]))
        assert done.code == 0, done.text
        assert done.nodes == {"test_own::test_own": ""}


@pytest.mark.rotating
def test_an_unrelated_run_imports_nothing_heavy(built: dict[str, Path], tmp_path: Path) -> None:
    """Hypothesis's own pytest plugin is switched off here, because it imports Hypothesis."""
    heavy = "sys.modules.keys() & {'numpy', 'hypothesis', 'torch', 'reference_numpy', 'spec_tests.running.session'}"
    probe = f"import sys\n\n\ndef test_own():\n    assert 'spec_tests.plugin' in sys.modules\n    assert not {heavy}\n"
    write(tmp_path, test_own=probe)
    done = pytest_run(tmp_path, "-p", "no:hypothesispytest", "-p", "no:xdist", env=environment(built["site"]))
    assert done.code == 0, done.text
    without = pytest_run(tmp_path, "-p", "no:spec_tests.plugin", env=environment(built["site"]))
    assert "'spec_tests.plugin' in" in without.text  # the probe fails if the plugin is not loaded
    assert without.code == 1


def test_a_clone_runs_without_installation() -> None:
    args = ("-p", "no:cacheprovider", "-q", "--effort=smoke", "-k", "relu.reference", "--dtype=float32")
    done = python(ROOT, "-m", "pytest", *args, env=environment())
    assert done.returncode == 0, done.stdout
    assert "numpy-cpu: precision class reached" in done.stdout


# --- the workflow that publishes ----------------------------------------------------------------------------------------

PUBLISH = ROOT / ".github" / "workflows" / "publish.yml"


def test_the_workflow_that_publishes_is_pinned_and_may_do_no_more_than_it_needs() -> None:
    workflow = pytest.importorskip("yaml").safe_load(PUBLISH.read_text(encoding="utf-8"))
    jobs = workflow["jobs"]
    actions = [step["uses"] for job in jobs.values() for step in job["steps"] if "uses" in step]
    assert len(actions) == 5
    assert [action for action in actions if not re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", action)] == []
    assert workflow["permissions"] == {}
    assert {name: job["permissions"] for name, job in jobs.items()} == {
        "build": {"contents": "read"},
        "upload": {"id-token": "write"},
    }
    assert jobs["upload"]["needs"] == "build"
    assert jobs["upload"]["environment"] == "publish"


def test_every_file_states_the_same_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: \"?([\w.]+)\"?$", citation, re.MULTILINE)[1] == __version__  # type: ignore[index]
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "spec_tests.specification.version.__version__"}
