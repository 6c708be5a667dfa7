"""A run in a folder into which nothing can be written judges as anywhere else, and warns."""

from pathlib import Path

from ..support.pytest_process import EPS_OUTSIDE, NUMPY, RELU, suite, write


def test_a_folder_without_caches_changes_no_verdict(tmp_path: Path) -> None:
    """Files stand where the folders of Hypothesis and of pytest would be, since nothing is read-only for root."""
    write(tmp_path, mine=NUMPY + RELU, wrong=NUMPY + EPS_OUTSIDE)
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    for name in (".hypothesis", ".pytest_cache"):
        (tmp_path / name).write_text("")
    selected = ("-k", "relu.reference or rms_norm.reference", "--dtype=float32")
    found = suite(tmp_path, "--backend=mine.py", "--backend=wrong.py", *selected, "cacheprovider")
    assert found.code == 1, found.text
    assert found.statuses == {
        "relu.reference mine float32": "passed",
        "relu.reference wrong float32": "skipped",
        "rms_norm.reference mine float32": "skipped",
        "rms_norm.reference wrong float32": "failed",
    }
    assert "PytestCacheWarning" in found.text
    assert "falling back to an in-memory database" in found.text
