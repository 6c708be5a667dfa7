"""Activations of packed gates."""

from . import layers

__all__ = ["layers"]
