"""What a backend's code needs and this environment lacks: a package, a CUDA device, or Triton's compiler. It is nobody's bug."""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageNotFoundError

OTHER_PYTHON = "name the Python that has it, as in --python=.venv/bin/python"
WANTS_CUDA = re.compile("expected a '?cuda'? device", re.IGNORECASE)  # as the context torch.cuda.device says of another one
NO_CUDA = re.compile("not compiled with CUDA enabled|no NVIDIA driver", re.IGNORECASE)
OF_THE_INTERPRETER = re.compile("cannot convert None .*to tensor")  # of Triton, which its compiler passes as a constant


def describe_missing_package(error: BaseException, where: str = "") -> str:
    """Return the clause for a package that an import needs, "" if the exception is another one."""
    if isinstance(error, PackageNotFoundError):
        return f"it asks for the version of the package {error.name}, which is not installed here{where}; {OTHER_PYTHON}"
    if isinstance(error, ModuleNotFoundError) and error.name:
        package, _, part = error.name.partition(".")
        if part and package in sys.modules:
            return f"it imports {error.name!r}, which the package {package} that is installed here does not have{where}"
        return f"it imports {error.name!r}, which is not installed here{where}; install it first, or {OTHER_PYTHON}"
    return ""


def describe_missing_part(error: BaseException) -> str:
    """Return the clause for what a call needs, "" if the exception says nothing of that kind."""
    if isinstance(error, RuntimeError | AssertionError) and NO_CUDA.search(str(error)):
        return "it asks for a CUDA device, and there is none here"
    if isinstance(error, ValueError) and WANTS_CUDA.search(str(error)):
        return "it takes arrays of a CUDA device alone, and was given others"
    if type(error).__name__ == "InterpreterError" and OF_THE_INTERPRETER.search(str(error)):
        return "Triton's interpreter cannot pass None to a kernel, as its compiler can"
    return describe_missing_package(error)
