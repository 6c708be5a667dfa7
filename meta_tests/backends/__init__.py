"""Example backends, right and wrong: data for the tests, never collected."""
