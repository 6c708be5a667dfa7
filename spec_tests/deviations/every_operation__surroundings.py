"""What costs an implementation a level of its surroundings: where its arguments lie, and from which thread it is called."""

import threading
from typing import Any

import numpy as np

from . import deviation


@deviation("any_memory", kind="fault", operations=("rms_norm", "softmax"))
def bytes_in_the_order_of_this_machine(right: Any, x: Any, *rest: Any, **keywords: Any) -> Any:
    """the bytes of the argument are read in the order of this machine, whatever its dtype says.

    Shows: an argument that is byte-swapped. Hides: others.
    """
    return right(x.view(x.dtype.newbyteorder("=")), *rest, **keywords)


@deviation("any_memory", kind="fault", operations=("rms_norm", "softmax"))
def read_from_the_word_before(right: Any, x: Any, *rest: Any, **keywords: Any) -> Any:
    """the address of the argument is rounded down to a whole word, so that a misaligned array is read from before its beginning.

    Shows: an argument that is misaligned. Hides: others.
    """
    return right(x if x.flags.aligned else np.roll(x, 1), *rest, **keywords)


@deviation("other_threads", kind="fault", operations=("rms_norm", "softmax"))
def buffer_of_the_first_thread(right: Any, *arguments: Any, **keywords: Any) -> Any:
    """the result is written into a buffer that the thread of the import has, and another thread returns one without values.

    Shows: a call from another thread. Hides: the main thread.
    """
    y = right(*arguments, **keywords)
    return y if threading.current_thread() is threading.main_thread() else np.zeros_like(y)
