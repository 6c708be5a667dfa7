"""The folder that a static host serves: files that are written together, beside no other files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..report import ReportError


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files, by their paths in the folder. Raise ReportError if one cannot be written, or if the folder holds others.

    A host would serve others as if they were ours.
    """
    try:
        if others := sorted(list_files(folder) - {*files}):
            raise ReportError(f"{folder} holds {others[0]}, which this command does not write: name a new folder with -o")
        for name, data in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    except OSError as error:
        raise ReportError(f"{error.filename or folder} cannot be written ({error.strerror or error})") from None


def list_files(folder: Path) -> set[str]:
    """Return the paths of all files in a folder."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


def find_differences(folder: Path, files: Mapping[str, bytes]) -> list[str]:
    """Return the files of a folder that are not as they should be: others than these, or too few, or too many."""
    present = list_files(folder)
    changed = {name for name, data in files.items() if name in present and (folder / name).read_bytes() != data}
    return sorted(changed | (present ^ {*files}))
