"""Commands that take minutes to hours and write their results into docs/measured."""
