"""A student's package."""
