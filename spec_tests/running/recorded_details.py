"""What a report keeps of a verdict and of a backend, collected in the process that has them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from ..implementation.backend import Backend
from ..implementation.domain import canonical, describe_domain
from ..implementation.lookup import source_file
from ..specification.registry import gradients, operations, specification
from ..trials.invariant import Invariant
from ..trials.trial import Trial
from .session import Session


def record_details(session: Session, invariant: Invariant, trial: Trial, failure: dict[str, Any] | None) -> dict[str, Any]:
    """Beside the facts of a verdict; the backends, with the first one of each process."""
    told, session.backends_recorded = session.backends_recorded, True
    return {
        "verdict": {
            "statement": " ".join(invariant.statement.split()),
            "source": invariant.source,
            "hardest": trial.tally.worst or None,
            "failure": failure,
        },
        "backends": [] if told else [backend_record(backend, session.folder) for backend in session.backends],
    }


def backend_record(backend: Backend, folder: Path) -> dict[str, Any]:
    """A backend, as plain data."""
    file, framework = source_file(backend.source), backend.framework
    present = [name for name in operations() if backend.has(name)]
    domains = {name: describe_domain(canonical(specification(name), backend.domain.get(name, {}))) for name in present}
    return {
        "record": "backend",
        "name": backend.name,
        "text": backend.text,
        "version": backend.version,
        "file": _name(file, folder) if file else None,
        "sha256": hashlib.sha256(file.read_bytes()).hexdigest() if file else None,
        "framework": {"name": framework.name, "version": framework.version},
        "device": framework.device or framework.place,
        "dtypes": list(backend.dtypes),
        "operations": present,
        "gradients": [name for name in gradients() if backend.has(name)],
        "domain": {name: domain for name, domain in domains.items() if domain},
        "conventions": backend.conventions,
    }


def _name(file: Path, folder: Path) -> str:
    """As seen from the folder of the run; no more than the name of a file elsewhere, whose folders are nobody's business."""
    return str(file.relative_to(folder)) if folder in file.parents else file.name
