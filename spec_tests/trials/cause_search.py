"""The search for the cause of a failure, as trials use it. A trial imports this at the first failure: most runs have none."""

from ..deviations import put_into_oracle
from ..diagnosis.evidence import is_wrong
from ..diagnosis.regions.search import find_wrong_region
from .asker import answer_in_float32, answer_instead, ask_about, choose
from .causes import Causes
from .failure import Failure
from .raising_region import find_raising_region
from .wrong_parts import find_origin, forward_call

__all__ = [
    "Causes", "Failure", "answer_in_float32", "answer_instead", "ask_about", "choose", "find_origin", "find_raising_region",
    "find_wrong_region", "forward_call", "is_wrong", "put_into_oracle",
]  # fmt: skip
