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
conventions = {"causal_alignment": "top-left"}  # a query without a key gives the mean of all values
domain = {name: {"d_v": "d_k"} for name in ("scaled_dot_product_attention", "grouped_query_attention")}
