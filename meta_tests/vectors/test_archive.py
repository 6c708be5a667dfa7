"""Test the archive of vectors: the same bytes each time, whole, of its schema, and checked by what every Unix has."""

import json
import os
import shutil
import struct
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from spec_tests.commands import main
from spec_tests.vectors.files import MANIFEST, SCHEMA, SUMMARY, read_files, write_archive, write_manifest
from spec_tests.vectors.verify import find_fault

from ..support.paths import ROOT

jsonschema = pytest.importorskip("jsonschema")
WORDS = ("--dtype=float32", "relu", "alibi_slopes")


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("archive") / "vectors.tar"
    assert main(["vectors", f"--archive={path}", *WORDS]) == 0
    return path


def test_an_archive_is_whole_and_says_so_in_one_sentence(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["vectors", f"--verify={archive}"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert " is whole: " in line
    assert " vectors of 2 operations, spec_tests vectors 2, " in line


@pytest.mark.rotating
def test_the_same_options_make_the_same_bytes(archive: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "spec_tests", "vectors", "--archive=again.tar", *WORDS]
    environment = os.environ | {"PYTHONHASHSEED": "7", "PYTHONPATH": str(ROOT)}
    subprocess.run(words, cwd=tmp_path, env=environment, check=True, timeout=300, capture_output=True)
    assert (tmp_path / "again.tar").read_bytes() == archive.read_bytes()


def test_another_seed_makes_other_vectors(archive: Path, tmp_path: Path) -> None:
    assert main(["vectors", f"--export={tmp_path}", "--seed=1", *WORDS]) == 0
    first, second = read_files(archive), read_files(tmp_path)
    assert first.keys() == second.keys()
    assert first["relu.safetensors"] != second["relu.safetensors"]


def test_the_files_are_of_the_schema_in_the_archive(archive: Path) -> None:
    files = read_files(archive)
    schema = json.loads(files[SCHEMA])
    jsonschema.validate(json.loads(files[SUMMARY]), schema)
    for name, data in files.items():
        if name.endswith(".safetensors"):
            (size,) = struct.unpack("<Q", data[:8])
            jsonschema.validate(json.loads(data[8 : 8 + size]), {"$ref": "#/$defs/header", "$defs": schema["$defs"]})
    described = json.loads(files["operations.json"])["operations"]
    assert described.keys() == {"relu", "alibi_slopes"}


def test_sha256sum_checks_an_unpacked_archive(archive: Path, tmp_path: Path) -> None:
    if shutil.which("sha256sum") is None:
        pytest.skip("sha256sum is not installed")
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path, filter="data")
    folder = tmp_path / "spec_tests-vectors"
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", MANIFEST], cwd=folder, check=True, timeout=60)
    (folder / "relu.safetensors").write_bytes(b"")
    words = ["sha256sum", "--check", "--strict", "--quiet", MANIFEST]
    assert subprocess.run(words, cwd=folder, check=False, timeout=60, capture_output=True).returncode == 1


def rewrite(files: dict[str, bytes], name: str, change: Callable[[bytes], bytes]) -> None:
    """Change a file, and write the manifest anew, as somebody does who means to deceive or errs in the same way."""
    files[name] = change(files[name])
    del files[MANIFEST]
    files[MANIFEST] = write_manifest(files)


DAMAGES: dict[str, tuple[Callable[[dict[str, bytes]], object], str]] = {
    "a byte is another": (
        lambda files: files.update({"relu.safetensors": files["relu.safetensors"][:-1] + b"x"}),
        "is not the file",
    ),
    "a file is gone": (lambda files: files.pop("relu.safetensors"), "relu.safetensors is missing"),
    "a file too many": (lambda files: files.update({"x.txt": b""}), "x.txt is not in SHA256SUMS"),
    "no manifest": (lambda files: files.pop(MANIFEST), "there is no SHA256SUMS"),
    "cut off": (lambda files: rewrite(files, "relu.safetensors", lambda data: data[:-8]), "other bytes than the header says"),
    "a header too long": (lambda files: rewrite(files, "relu.safetensors", lambda data: data[:100]), "it is cut off"),
    "of another operation": (
        lambda files: rewrite(files, "relu.safetensors", lambda data: data.replace(b'"relu"', b'"silu"')),
        "vectors of silu",
    ),
    "of another format": (
        lambda files: rewrite(files, SUMMARY, lambda data: data.replace(b"vectors 2", b"vectors 9")),
        "has the format 'spec_tests vectors 9'",
    ),
    "no interval": (
        lambda files: rewrite(files, "relu.safetensors", lambda data: data.replace(b'"0.low"', b'"0.end"')),
        "vector 0: it has no low",
    ),
    "no summary": (lambda files: rewrite(files, SUMMARY, lambda data: b"{"), "vectors.json cannot be read"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_archive_is_called_so(damage: str, archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change, said = DAMAGES[damage]
    files = read_files(archive)
    assert find_fault(files) == ""
    change(files)
    write_archive(tmp_path / "damaged.tar", files)
    assert main(["vectors", f"--verify={tmp_path / 'damaged.tar'}"]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert " is damaged: " in line
    assert said in line


def test_what_is_no_archive_is_called_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text").write_text("text")
    assert main(["vectors", f"--verify={tmp_path / 'text'}"]) == 1
    assert "is no archive of vectors" in capsys.readouterr().out
    with pytest.raises(SystemExit) as end:
        main(["vectors", f"--verify={tmp_path / 'nothing'}"])
    assert end.value.code == 4
