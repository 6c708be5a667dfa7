"""What report.jsonl holds besides the verdict records: details of a verdict, and the backends.

They are collected in the process that runs the backend: with pytest-xdist, in the worker.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from ..implementation.backend import Backend
from ..implementation.domain import canonical, describe_domain
from ..implementation.environment import backend_file
from ..implementation.lookup import source_file
from ..specification.conventions import describe_statement
from ..specification.registry import gradients, operations, specification
from ..trials.invariant import Invariant
from ..trials.trial import Trial
from .imported_files import hash_imports
from .session import Session


def collect_details(session: Session, invariant: Invariant, trial: Trial, failures: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the details of a verdict, with the parts of its failure messages: that of the failure first, then other causes'.

    The first call in a process also returns the records of the backends.
    """
    is_first, session.backends_recorded = not session.backends_recorded, True
    return {
        "verdict": {
            "statement": " ".join(invariant.statement.split()),
            "source": invariant.source,
            "hardest": trial.tally.worst or None,
            "failure": failures[0] if failures else None,
            "other_failures": failures[1:],
        },
        "backends": build_backend_records(session) if is_first else [],
    }


def build_backend_records(session: Session) -> list[dict[str, Any]]:
    """Return the records of the backends of a run."""
    return [build_backend_record(backend, session.folder, session.confinement) for backend in session.backends]


def build_backend_record(backend: Backend, folder: Path, confinement: str = "") -> dict[str, Any]:
    """Return the record of a backend: its file with a hash, its framework, its operations, and what it states."""
    file, framework = backend_file(backend.text, folder) or source_file(backend.source), backend.framework
    implemented = [name for name in operations() if backend.has(name)]
    domains = {name: describe_domain(canonical(specification(name), backend.domain.get(name, {}))) for name in implemented}
    return {
        "record": "backend",
        "name": backend.name,
        "text": backend.text,
        "version": backend.version,
        "file": _format_path(file, folder) if file else None,
        "sha256": hash_file(file) if file else None,
        "imports": hash_imports(file) if file else {},
        "framework": {"name": framework.name, "version": framework.version},
        "device": framework.device or framework.place,
        **({"confinement": confinement} if confinement else {}),
        "dtypes": list(backend.dtypes),
        "operations": implemented,
        "gradients": [name for name in gradients() if backend.has(name)],
        "domain": {name: domain for name, domain in domains.items() if domain},
        "conventions": {name: describe_statement(stated) for name, stated in backend.conventions.items()},
    }


def hash_file(file: Path) -> str:
    """Return the SHA-256 of a file of any size."""
    with file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


def _format_path(file: Path, folder: Path) -> str:
    """Return the path relative to the folder of the run. For a file elsewhere, return its name: its folders are private."""
    return str(file.relative_to(folder)) if folder in file.parents else file.name
