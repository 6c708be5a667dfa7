"""Write to the suite's error model, whose constants cannot be written to."""

import pytest


@pytest.fixture(autouse=True, scope="session")
def generous():
    from spec_tests.bounds.error_model import ROUNDINGS

    ROUNDINGS.update(dict.fromkeys(ROUNDINGS, 1e30))
