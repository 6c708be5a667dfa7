"""The tuned numbers: what things cost in work, and how work is shared out.

`python -m meta_tests.measure.constants NAME` measures one again: it halves and doubles it, and searches for the causes of a
sample of bugs. Each can be set here, while a run goes on: whoever uses one reads it from this module.
"""

# --- work, in units of an element in one evaluation in float64

WORK_OF_CALL = 60_000  # of the backend: its arguments are made, its answer is read
WORK_OF_EVALUATION = 2_000  # of an equation
WORK_OF_STEP = 150  # of an equation, as an addition or the call of a function
WORK_OF_DRAW = 60_000  # of an example, whether or not it makes a call
WORK_OF_CANDIDATE = 40_000  # of the search for an equation: to make and compile it
WORK_OF_FACTS = 20_000  # of an answer that regions are fitted to
WORK_OF_FIT = 0.25  # of one condition of a region on one element

# --- shapes

NEW_SHAPES = 48  # that the searches after the failures of an operation may ask for, where first calls of shapes take long
