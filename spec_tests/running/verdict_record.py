"""The verdict on a trial: the same in report.jsonl, in a JUnit file and in the list that `check` returns."""

from __future__ import annotations

from typing import Any

from ..calls.call_facts import optional_defaults
from ..implementation.backend import Backend
from ..implementation.domain import describe_domain
from ..inputs.choices import format_choices
from ..report.causes import state_cause
from ..report.verdict import StatedConventions, StatedShapes, StatedShares, StatedSkill, TrialIdentity, Variants, Verdict
from ..specification.conventions import conventions_of, find_passings
from ..specification.first_use import import_modules
from ..specification.run_settings import current_settings
from ..trials.invariant import Invariant
from ..trials.shares import Shares
from ..trials.trial import Trial


def identify_trial(invariant: Invariant, trial: Trial) -> TrialIdentity:
    """Return which trial it is."""
    framework = trial.backend.framework
    return TrialIdentity(
        id=invariant.id_for(trial.operation_name),
        backend=trial.backend.name,
        dtype=trial.dtype,
        device=framework.device or framework.place,
    )


def _state_skill(trial: Trial) -> StatedSkill | None:
    """Return what a comparison with the oracle has earned, None if the run does not measure it."""
    tally, skill = trial.tally, trial.tally.skill
    if not skill.calls:
        return None
    return StatedSkill(earned=skill.earned, possible=skill.possible, drawn=tally.coverage.drawn, planned=tally.planned)


def _state_shapes(backend: Backend) -> StatedShapes | None:
    """Return what was called since the last verdict, None in a run where first calls of shapes are as fast as others."""
    counts = backend.shapes.tell()
    if current_settings().shape_count is None and not backend.shapes.is_slow:
        return None
    return StatedShapes(calls=counts.calls, new=counts.new, seconds=round(counts.seconds, 4))


def _state_shares(shares: Shares) -> StatedShares:
    return StatedShares(precision=shares.reached, worst=shares.worst, median=shares.median)


def _describe_domain(trial: Trial, operation: str) -> str:
    """Return the domain in which the operation is tried, and where it comes from if the backend does not state it."""
    if operation.removesuffix("_vjp") not in trial.backend.domain:
        return ""
    text = describe_domain(trial.operation(operation).domain)
    return f"{text} (given by --domain)" if text and trial.backend.domain_is_given else text


def build_verdict(invariant: Invariant, trial: Trial, status: str, reason: str, seconds: float) -> Verdict:
    """Return the verdict on a trial."""
    tally, operation = trial.tally, trial.operation_name or invariant.module
    return Verdict(
        **vars(identify_trial(invariant, trial)),
        operation=operation,
        version=trial.backend.version,
        names=trial.backend.describe_names(operation),
        beyond=", ".join(getattr(trial.backend.source, "beyond", ())),
        domain=_describe_domain(trial, operation),
        kind=invariant.kind,
        level=invariant.level,
        tier=invariant.tier,
        status=status,
        reason=reason,
        cut=tally.cut if status == "skipped" else "",
        precision=tally.shares.reached,
        examples=tally.examples,
        refused=len(tally.refusals),
        shapes=_state_shapes(trial.backend),
        skill=_state_skill(trial),
        **_describe_coverage(trial, operation),
        dtypes_stated=bool(getattr(trial.backend.source, "dtypes", ())),
        conventions=_state_conventions(trial, operation),
        worst=tally.shares.worst,
        median=tally.shares.median,
        results={name: _state_shares(shares) for name, shares in tally.results.items()},
        unclaimed=tally.unclaimed / tally.elements if tally.elements else 0.0,
        seconds=round(seconds, 4),
        example=format_choices(tally.choices) if status == "failed" else None,
        known=tally.known,
        stale=tally.stale,
        repeats=tally.repeats,
        oracle=trial.backend.imports_oracle,
        causes=tuple(
            state_cause(finding.cause, finding.examples) for finding in (tally.findings_in_order if status == "failed" else [])
        ),
    )


def _state_conventions(trial: Trial, operation: str) -> StatedConventions:
    """Return the conventions that the backend states for the operation, and how many answers fit which value of the others."""
    own = (convention.name for convention in conventions_of(operation) if operation in convention.operations)
    passings = (passing.name for passing in find_passings(operation) if operation in passing.operations)
    stated = {name: value for name in (*own, *passings) if (value := trial.backend.convention(name, operation))}
    return StatedConventions(stated=stated, answers={name: dict(counts) for name, counts in trial.tally.conventions.items()})


def _describe_coverage(trial: Trial, name: str) -> dict[str, Any]:
    """Return the fields of a verdict that say what was drawn, what was answered, and what was refused."""
    coverage = trial.tally.coverage
    variants = coverage.describe_variants()
    if coverage.drawn and not (operation := trial.operation(name)).missing:
        lacking = [argument for argument in optional_defaults(operation.spec) if not operation.accepts(argument)]
        variants["refused"] += [argument for argument in lacking if argument not in variants["refused"]]
    return {
        "drawn": coverage.drawn,
        "answered": coverage.answered,
        "unexplained": coverage.unexplained(),
        "refusals": tuple(coverage.list_refusals()),
        "variants": Variants(**{kind: tuple(found) for kind, found in variants.items()}),
        "region": _find_region(trial, name),
    }


def _find_region(trial: Trial, name: str) -> tuple[str, str] | None:
    """Return the region that the backend refuses in words, and the line that states it, None if it refuses none."""
    examples = [e for e in trial.tally.coverage.examples if e.answered or e.refusal == "backend"]
    if not any(example.refusal == "backend" for example in examples):
        return None
    (module,) = import_modules("spec_tests.diagnosis.regions.refused")
    operation = name.removesuffix("_vjp")
    region = module.find_region(operation, [(e.refusal == "backend", e.facts) for e in examples])
    if region is None and not trial.tally.coverage.unexplained():
        region = module.describe_options(operation, *trial.tally.coverage.list_options())
    return (region.words, region.advice) if region else None
