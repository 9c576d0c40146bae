// What kernels share: conversions, sums over a warp or a block in one fixed order, and the matrix
// instruction.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace mplus::kernels::cuda {

using bf16 = __nv_bfloat16;
using f16 = __half;

inline constexpr int kWarp = 32;
inline constexpr unsigned kAllLanes = 0xffffffffu;

__device__ inline float to_float(float x) { return x; }
__device__ inline float to_float(bf16 x) { return __bfloat162float(x); }
__device__ inline float to_float(f16 x) { return __half2float(x); }

template <class T>
__device__ inline T from_float(float x);
template <>
__device__ inline float from_float<float>(float x) {
  return x;
}
template <>
__device__ inline bf16 from_float<bf16>(float x) {
  return __float2bfloat16_rn(x);
}
template <>
__device__ inline f16 from_float<f16>(float x) {
  return __float2half_rn(x);
}

// Two values as one operand of the matrix instruction. f16 has few exponents: what is too large for it
// becomes its largest value.
template <class T>
__device__ inline std::uint32_t pack(float low, float high);
template <>
__device__ inline std::uint32_t pack<bf16>(float low, float high) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const std::uint32_t*>(&both);
}
template <>
__device__ inline std::uint32_t pack<f16>(float low, float high) {
  constexpr float kMost = 65504.0f;
  const auto limited = [](float x) { return x > kMost ? kMost : x < -kMost ? -kMost : x; };  // NaN stays
  const __half2 both = __floats2half2_rn(limited(low), limited(high));
  return *reinterpret_cast<const std::uint32_t*>(&both);
}

// Kernels overlap: a kernel may begin while the last one of its stream still runs. let_next_begin() says that
// the next one may; wait_for_last() returns when everything before is done, and stands before the first
// access to memory that another kernel writes or may still read. Weights are only written by copies and by
// convert(), which lets nobody begin.
__device__ inline void let_next_begin() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
__device__ inline void wait_for_last() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
__device__ inline void begin_in_turn() {
  let_next_begin();
  wait_for_last();
}

// A pair of elements rotated by an angle, with the same bits in every kernel.
__device__ inline float2 rotate_pair(float a, float b, float cos, float sin) {
  return {fmaf(a, cos, -__fmul_rn(b, sin)), fmaf(b, cos, __fmul_rn(a, sin))};
}

// 2^x in one instruction; what would be subnormal is zero.
__device__ inline float power_of_two(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ inline float warp_sum(float x) {
#pragma unroll
  for (int step = kWarp / 2; step > 0; step /= 2) x += __shfl_xor_sync(kAllLanes, x, step);
  return x;
}
__device__ inline float warp_max(float x) {
#pragma unroll
  for (int step = kWarp / 2; step > 0; step /= 2) x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, step));
  return x;
}

// Of all threads of a block of at most 32 whole warps; everyone gets the result. `shared` has 32 floats.
__device__ inline float block_sum(float x, float* shared) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  x = warp_sum(x);
  __syncthreads();
  if (lane == 0) shared[warp] = x;
  __syncthreads();
  return warp_sum(lane < static_cast<int>(blockDim.x) / kWarp ? shared[lane] : 0.0f);
}
__device__ inline float block_max(float x, float* shared) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  x = warp_max(x);
  __syncthreads();
  if (lane == 0) shared[warp] = x;
  __syncthreads();
  return warp_max(lane < static_cast<int>(blockDim.x) / kWarp ? shared[lane] : -INFINITY);
}

// d[16,8] += a[16,16] · b[16,8]. With r = lane / 4 and c = 2 (lane % 4) a lane holds
// a: (r, c..c+1), (r+8, c..c+1), (r, c+8..c+9), (r+8, c+8..c+9); b: (c..c+1, r), (c+8..c+9, r);
// d: (r, c), (r, c+1), (r+8, c), (r+8, c+1).
template <class T>
__device__ inline void mma(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1);
template <>
__device__ inline void mma<bf16>(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                 std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
template <>
__device__ inline void mma<f16>(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Sixteen bytes that are read once.
__device__ inline uint4 load_once(const void* at) {
  uint4 x;
  asm("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0,%1,%2,%3}, [%4];\n"
      : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
      : "l"(at));
  return x;
}

// Tile copies into shared memory that run beside the arithmetic. Where `valid` is false zeros arrive.
__device__ inline void copy_async(void* shared, const void* global, bool valid) {
  const auto to = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(to), "l"(global), "r"(valid ? 16 : 0));
}
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;\n" ::); }
template <int kLeft>
__device__ inline void wait_copies() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(kLeft));
}

// A warp's ring in shared memory: a lane asks for 16 bytes that are read once (zeros where there is nothing
// to read), step by step, and reads only what it asked for itself.
__device__ inline void ask(uint4* to, const void* from, bool valid) {
  const auto shared = static_cast<std::uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;\n" ::"r"(shared), "l"(from),
               "r"(valid ? 16 : 0)
               : "memory");
}
__device__ inline void end_of_step() { asm volatile("cp.async.commit_group;\n" ::: "memory"); }
template <int kLeft>
__device__ inline void wait_for_step() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(kLeft) : "memory");
}

// Four 8×8 matrices of 16-bit elements; lane l names row l % 8 of matrix l / 8.
__device__ inline void load_matrices(std::uint32_t (&x)[4], const void* shared) {
  const auto from = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(from));
}
__device__ inline void load_matrices_turned(std::uint32_t (&x)[4], const void* shared) {
  const auto from = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(from));
}

}  // namespace mplus::kernels::cuda
