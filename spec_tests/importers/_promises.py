"""What the suite takes for promised of code that was not written for it. Another Python reads this file, without the suite."""

import math

DEFAULT_DTYPES = ("float32",)  # in which imported code is tried unless its file states others
NUMPY_DTYPES = ("float64",)  # in which NumPy functions of such a file are tried: its arrays have this dtype unless told otherwise
PROMISED_TIERS = ("equation",)  # of a contract: nobody who wrote it has promised this suite more

NAIVE_BYTES = 2**30  # that naive code may allocate for one call
HEADS = 16  # of scores or masks of positions × positions that it may keep at once, each number of 4 bytes
MAX_POSITION = math.isqrt(NAIVE_BYTES // (HEADS * 4)) - 1  # for which it does; tables of rows of features are far smaller
TURNED_WIDTHS = range(2, 65, 2)  # features of a head that is turned: naive code fills a table of each position and pair in Python
