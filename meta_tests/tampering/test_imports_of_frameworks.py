"""Test that the import of a framework is not taken for tampering. JAX needs the libraries' environment (`nox -s libraries`)."""

from pathlib import Path

import pytest

from ..support.pytest_process import python


@pytest.mark.parametrize("framework", ["numpy", "torch", "jax"])
def test_what_a_framework_s_import_changes_is_no_offence(framework: str, tmp_path: Path) -> None:
    pytest.importorskip(framework)
    code = f"from spec_tests.tampering.detector import PatchDetector as P\nd = P()\nimport {framework}\nprint(d.restore())"
    assert python(tmp_path, "-c", code).stdout == "[]\n"
