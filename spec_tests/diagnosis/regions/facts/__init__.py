"""What calls and elements are like: the facts that a region of wrong answers may depend on.

`of_calls/` has the facts of calls, and `of_elements/` those of the elements of a result.
"""
