"""Facts by their names, as tests write them down."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from spec_tests.calls.call import Call
from spec_tests.diagnosis.regions.facts.fact import Fact
from spec_tests.diagnosis.regions.facts.of_calls import describe_for_region
from spec_tests.diagnosis.regions.facts.of_elements import describe_elements


def name_facts(call: Call) -> dict[str, Any]:
    """Return the facts of a call by their names."""
    return {fact.name: value for fact, value in describe_for_region(call).items()}


def name_element_facts(call: Call) -> dict[str, np.ndarray]:
    """Return the facts of the elements of a result by their names."""
    return {fact.name: values for fact, values in describe_elements(call).items()}


def find_fact(facts: Mapping[Fact, Any], name: str) -> Fact:
    """Return the fact that has a name."""
    return next(fact for fact in facts if fact.name == name)
