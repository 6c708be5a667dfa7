"""CUDA C++: the index is an int, which overflows beyond 2^31 elements."""

from .._cuda import *

operation = "relu"
says = ("2^31",)
needs = "a GPU"
launch = compile_kernel(
    r"""
extern "C" __global__ void relu(const float* x, float* y, long long count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= 0 && i < count) y[i] = x[i] < 0.0f ? 0.0f : x[i];
}
""",
    "relu",
)


def relu(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    launch(-(-x.numel() // 256), 256, x, y, x.numel())
    return y
