"""Raise an exception when it is imported."""

raise RuntimeError("no database here")
