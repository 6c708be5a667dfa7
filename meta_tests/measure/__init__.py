"""Commands that take minutes to hours; each writes its result into docs/measured."""
