"""Error bounds: how far a correct result may be from the value of the equation, derived by number types that carry an error."""

from . import rules as rules  # registers the rule of each NumPy function
