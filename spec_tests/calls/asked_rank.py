"""The rank whose answer an equation is evaluated for."""

from contextvars import ContextVar

RANK: ContextVar[int] = ContextVar("rank", default=0)
"""The reference equation is the same on each rank; what ranks compute in its place need not be."""
