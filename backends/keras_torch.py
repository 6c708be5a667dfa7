"""Keras 3 on PyTorch: the operations of _keras_functions."""

import os
import sys

if "keras" not in sys.modules:
    os.environ["KERAS_BACKEND"] = "torch"  # read where Keras is imported

import keras
import torch

if keras.config.backend() != "torch":
    raise ImportError(f"Keras runs on {keras.config.backend()} already; run this backend alone, or with KERAS_BACKEND=torch set")

from ._keras_functions import *

framework = "torch"
device = "cpu"
version = f"keras {keras.__version__}, torch {torch.__version__}"
conventions = {"causal_alignment": "top-left"}  # a query without a key gives the mean of all values
domain = {name: {"d_v": "d_k"} for name in ("scaled_dot_product_attention", "grouped_query_attention")}
