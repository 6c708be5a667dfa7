"""CUDA C++: read vectors of 16 bytes, whatever the address, and leave the last elements unwritten."""

from .._cuda import *

operation = "silu"
says = ("never written", "whole blocks of 4")
needs = "a GPU"
launch = compile_kernel(
    r"""
extern "C" __global__ void silu(const float4* x, float4* y, long long vectors) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= vectors) return;
    float4 v = x[i];
    v.x /= 1.0f + expf(-v.x);
    v.y /= 1.0f + expf(-v.y);
    v.z /= 1.0f + expf(-v.z);
    v.w /= 1.0f + expf(-v.w);
    y[i] = v;
}
""",
    "silu",
)


def silu(x):
    x = x.contiguous()
    x = x if x.data_ptr() % 16 == 0 else x.clone()
    y = torch.empty_like(x)
    launch(-(-(x.numel() // 4) // 256), 256, x, y, x.numel() // 4)
    return y
