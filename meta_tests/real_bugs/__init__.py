"""Bugs that others wrote down: the rule by which they were drawn, the class of each hit, and those that are restated as code."""
