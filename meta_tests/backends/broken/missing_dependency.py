"""Import a library that is not installed."""

import a_library_that_is_not_there  # noqa: F401

from .._right import *
