"""CUDA C++: a block of threads for each row, which add their squares by shuffles and through shared memory."""

from .._cuda import *

needs = "a GPU"

launch = compile_kernel(
    r"""
extern "C" __global__ void rms_norm(const float* x, const float* weight, float* y, long long d, float eps) {
    __shared__ float sums[4];
    const float* row = x + (long long)blockIdx.x * d;
    float total = 0.0f;
    for (long long j = threadIdx.x; j < d; j += blockDim.x) total += row[j] * row[j];
    for (int offset = 16; offset > 0; offset /= 2) total += __shfl_down_sync(0xffffffffu, total, offset);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = total;
    __syncthreads();
    total = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    float root = sqrtf(total / (float)d + eps);
    for (long long j = threadIdx.x; j < d; j += blockDim.x) y[(long long)blockIdx.x * d + j] = row[j] / root * weight[j];
}
""",
    "rms_norm",
)


def rms_norm(x, weight, *, eps):
    x = x.contiguous()
    y = torch.empty_like(x)
    launch(x.numel() // max(x.shape[-1], 1), 128, x, weight.contiguous(), y, x.shape[-1], float(eps))
    return y
