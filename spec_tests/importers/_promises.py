"""What the suite takes for promised of code that was not written for it. Another Python reads this file, without the suite."""

DEFAULT_DTYPES = ("float32",)  # in which imported code is tried unless its file states others
PROMISED_TIERS = ("equation",)  # of a contract: nobody who wrote it has promised this suite more
