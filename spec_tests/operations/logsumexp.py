"""How logsumexp is drawn: as softmax is."""

from reference_numpy.logsumexp import logsumexp
from spec_tests.operations.softmax import arguments
from spec_tests.specification.declaration import Declaration

declaration = Declaration(
    equation=logsumexp,
    arguments=arguments,
    core={"x": 1},
)
