"""Tests of how the suite treats devices, on a fake one: placement, ordinals, waiting, and contexts that are lost."""
