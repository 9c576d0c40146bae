// Instructions of sm_90a by name: barriers in shared memory that count bytes, tiles that the copy engine
// brings, and the matrix instruction of a warpgroup (four warps, the first of which has a number divisible by
// four).
#pragma once

#include <cuda.h>

#include <cstdint>

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define MPLUS_WARPGROUPS 1
#endif

// Of a kernel whose blocks come in clusters of n.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define MPLUS_CLUSTERS(n) __cluster_dims__(n, 1, 1)
#else
#define MPLUS_CLUSTERS(n)
#endif

namespace mplus::kernels::cuda {

inline constexpr int kWarpgroup = 128;  // threads

#ifdef MPLUS_WARPGROUPS

__device__ inline std::uint32_t shared_address(const void* at) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(at));
}

// A barrier's phase ends when `count` have arrived and the bytes they announced have come. Phases are 0, 1,
// 0, …
using Barrier = std::uint64_t;
__device__ inline void init(Barrier& barrier, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n" ::"r"(shared_address(&barrier)), "r"(count)
               : "memory");
}
__device__ inline void show_inits() { asm volatile("fence.mbarrier_init.release.cluster;\n" ::: "memory"); }
__device__ inline void arrive(Barrier& barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];\n" ::"r"(shared_address(&barrier)) : "memory");
}
__device__ inline void arrive_expecting(Barrier& barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n" ::"r"(shared_address(&barrier)),
               "r"(bytes)
               : "memory");
}
// Until the phase is over; phase 1 of a new barrier is.
__device__ inline void wait(Barrier& barrier, int phase) {
  std::uint32_t over = 0;
  while (over == 0)
    asm volatile(
        "{\n.reg .pred p;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n}\n"
        : "=r"(over)
        : "r"(shared_address(&barrier)), "r"(phase)
        : "memory");
}

// A box of a tensor of three dimensions from (x, y, z) on; what lies outside is zero.
__device__ inline void copy_box(void* to, const CUtensorMap& map, int x, int y, int z, Barrier& barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, "
      "%4}], [%5];\n" ::"r"(shared_address(to)),
      "l"(&map), "r"(x), "r"(y), "r"(z), "r"(shared_address(&barrier))
      : "memory");
}
// The same of two dimensions; to all blocks of a cluster that `blocks` has a bit of, each with its own
// barrier.
__device__ inline void copy_box(void* to, const CUtensorMap& map, int x, int y, Barrier& barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
      "%3}], [%4];\n" ::"r"(shared_address(to)),
      "l"(&map), "r"(x), "r"(y), "r"(shared_address(&barrier))
      : "memory");
}
__device__ inline void copy_box_to(std::uint16_t blocks, void* to, const CUtensorMap& map, int x, int y,
                                   Barrier& barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%2, %3}], [%4], %5;\n" ::"r"(shared_address(to)),
      "l"(&map), "r"(x), "r"(y), "r"(shared_address(&barrier)), "h"(blocks)
      : "memory");
}
__device__ inline void prefetch(const CUtensorMap& map) {
  asm volatile("prefetch.tensormap [%0];\n" ::"l"(&map) : "memory");
}

// Blocks of a cluster.
__device__ inline int block_of_cluster() {
  int rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;\n" : "=r"(rank));
  return rank;
}
__device__ inline void sync_cluster() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n" ::
                   : "memory");
}
// At the barrier that lies there in another block of the cluster, or in this one. What was read before may be
// written then; ordinary stores are not shown to the other block, which would take a microsecond.
__device__ inline void arrive_at(int block, Barrier& barrier) {
  asm volatile(
      "{\n.reg .b32 there;\n"
      "mapa.shared::cluster.u32 there, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [there];\n}\n" ::"r"(shared_address(&barrier)),
      "r"(block)
      : "memory");
}

// After ordinary stores to shared memory that the matrix instruction reads next, before the barrier.
__device__ inline void show_stores() { asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory"); }

// Barriers of some warps, by number (0 is __syncthreads): sync waits for so many threads, meet only counts.
__device__ inline void sync(int number, int threads) {
  asm volatile("bar.sync %0, %1;\n" ::"r"(number), "r"(threads) : "memory");
}
__device__ inline void meet(int number, int threads) {
  asm volatile("bar.arrive %0, %1;\n" ::"r"(number), "r"(threads) : "memory");
}

// Registers of each thread from here on; by all warps of a warpgroup.
template <int kRegisters>
__device__ inline void more_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;\n" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ inline void fewer_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;\n" ::"n"(kRegisters));
}

// A matrix of 16-bit elements in shared memory in rows of 128 bytes, at multiples of 1,024. Of eight rows,
// row r has its 16 bytes number c at c ^ r (that is how the copy engine lays them out). `group` is the
// distance of eight such rows from the next eight, `side` of 64 columns from the next 64 (only where those
// are columns of the result).
__device__ inline std::uint64_t matrix_at(std::uint32_t address, int group, int side) {
  constexpr std::uint64_t kRowsOf128Bytes = std::uint64_t{1} << 62;
  return kRowsOf128Bytes | static_cast<std::uint64_t>((address & 0x3ffff) >> 4) |
         static_cast<std::uint64_t>(side >> 4) << 16 | static_cast<std::uint64_t>(group >> 4) << 32;
}

// The same in rows of 32 bytes, at multiples of 256: row r of eight has them at c ^ r / 4.
__device__ inline std::uint64_t narrow_matrix_at(std::uint32_t address, int group) {
  constexpr std::uint64_t kRowsOf32Bytes = std::uint64_t{3} << 62;
  return kRowsOf32Bytes | static_cast<std::uint64_t>((address & 0x3ffff) >> 4) |
         static_cast<std::uint64_t>(group >> 4) << 32;
}

__device__ inline void begin_products() { asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory"); }
__device__ inline void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory"); }
template <int kLeft>
__device__ inline void wait_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(kLeft) : "memory");
}
// Nothing that is done with x moves to the other side of this.
template <int kCount>
__device__ inline void hold(float (&x)[kCount][4]) {
#pragma unroll
  for (int n = 0; n < kCount; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) asm volatile("" : "+f"(x[n][i])::"memory");
}
template <int kCount>
__device__ inline void hold(std::uint32_t (&x)[kCount][4]) {
#pragma unroll
  for (int n = 0; n < kCount; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) asm volatile("" : "+r"(x[n][i])::"memory");
}

#define MPLUS_FOUR(d, n) "+f"(d[n][0]), "+f"(d[n][1]), "+f"(d[n][2]), "+f"(d[n][3])
#define MPLUS_SIXTY_FOUR(d)                                                                          \
  MPLUS_FOUR(d, 0), MPLUS_FOUR(d, 1), MPLUS_FOUR(d, 2), MPLUS_FOUR(d, 3), MPLUS_FOUR(d, 4),          \
      MPLUS_FOUR(d, 5), MPLUS_FOUR(d, 6), MPLUS_FOUR(d, 7), MPLUS_FOUR(d, 8), MPLUS_FOUR(d, 9),      \
      MPLUS_FOUR(d, 10), MPLUS_FOUR(d, 11), MPLUS_FOUR(d, 12), MPLUS_FOUR(d, 13), MPLUS_FOUR(d, 14), \
      MPLUS_FOUR(d, 15)
#define MPLUS_SIXTY_FOUR_NAMES                                                                            \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, " \
  "%22, "                                                                                                 \
  "%23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, "  \
  "%43, "                                                                                                 \
  "%44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}"

// d[64,128] = a[64,16] · b[128,16]ᵀ, or += where `accumulate`; rows of both are 16 consecutive elements. d is
// spread over warps, 16 rows each, and there as that of mma() (device.cuh), d[n] being columns 8n to 8n + 7.
__device__ inline void multiply(float (&d)[16][4], std::uint64_t a, std::uint64_t b, bool accumulate) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " MPLUS_SIXTY_FOUR_NAMES
      ", %64, %65, p, 1, 1, 0, 0;\n}\n"
      : MPLUS_SIXTY_FOUR(d)
      : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
}
// d[64,128] += a[64,16] · b[16,128]: a in registers, as that of mma(); a row of b is 128 columns.
__device__ inline void multiply_turned(float (&d)[16][4], const std::uint32_t (&a)[4], std::uint64_t b) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " MPLUS_SIXTY_FOUR_NAMES
      ", {%64, %65, %66, %67}, %68, p, 1, 1, 1;\n}\n"
      : MPLUS_SIXTY_FOUR(d)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

#define MPLUS_HUNDRED_AND_TWELVE(d)                                                                  \
  MPLUS_SIXTY_FOUR(d), MPLUS_FOUR(d, 16), MPLUS_FOUR(d, 17), MPLUS_FOUR(d, 18), MPLUS_FOUR(d, 19),   \
      MPLUS_FOUR(d, 20), MPLUS_FOUR(d, 21), MPLUS_FOUR(d, 22), MPLUS_FOUR(d, 23), MPLUS_FOUR(d, 24), \
      MPLUS_FOUR(d, 25), MPLUS_FOUR(d, 26), MPLUS_FOUR(d, 27)
#define MPLUS_HUNDRED_AND_TWELVE_NAMES                                                                     \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, "  \
  "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, "   \
  "%42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, "   \
  "%62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, "   \
  "%82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, " \
  "%102, %103, %104, %105, %106, %107, %108, %109, %110, %111}"

// d[64,224] = a[64,16] · b[224,16]ᵀ, or += where `accumulate`; and += with a in registers.
__device__ inline void multiply(float (&d)[28][4], std::uint64_t a, std::uint64_t b, bool accumulate) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %114, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n224k16.f32.bf16.bf16 " MPLUS_HUNDRED_AND_TWELVE_NAMES
      ", %112, %113, p, 1, 1, 0, 0;\n}\n"
      : MPLUS_HUNDRED_AND_TWELVE(d)
      : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
}
__device__ inline void multiply(float (&d)[28][4], const std::uint32_t (&a)[4], std::uint64_t b) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n224k16.f32.bf16.bf16 " MPLUS_HUNDRED_AND_TWELVE_NAMES
      ", {%112, %113, %114, %115}, %116, p, 1, 1, 0;\n}\n"
      : MPLUS_HUNDRED_AND_TWELVE(d)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

#undef MPLUS_HUNDRED_AND_TWELVE
#undef MPLUS_HUNDRED_AND_TWELVE_NAMES
#undef MPLUS_FOUR
#undef MPLUS_SIXTY_FOUR
#undef MPLUS_SIXTY_FOUR_NAMES

#endif

}  // namespace mplus::kernels::cuda
