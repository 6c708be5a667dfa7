"""Keras 3 on NumPy: the operations of _keras_functions."""

import os
import sys

if "keras" not in sys.modules:
    os.environ["KERAS_BACKEND"] = "numpy"  # read where Keras is imported

import keras
import numpy

if keras.config.backend() != "numpy":
    raise ImportError(f"Keras runs on {keras.config.backend()} already; run this backend alone, or with KERAS_BACKEND=numpy set")

from ._keras_functions import *

framework = "numpy"
version = f"keras {keras.__version__}, numpy {numpy.__version__}"
