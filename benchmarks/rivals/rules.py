"""Tolerances of other projects, with their sources. This suite has none."""

# stanford-cs336/assignment1-basics 25a8a49, tests/conftest.py (NumpySnapshot) and the calls in tests/test_model.py. Tests without
# a snapshot use the default rtol of numpy.testing.assert_allclose.
CS336_SNAPSHOT = {"rtol": 1e-4, "atol": 1e-2}
CS336_SWIGLU = {"rtol": 1e-4, "atol": 1e-5}
CS336_STRICT = {"rtol": 1e-4, "atol": 1e-6}
CS336_MODEL = {"rtol": 1e-2, "atol": 1e-4}
CS336_TRUNCATED = {"rtol": 1e-4, "atol": 1e-4}
CS336_FORMULA = {"rtol": 1e-7, "atol": 1e-6}

# ScalingIntelligence/KernelBench 423217d, src/kernelbench/eval.py: get_tolerance_for_precision, and the value before it
KERNELBENCH = {"rtol": 1e-4, "atol": 1e-4}
KERNELBENCH_FORMER = {"rtol": 1e-2, "atol": 1e-2}
KERNELBENCH_TRIALS = 5

# ONNX's test cases carry their own tolerances, and torch.testing.assert_close has defaults for each dtype
