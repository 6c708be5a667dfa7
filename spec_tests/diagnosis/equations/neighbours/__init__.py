"""The neighbours of a reference equation: the same lines with a small change, made by rules from the equation's source."""
