"""Raise the exceptions by which unittest, pytest and Hypothesis leave a test out."""

import unittest

from hypothesis.errors import Frozen, StopTest

from .._right import *

calls = []


def sigmoid(x):
    calls.append(x.shape)
    raise (unittest.SkipTest("no"), StopTest(0), Frozen())[len(calls) % 3]
