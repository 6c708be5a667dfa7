"""Test that five bugs of a student's file are five causes, though blocks and gradients fail from them, too."""

import re

import pytest

from ..support.paths import BACKENDS
from ..support.pytest_process import suite

NAMES = {
    "rope": "the pairs are (k, k + d_k/2)",
    "softmax": "the axis is the last one",
    "multihead_self_attention": "",
    "cross_entropy": "logsumexp: the maximum is not subtracted",
    "gradient_clipping": "each array is clipped by its own norm",
}


@pytest.mark.rotating
@pytest.mark.slow
def test_five_bugs_are_five_causes() -> None:
    pytest.importorskip("torch")
    run = suite(BACKENDS / "student", "--backend=five_bugs.py", "--effort=default", "--hypothesis-seed=1", "-q")
    assert run.code == 1
    causes = re.findall(r"^cause \d+: (\w+): (.*)$", run.text, re.MULTILINE)
    assert sorted(name for name, _ in causes) == sorted(NAMES), run.text
    assert all(what.startswith(NAMES[name]) for name, what in causes), causes
    verdict = run.text.rpartition("= verdict =")[2]
    assert "five_bugs: 5 causes of failures in 11 operations" in verdict  # blocks and gradients use what is wrong
    assert re.search(r"multihead_self_attention \([^)]*also of\s+transformer_block", verdict)
