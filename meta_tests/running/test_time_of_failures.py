"""Test how much time the failures of an operation may take together."""

import pytest

from spec_tests.inputs.effort import current_effort
from spec_tests.trials.trial import Trial

from ..support.in_process import backend


@pytest.mark.parametrize(
    ("spent", "seconds", "with_the_catalogue"),
    [(0.0, 4.1325, 4.75), (4.0, 0.3325, 0.75), (4.35, 0.0, 0.4), (4.5, 0.0, 0.25), (4.75, 0.0, 0.0), (60.0, 0.0, 0.0)],
)
def test_failures_of_an_operation_share_one_limit(spent: float, seconds: float, with_the_catalogue: float) -> None:
    """Without a limit in all, thirty failures that nothing explains would take half a minute."""
    assert current_effort().failure_seconds == 5.0
    under_test = backend("deviation:softmax/axis-ignored")
    under_test.seconds_after_failures["softmax"] = spent
    trial = Trial(under_test, "float32")
    with trial.after_failure("softmax") as (allowed, _):
        assert allowed == pytest.approx(seconds)
        assert trial.all_seconds == pytest.approx(with_the_catalogue)
    assert under_test.seconds_after_failures["softmax"] >= spent
    with trial.after_failure("gelu") as (allowed, _):
        assert allowed == pytest.approx(4.1325)
