"""The project's daily commands: `nox -l` lists them, `nox -s lint` runs one. `.ci/run` runs most of them.

They run in the environment that has nox, which `pip install -e '.[dev,docs]' -c constraints.txt` sets up: PyTorch is too large
to be installed for each session. Arguments after `--` go to the command: `nox -s tests -- meta_tests/bounds -n 2`.
"""

import ast
import shutil
import sys
import tomllib
from pathlib import Path

import nox
from packaging.requirements import Requirement

nox.options.default_venv_backend = "none"
nox.options.sessions = ["lint", "types", "imports"]  # what takes seconds

ROOT = Path(__file__).parent
KEPT = ROOT / ".nox" / "nightly"  # what a nightly session that was cut has shown
# Tests of one xdist_group share a run of the suite, which one worker makes.
WHOLE = ("meta_tests", "reference_numpy", "--doctest-modules", "-n", "2", "--dist=loadgroup")
DAILY = ("-m", "not nightly", "--hypothesis-profile=ci")  # the same examples in each run, and one in ten of the rotating tests
LIBRARY_TESTS = (
    "meta_tests/implementation/test_library_backends.py",
    "meta_tests/implementation/test_triton_kernels.py",
    "meta_tests/devices/test_jax_devices.py",
    "meta_tests/tampering/test_imports_of_frameworks.py",
    "meta_tests/sharding/test_rank_devices.py",
    "meta_tests/sharding/test_variants.py",
    "meta_tests/importers/test_flashinfer_bench.py",
    "meta_tests/importers/test_onnx_node.py",
    "meta_tests/campaign/test_ray.py",
)

LONG = 300  # lines of a file of the suite
TRIED_EXTRAS = ("dev", "docs", "array-api-strict", "dask")  # with the extras that these name; PyTorch is that of constraints.txt


def run(session: nox.Session, tool: str, *arguments: str) -> None:
    """Run a tool of this environment."""
    session.run(str(Path(sys.executable).with_name(tool)), *arguments, external=True)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, formatting, spelling and wording."""
    run(session, "ruff", "check", ".")
    run(session, "ruff", "format", "--check", ".")
    run(session, "codespell")
    run(session, "python", "docs/vocabulary.py")
    run(session, "python", "docs/prose.py")
    run(session, "python", "-m", "meta_tests.measure")  # lists the figures that are stale
    for path in sorted([*(ROOT / "spec_tests").rglob("*.py"), *(ROOT / "reference_numpy").glob("*.py")]):
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > LONG:
            session.warn(f"{path.relative_to(ROOT)} has {lines} lines: is it one idea?")


@nox.session
def types(session: nox.Session) -> None:
    """Check types with mypy."""
    run(session, "mypy")


@nox.session
def imports(session: nox.Session) -> None:
    """Check that packages import lower floors only (pyproject.toml, [tool.importlinter])."""
    run(session, "lint-imports", "--no-cache")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site into docs/_build; every warning is an error."""
    run(session, "sphinx-build", "--quiet", "-W", "--keep-going", "docs", "docs/_build", *session.posargs)


@nox.session
def main(session: nox.Session) -> None:
    """Run the suite on PyTorch's CPU kernels, with the same examples in each run: the main job."""
    run(session, "pytest", "--backend=torch-cpu", "-n", "2", "--quiet", "--hypothesis-profile=ci", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """Run the project's own tests, or those named after --. The last lines say what was skipped, and how to get it."""
    run(session, "pytest", *(session.posargs or (*WHOLE, *DAILY)))


@nox.session
def tests_complete(session: nox.Session) -> None:
    """Run `tests` but for those of `libraries`, and fail if one is skipped because a tool or a library is missing."""
    others = (f"--ignore={path}" for path in LIBRARY_TESTS)
    run(session, "pytest", *WHOLE, *DAILY, "--fail-if-lacking", *others, *session.posargs)


@nox.session
def nightly(session: nox.Session) -> None:
    """Run the suite on new examples, and all tests of the project with all examples; after a cut, what has not passed yet."""
    command = (sys.executable, "-m", "meta_tests.support.kept_results")
    kept = KEPT / str(session.run(*command, external=True, silent=True)).strip()[:16]  # of these sources alone
    report = (f"--report={kept / 'report'}", *["--resume"] * (kept / "report" / "report.jsonl").exists())
    run(session, "pytest", "--backend=torch-cpu", "-n", "2", "--quiet", *report)
    run(session, "pytest", *WHOLE, f"--keep-passed={kept / 'passed.txt'}", *session.posargs)
    if not session.posargs:
        shutil.rmtree(KEPT)  # all is green: the next night begins anew


@nox.session
def mutations(session: nox.Session) -> None:
    """Try the mutations of what judges that were not tried on today's sources. A run that was ended goes on where it was."""
    run(session, "python", "-m", "meta_tests.measure.mutations", "run", "--stale", *session.posargs)
    run(session, "python", "-m", "meta_tests.measure", "mutations.json", "--record")
    run(session, "pytest", "meta_tests/project/test_mutations.py")


@nox.session
def libraries(session: nox.Session) -> None:
    """Test what needs the extras `libraries` and `campaign`: the backends of other libraries, and campaigns on Ray."""
    run(session, "pytest", *LIBRARY_TESTS, *DAILY, *session.posargs)


@nox.session
def release_check(session: nox.Session) -> None:
    """Fail if a figure rests on other operations, laws, bounds or causes than today's, or a mutation on other sources."""
    run(session, "python", "-m", "meta_tests.measure", "--check")
    run(session, "python", "-m", "meta_tests.measure.mutations", "run", "--stale")


@nox.session
def measure(session: nox.Session) -> None:
    """List the commands that measure; each takes minutes to hours, and writes into docs/measured."""
    commands = {"benchmarks": ROOT / "benchmarks" / "__main__.py"}
    commands |= {f"meta_tests.measure.{path.stem}": path for path in sorted((ROOT / "meta_tests" / "measure").glob("*.py"))}
    for name, path in commands.items():
        text = path.read_text(encoding="utf-8")
        if '__name__ == "__main__"' in text:
            told = (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
            session.log(f"python -m {name}\n    {told}")


def list_floors(extras: tuple[str, ...] = TRIED_EXTRAS) -> dict[str, str]:
    """Return the oldest version that pyproject.toml allows of each library that the suite needs, and that the extras bring."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pending = [*map(Requirement, project["dependencies"]), Requirement(f"{project['name']}[{','.join(extras)}]")]
    floors = {}
    while pending:
        requirement = pending.pop()
        if requirement.name == project["name"]:
            pending += [Requirement(text) for extra in requirement.extras for text in project["optional-dependencies"][extra]]
        else:
            (floors[requirement.name],) = (each.version for each in requirement.specifier if each.operator == ">=")
    return floors


@nox.session(venv_backend="venv")
def floors(session: nox.Session) -> None:
    """Run the project's own tests, or those named after --, with the oldest versions that pyproject.toml allows."""
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    lines = [f"{name}=={version}" for name, version in list_floors().items() if name != "torch"]
    oldest = Path(session.create_tmp()) / "floors.txt"
    oldest.write_text("\n".join([*lines, *(pin for pin in pins if pin.startswith("torch=="))]), encoding="utf-8")
    session.install("-e", f".[{','.join(TRIED_EXTRAS)}]", "-c", str(oldest))
    session.run("pytest", *(session.posargs or (*WHOLE, *DAILY)))


@nox.session
def strange(session: nox.Session) -> None:
    """Run the README's commands on fresh Debian systems. It needs Linux, root and debootstrap."""
    run(session, "python", "-m", "meta_tests.measure.strange_machines", *session.posargs)
