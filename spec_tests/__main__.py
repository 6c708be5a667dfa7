"""python -m spec_tests: the command `spec-tests`, where its script is not on the path."""

import sys

from .commands import main

if __name__ == "__main__":
    sys.exit(main())
