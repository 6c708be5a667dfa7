"""What the kernels in CUDA C++ share: cupy compiles them, and launches them on PyTorch's current stream."""

import torch

framework = "torch"
dtypes = ("float32",)
device = "cuda"


def compile_kernel(source, name):
    """Return a function launch(grid, threads, *arguments) that compiles the kernel when it is first called."""
    import cupy

    kernel = cupy.RawKernel(source, name)

    def launch(grid, threads, *arguments):
        stream = cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream)
        if grid:
            passed = [
                a.data_ptr() if isinstance(a, torch.Tensor) else cupy.int64(a) if isinstance(a, int) else cupy.float32(a)
                for a in arguments
            ]
            with stream:
                kernel((grid,), (threads,), tuple(passed))

    return launch
