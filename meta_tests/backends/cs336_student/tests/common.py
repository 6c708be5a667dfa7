"""Helpers that the student's tests share."""

from pathlib import Path

FIXTURES_PATH = Path(__file__).parent / "fixtures"
EXACT = {"strict": True}
