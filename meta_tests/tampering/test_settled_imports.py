"""Test that the judge imports nothing that a backend has written, in one process and in two."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from spec_tests.report import read
from spec_tests.tampering.settled_imports import find_imports, list_needed

from ..support.pytest_process import NUMPY, environment

PLANTED = 'import os\nopen("imported", "a").write(__name__ + " ")\nos._exit(0)\n'
PLANTS = f"""
from pathlib import Path

def relu(x):
    for name in ("jinja2", "markupsafe", "resource", "fractions", "uuid", "html", "safetensors", "ml_dtypes", "torch"):
        Path(f"{{name}}.py").write_text({PLANTED!r})
    return np.zeros_like(x)
"""
PATHS = f"""
import sys, tempfile
from pathlib import Path

def relu(x):
    folder = Path(tempfile.mkdtemp())
    sys.path.insert(0, str(folder))
    for name in ("jinja2", "markupsafe"):
        (folder / f"{{name}}.py").write_text({PLANTED!r})
    return np.zeros_like(x)
"""
FINDERS = """
import sys
from importlib.machinery import ModuleSpec

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("jinja2", "markupsafe"):
            import os
            open("imported", "a").write(name)
            os._exit(0)

def relu(x):
    sys.meta_path[:0] = [Finder()] * (not any(isinstance(finder, Finder) for finder in sys.meta_path))
    return np.zeros_like(x)
"""


@pytest.mark.rotating
@pytest.mark.parametrize("way", [[], ["--isolate"]], ids=["in one process", "isolated"])
@pytest.mark.parametrize("body", [PLANTS, PATHS, FINDERS], ids=["files in the run's folder", "a folder of the path", "a finder"])
def test_the_judge_imports_nothing_of_the_backend(tmp_path: Path, way: list[str], body: str) -> None:
    (tmp_path / "mine.py").write_text(NUMPY + body)
    words = ["--pyargs", "spec_tests", "--backend=mine.py", "--effort=smoke", "-k", "relu.reference", "--report=out", *way]
    command = [sys.executable, "-m", "pytest", "-p", "spec_tests.plugin", "-p", "no:cacheprovider", *words]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert not (tmp_path / "imported").exists(), done.stdout
    assert done.returncode == 1, done.stdout + done.stderr
    assert read(tmp_path / "out").complete
    assert (tmp_path / "out" / "report.html").exists()


def test_what_is_needed_comes_from_the_package() -> None:
    """What is loaded already changes nothing: a package that is loaded may import more of its modules later."""
    importlib.import_module("jinja2")
    list_needed.cache_clear()
    needed = list_needed()
    assert {"jinja2", "jinja2.runtime", "spec_tests.report.page", "spec_tests.deviations.rms_norm", "reference_numpy.relu"} <= {
        *needed
    }
    assert not any(name.partition(".")[0] in ("torch", "jax", "ray") for name in needed)


def test_imports_inside_of_functions_are_found(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    lines = [
        "import a",
        "def f():",
        '    """Take it',
        '    from b import c."""',
        "    import d.e",
        "    from g import h",
        "    from . import k",
    ]
    path.write_text("\n".join(lines))
    assert list(find_imports(path)) == ["d.e", "g"]
