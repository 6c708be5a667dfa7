"""The environment variables that the process of a backend gets: those that programs and frameworks need, and none that is secret.

A CI job has tokens in its environment, and paths of files by which a program can change the job. A backend that needs another
variable states it in `environment`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

NAMES = frozenset(
    (
        "APPDATA", "AR", "CC", "COLUMNS", "COMSPEC", "CPATH", "CXX", "HF_HOME", "HF_HUB_OFFLINE", "HOME", "LANG", "LANGUAGE",
        "LIBRARY_PATH", "LINES", "LOCALAPPDATA", "LOGNAME", "NO_COLOR", "NUMBER_OF_PROCESSORS", "PATH", "PATHEXT",
        "PROGRAMDATA", "SHELL", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TERM", "TMP", "TMPDIR", "TRANSFORMERS_OFFLINE", "TZ",
        "USER", "USERNAME", "USERPROFILE", "VIRTUAL_ENV", "WINDIR",
    )
)  # fmt: skip
PREFIXES = (
    "AMD_", "BLIS_", "CONDA_", "CUBLAS_", "CUDA", "CUDNN_", "CUPY_", "DASK_", "DYLD_", "FLAGS_", "GOMP_", "GOTO_", "HIP_",
    "HSA_", "JAX_", "KERAS_", "KMP_", "LC_", "LD_", "LIBTPU_", "METAL_", "MKL_", "MLX_", "NCCL_", "NPY_", "NUMBA_", "NUMEXPR_",
    "NUMPY_", "NVIDIA_", "OMP_", "ONEDNN_", "OPENBLAS_", "ORT_", "PROCESSOR_", "PROGRAMFILES", "PYTHON", "PYTORCH_", "ROCM_",
    "ROCR_", "TBB_", "TF_", "TORCH", "TPU_", "TRITON_", "VECLIB_", "XDG_", "XLA_",
)  # fmt: skip
SECRET_PARTS = ("AUTH", "CREDENTIAL", "PASSWD", "PASSWORD", "SECRET", "TOKEN")  # in a name: the variable is never passed on


def child_environment(stated: Mapping[str, str], whole: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return what the process of a backend gets of the environment, with the variables that the backend states."""
    whole = os.environ if whole is None else whole
    return {**{name: value for name, value in whole.items() if is_passed_on(name)}, **stated}


def is_passed_on(name: str) -> bool:
    """Whether a variable of this process goes to the process of a backend."""
    name = name.upper()  # Windows does not distinguish
    return (name in NAMES or name.startswith(PREFIXES)) and not any(part in name for part in SECRET_PARTS)
