"""How log_softmax is drawn: as softmax is."""

from reference_numpy.log_softmax import log_softmax
from spec_tests.operations.softmax import arguments
from spec_tests.specification.declaration import Declaration

declaration = Declaration(
    equation=log_softmax,
    arguments=arguments,
    core={"x": 1},
)
