"""CUDA C++: a block of threads for each row, with trees of maxima and sums in shared memory."""

from .._cuda import *

needs = "a GPU"

launch = compile_kernel(
    r"""
extern "C" __global__ void softmax(const float* x, float* y, long long n) {
    __shared__ float part[128];
    const float* row = x + (long long)blockIdx.x * n;
    int t = threadIdx.x;
    float top = -1.0f / 0.0f;
    for (long long j = t; j < n; j += 128) top = fmaxf(top, row[j]);
    part[t] = top;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (t < half) part[t] = fmaxf(part[t], part[t + half]);
        __syncthreads();
    }
    top = part[0];
    __syncthreads();
    float total = 0.0f;
    for (long long j = t; j < n; j += 128) total += expf(row[j] - top);
    part[t] = total;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (t < half) part[t] += part[t + half];
        __syncthreads();
    }
    for (long long j = t; j < n; j += 128) y[(long long)blockIdx.x * n + j] = expf(row[j] - top) / part[0];
}
""",
    "softmax",
)


def softmax(x, *, axis):
    moved = x.movedim(axis, -1).contiguous()
    y = torch.empty_like(moved)
    launch(moved.numel() // max(moved.shape[-1], 1), 128, moved, y, moved.shape[-1])
    return y.movedim(-1, axis)
