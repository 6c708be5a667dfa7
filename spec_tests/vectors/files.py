"""The files of an export, as a folder or as one archive: the vectors, what is known of them, and the hash of each file."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..specification.version import SPEC_VERSION, __version__
from .export import FORMAT, Request, build_vectors, pack_vectors

SUMMARY, SCHEMA, MANIFEST, INTERFACES = "vectors.json", "vectors.schema.json", "SHA256SUMS", "operations.json"

Files = Mapping[str, bytes]


def build_files(
    names: tuple[str, ...], request: Request, describe: Callable[[list[str]], Any], tell: Callable[[str], None]
) -> dict[str, bytes]:
    """Return the content of each file by its name: of the operations that have a vector, and of what describes them.

    `describe` returns the names, shapes, dtypes and defaults of operations, as `spec-tests describe --json` prints them. `tell`
    is given a line for each operation.
    """
    files: dict[str, bytes] = {}
    records, without = [], []
    for name in names:
        vectors = build_vectors(name, request)
        if vectors is None:
            without.append(name)
            tell(f"{name:<32} no vectors: no call inside the domain is small enough")
            continue
        files[f"{name}.safetensors"] = data = pack_vectors(vectors)
        records.append(vectors.record(len(data)))
        tell(_describe_record(records[-1]))
    summary = {
        "format": FORMAT,
        "spec": SPEC_VERSION,
        "suite": __version__,
        "seed": request.seed,
        "count": request.count,
        "dtypes": list(request.dtypes),
        "domain": _as_json(request.domain),
        "operations": records,
        "without vectors": without,
    }
    files[SUMMARY] = _write_json(summary)
    files[INTERFACES] = _write_json(describe([record["operation"] for record in records]))
    files[SCHEMA] = (Path(__file__).parent / "schema.json").read_bytes()
    files[MANIFEST] = write_manifest(files)
    return files


def _describe_record(record: Mapping[str, Any]) -> str:
    caught = f", catch {record['caught']} of {record['deviations']} known bugs" if "caught" in record else ""
    about = f"{record['vectors']:>3} vectors, {record['plain']:>3} plain, {record['bytes']:>8} bytes"
    return f"{record['operation']:<32} {about}{caught}"


def _as_json(domain: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return a domain as JSON states it."""
    return {
        name: {
            key: {"range": [value.start, value.stop, value.step]} if isinstance(value, range) else value
            for key, value in entry.items()
        }
        for name, entry in domain.items()
    }


def _write_json(value: Any) -> bytes:
    return (json.dumps(value, indent=1) + "\n").encode()


def write_manifest(files: Files) -> bytes:
    """Return the hash of each file, as sha256sum prints and checks them."""
    return "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(files.items())).encode()


def write_folder(folder: Path, files: Files) -> None:
    """Write the files into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)


def write_archive(path: Path, files: Files) -> str:
    """Write the files as a tar archive without times, owners and compression, and return its hash: equal files, equal bytes."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in sorted(files.items()):
            entry = tarfile.TarInfo(f"spec_tests-vectors/{name}")
            entry.size, entry.mode = len(data), 0o644
            archive.addfile(entry, io.BytesIO(data))
    path.write_bytes(buffer.getvalue())
    return hashlib.sha256(buffer.getvalue()).hexdigest()


def read_files(path: Path) -> dict[str, bytes]:
    """Return the files of a folder or of an archive by their names. Nothing is written. Raise OSError or tarfile.TarError."""
    if path.is_dir():
        return {file.name: file.read_bytes() for file in sorted(path.iterdir()) if file.is_file()}
    with tarfile.open(path) as archive:
        return {Path(entry.name).name: data for entry, data in _read_entries(archive)}


def _read_entries(archive: tarfile.TarFile) -> Iterator[tuple[tarfile.TarInfo, bytes]]:
    for entry in archive.getmembers():
        if entry.isfile() and (file := archive.extractfile(entry)) is not None:
            yield entry, file.read()
