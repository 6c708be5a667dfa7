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

# flashinfer-ai/flashinfer-bench 40e6ca7, bench/config.py and bench/utils.py: both must be exceeded
FLASHINFER_BENCH = {"rtol": 1e-2, "atol": 1e-2}
FLASHINFER_BENCH_TRIALS = 3

# NVIDIA/SOL-ExecBench 266784c, data/workload.py (CorrectnessSpec) and bench/correctness.py: the sum of both
SOL_EXECBENCH = {"rtol": 1e-2, "atol": 1e-2}
SOL_EXECBENCH_TRIALS = 3

# arXiv 2606.20128 has one absolute tolerance for each operation and dtype. Its table could not be read: these numbers are ours
FUZZING_CALIBRATION_SEEDS = range(1000, 1100)
FUZZING_SEEDS = range(100)
FUZZING_FACTOR = 2

# Dao-AILab/flash-attention, tests/test_flash_attn.py: at most twice the error of PyTorch in the same dtype
FLASHATTENTION_FACTOR = 2
