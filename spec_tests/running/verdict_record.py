"""The record of a verdict: plain data, the same in report.jsonl, in a JUnit file and in the list that `check` returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..calls.call_facts import optional_defaults
from ..implementation.domain import describe_domain
from ..implementation.printable import printable
from ..inputs.choices import format_choices
from ..specification.conventions import conventions_of
from ..specification.first_use import import_modules
from ..trials.invariant import Invariant
from ..trials.trial import Trial

if TYPE_CHECKING:
    from ..trials.causes import Cause


def identify_trial(invariant: Invariant, trial: Trial) -> dict[str, str]:
    """Return the fields that say which trial it is. The entries of a file of known failures have them too."""
    framework = trial.backend.framework
    return {
        "id": invariant.id_for(trial.operation_name),
        "backend": trial.backend.name,
        "dtype": trial.dtype,
        "device": framework.device or framework.place,
    }


def _build_skill_record(trial: Trial) -> dict[str, Any]:
    """Return what a comparison with the oracle has earned, {} if the run does not measure it."""
    tally, skill = trial.tally, trial.tally.skill
    if not skill.calls:
        return {}
    counts = {"drawn": tally.coverage.drawn, "planned": tally.planned}
    return {"skill": {"earned": skill.earned, "possible": skill.possible, **counts}}


def _describe_domain(trial: Trial, operation: str) -> str:
    """Return the domain in which the operation is tried, and where it comes from if the backend does not state it."""
    if operation.removesuffix("_vjp") not in trial.backend.domain:
        return ""
    text = describe_domain(trial.operation(operation).domain)
    return f"{text} (given by --domain)" if text and trial.backend.domain_is_given else text


def build_verdict_record(invariant: Invariant, trial: Trial, status: str, reason: str, seconds: float) -> dict[str, Any]:
    """Return the record of the verdict on a trial."""
    tally = trial.tally
    return {
        **identify_trial(invariant, trial),
        "operation": trial.operation_name or invariant.module,
        "version": trial.backend.version,
        "names": trial.backend.describe_names(trial.operation_name or invariant.module),
        **({"beyond": ", ".join(beyond)} if (beyond := getattr(trial.backend.source, "beyond", ())) else {}),
        "domain": _describe_domain(trial, trial.operation_name or invariant.module),
        "kind": invariant.kind,
        "level": invariant.level,
        "status": status,
        "reason": reason,
        **({"cut": tally.cut} if tally.cut and status == "skipped" else {}),
        "class": tally.shares.reached,
        "examples": tally.examples,
        "refused": len(tally.refusals),
        **_build_skill_record(trial),
        **build_coverage_record(trial, invariant),
        "dtypes_stated": bool(getattr(trial.backend.source, "dtypes", ())),
        "conventions": _build_conventions_record(trial, trial.operation_name or invariant.module),
        "worst": tally.shares.worst,
        "median": tally.shares.median,
        "results": {name: shares.record for name, shares in tally.results.items()},
        "unclaimed": tally.unclaimed / tally.elements if tally.elements else 0.0,
        "seconds": round(seconds, 4),
        "example": format_choices(tally.choices) if status == "failed" else None,
        "known": tally.known,
        "stale": tally.stale,
        "repeats": tally.repeats,
        "oracle": trial.backend.imports_oracle,
        "causes": [
            {**describe_cause(finding.cause), "failing": finding.examples}
            for finding in (tally.findings_in_order if status == "failed" else [])
        ],
    }


def describe_cause(cause: Cause) -> dict[str, Any]:
    """Return what a verdict says of a cause. The key is the same in every run and every process."""
    return {
        "key": printable(cause.key),
        "kind": cause.kind,
        "operation": cause.operation,
        "what": printable(cause.what),
        "wrong": cause.wrong,
        "right": cause.right,
        **({"ended_after": cause.ended_after} if cause.ended_after is not None else {}),
    }


def _build_conventions_record(trial: Trial, operation: str) -> dict[str, Any]:
    """Return the conventions that the backend states for the operation, and how many answers fit which value of the others."""
    asked = [convention for convention in conventions_of(operation) if operation in convention.operations]
    stated = {c.name: value for c in asked if (value := trial.backend.convention(c.name, operation))}
    return {"stated": stated, "answers": {name: dict(counts) for name, counts in trial.tally.conventions.items()}}


def build_coverage_record(trial: Trial, invariant: Invariant) -> dict[str, Any]:
    """Return the fields of a verdict that say what was drawn, what was answered, and what was refused."""
    coverage, name = trial.tally.coverage, trial.operation_name or invariant.module
    variants = coverage.describe_variants()
    if coverage.drawn and not (operation := trial.operation(name)).missing:
        lacking = [name for name in optional_defaults(operation.spec) if not operation.accepts(name)]
        variants["refused"] += [name for name in lacking if name not in variants["refused"]]
    record: dict[str, Any] = {
        "drawn": coverage.drawn,
        "answered": coverage.answered,
        "unexplained": coverage.unexplained(),
        "refusals": coverage.list_refusals(),
        "variants": variants,
        "region": None,
    }
    examples = [e for e in coverage.examples if e.answered or e.refusal == "backend"]
    if any(example.refusal == "backend" for example in examples):
        (module,) = import_modules("spec_tests.diagnosis.refused_region")
        if region := module.find_region(name.removesuffix("_vjp"), [(e.refusal == "backend", e.facts) for e in examples]):
            record["region"] = [region.words, region.advice]
    return record
