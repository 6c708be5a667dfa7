"""How far a correct answer may be from the value of the equation: numbers that carry an error bound, and the rules for it."""

from . import rules as rules  # registers the rule of each NumPy function
