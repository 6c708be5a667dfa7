"""What report.jsonl holds besides the verdicts themselves: details of a verdict, and the backends.

They are collected in the process that runs the backend: with pytest-xdist, in the worker.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from ..implementation.backend import Backend
from ..implementation.domain import canonical, describe_domain
from ..implementation.environment import backend_file
from ..implementation.lookup import source_file
from ..report.records import from_record
from ..report.run_lines import Framework, StatedBackend
from ..report.verdict import ForeignMessage, Hardest, Message
from ..specification.conventions import describe_statement
from ..specification.registry import gradients, operations, specification
from ..trials.invariant import Invariant
from ..trials.trial import Trial
from .imported_files import hash_imports
from .reported import Details
from .session import Session


def collect_details(
    session: Session, invariant: Invariant, trial: Trial, messages: Sequence[Message | ForeignMessage]
) -> Details:
    """Return the details of a verdict, with the messages of its failure: that of the failure first, then other causes'.

    The first call in a process also returns the backends.
    """
    is_first, session.backends_recorded = not session.backends_recorded, True
    return Details(
        statement=" ".join(invariant.statement.split()),
        source=invariant.source,
        hardest=from_record(Hardest, trial.tally.worst) if trial.tally.worst else None,
        failure=messages[0] if messages else None,
        other_failures=tuple(messages[1:]),
        backends=tuple(state_backends(session)) if is_first else (),
    )


def state_backends(session: Session) -> list[StatedBackend]:
    """Return what the report of a run says of its backends."""
    return [state_backend(backend, session.folder, session.confinement) for backend in session.backends]


def state_backend(backend: Backend, folder: Path, confinement: str = "") -> StatedBackend:
    """Return what a report says of a backend: its file with a hash, its framework, its operations, and what it states."""
    file, framework = backend_file(backend.text, folder) or source_file(backend.source), backend.framework
    implemented = [name for name in operations() if backend.has(name)]
    domains = {name: describe_domain(canonical(specification(name), backend.domain.get(name, {}))) for name in implemented}
    return StatedBackend(
        name=backend.name,
        text=backend.text,
        version=backend.version,
        file=_format_path(file, folder) if file else None,
        sha256=hash_file(file) if file else None,
        imports=hash_imports(file) if file else {},
        framework=Framework(name=framework.name, version=framework.version),
        device=framework.device or framework.place,
        device_facts=framework.device_facts,
        isolated=getattr(framework, "connection", None) is not None,
        confinement=confinement,
        dtypes=tuple(backend.dtypes),
        operations=tuple(implemented),
        gradients=tuple(name for name in gradients() if backend.has(name)),
        domain={name: domain for name, domain in domains.items() if domain},
        conventions={name: describe_statement(stated) for name, stated in backend.conventions.items()},
    )


def hash_file(file: Path) -> str:
    """Return the SHA-256 of a file of any size."""
    with file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


def _format_path(file: Path, folder: Path) -> str:
    """Return the path relative to the folder of the run. For a file elsewhere, return its name: its folders are private."""
    return str(file.relative_to(folder)) if folder in file.parents else file.name
