"""Faults of the six layouts of meta_tests/backends/sharded/six_layouts.py, and what each has to be called."""

from . import faults_of_features, faults_of_tokens

FAULTS = faults_of_features.FAULTS + faults_of_tokens.FAULTS
