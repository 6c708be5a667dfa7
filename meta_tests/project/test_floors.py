"""The oldest versions that pyproject.toml allows: each is stated, and `nox -s floors` tries them together."""

import importlib.util
import tomllib
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from ..support.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REQUIREMENTS = [
    requirement
    for texts in (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
    for requirement in map(Requirement, texts)
    if requirement.name != PROJECT["name"]
]


@pytest.fixture(scope="module")
def noxfile() -> ModuleType:
    pytest.importorskip("nox")
    found = importlib.util.spec_from_file_location("noxfile", ROOT / "noxfile.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_every_library_has_one_floor_and_a_pin_that_is_no_older() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = {canonicalize_name(pin.name): pin.specifier for pin in map(Requirement, (line for line in lines if line[:1] != "#"))}
    assert len(REQUIREMENTS) > 40
    for requirement in REQUIREMENTS:
        (floor,) = requirement.specifier
        assert floor.operator == ">=", requirement
        if pin := pins.get(canonicalize_name(requirement.name)):
            assert Version(floor.version) <= Version(next(iter(pin)).version), requirement


def test_the_session_tries_what_the_suite_needs_and_the_extras_that_it_names(noxfile: ModuleType) -> None:
    floors = noxfile.list_floors()
    assert floors.keys() >= {Requirement(text).name for text in PROJECT["dependencies"]}
    assert floors.keys() >= {"ml_dtypes", "safetensors", "pytest-xdist", "jinja2", "jsonschema", "torch", "sphinx", "dask"}
    assert floors == {item.name: next(iter(item.specifier)).version for item in REQUIREMENTS if item.name in floors}
