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
