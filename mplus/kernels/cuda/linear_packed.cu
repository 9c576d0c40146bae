// Products with weights of one byte at the speed of memory, for few rows of x: linear_tensor.cu with half of
// what has to be moved. A lane takes sixteen neighbouring inputs at once, 16 bytes of weights and 32 of x,
// for four instructions of 16. Whole numbers up to 128 are exact in f16; a row's scale is applied to its sum.
#include <cuda_runtime.h>

#include "mplus/kernels/cuda/device.cuh"
#include "mplus/kernels/cuda/dispatch.cuh"
#include "mplus/kernels/cuda/launch.h"
#include "mplus/kernels/cuda/linear_tensor.cuh"

namespace mplus::kernels::cuda {

using namespace products;

namespace {

constexpr int kPackedStep = 64;  // inputs of four instructions

template <int kM, int kN, int kStages>
struct PackedForm {
  static constexpr int kSlabs = 2 * kM + 2 * kN;  // of a step
  static constexpr std::size_t kRingBytes = sizeof(uint4) * kWarps * kStages * kSlabs * kSlab;
  static constexpr std::size_t kBytes =
      kRingBytes > Form<kM, kN, kStages>::kBytes ? kRingBytes : Form<kM, kN, kStages>::kBytes;
};

// Where a lane's rows begin; null: there is no such row. kPieces of 16 bytes of each belong to a step.
template <class T, int kCount, int kPieces>
struct PackedRows {
  const T* rows[kCount];

  __device__ PackedRows(const void* data, std::int64_t first, std::int64_t count, std::int64_t width) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const std::int64_t row = first + 8 * i + lane / 4;
      rows[i] = row < count ? static_cast<const T*>(data) + row * width + 16 * (lane % 4) : nullptr;
    }
  }
  __device__ void ask_for(uint4* slabs, int step, bool inside) const {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
    for (int i = 0; i < kCount * kPieces; ++i) {
      const T* row = rows[i / kPieces];
      const bool valid = inside && row != nullptr;
      ask(slabs + i * kSlab + lane, valid ? row + step * kPackedStep + i % kPieces * (16 / kPieces) : rows[0],
          valid);
    }
  }
};

// Four weights as two operands. A byte b with its sign turned, behind the exponent of 1024, is 1152 + b.
__device__ void unpack(std::uint32_t bytes, std::uint32_t& low, std::uint32_t& high) {
  constexpr std::uint32_t kSigns = 0x80808080u, kExponents = 0x64646464u;
  const __half2 zero = __float2half2_rn(1152.0f);
  const std::uint32_t turned = bytes ^ kSigns, first = __byte_perm(turned, kExponents, 0x4140),
                      second = __byte_perm(turned, kExponents, 0x4342);
  const __half2 a = __hsub2(*reinterpret_cast<const __half2*>(&first), zero),
                b = __hsub2(*reinterpret_cast<const __half2*>(&second), zero);
  low = *reinterpret_cast<const std::uint32_t*>(&a);
  high = *reinterpret_cast<const std::uint32_t*>(&b);
}

__device__ std::uint32_t word(const uint4& x, int i) {
  return i == 0 ? x.x : i == 1 ? x.y : i == 2 ? x.z : x.w;
}

template <int kM, int kN>
__device__ void multiply_packed(float (&sums)[kM][kN][4], const uint4* slabs) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  uint4 x[2 * kN];
#pragma unroll
  for (int n = 0; n < 2 * kN; ++n) x[n] = slabs[(2 * kM + n) * kSlab + lane];
#pragma unroll
  for (int m = 0; m < kM; ++m) {
    const uint4 low = slabs[2 * m * kSlab + lane], high = slabs[(2 * m + 1) * kSlab + lane];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      std::uint32_t a[4];
      unpack(word(low, j), a[0], a[2]);
      unpack(word(high, j), a[1], a[3]);
#pragma unroll
      for (int n = 0; n < kN; ++n) {
        const uint4& of = x[2 * n + j / 2];
        mma<f16>(sums[m][n], a, word(of, 2 * (j % 2)), word(of, 2 * (j % 2) + 1));
      }
    }
  }
}

// The scales of a lane's outputs (device.cuh: rows r and r + 8 of every tile).
template <int kM, int kN>
__device__ void scale_rows(float (&sums)[kM][kN][4], const Place& place) {
  const int r = static_cast<int>(threadIdx.x) % kWarp / 4;
#pragma unroll
  for (int m = 0; m < kM; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const std::int64_t output = place.output + m * kTile + r + 8 * half;
      const float scale = output < place.product->outputs ? place.product->row_scales[output] : 0.0f;
#pragma unroll
      for (int n = 0; n < kN; ++n) {
        sums[m][n][2 * half] *= scale;
        sums[m][n][2 * half + 1] *= scale;
      }
    }
}

template <int kM, int kN, int kStages>
__device__ void make_packed(const Products& products, const Place& place, unsigned char* shared) {
  using F = PackedForm<kM, kN, kStages>;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  uint4* ring = reinterpret_cast<uint4*>(shared) + warp * kStages * F::kSlabs * kSlab;
  const auto slot = [&](int step) { return ring + step % kStages * F::kSlabs * kSlab; };
  const PackedRows<std::int8_t, 2 * kM, 1> weights(place.product->w, place.output, place.product->outputs,
                                                   products.inputs);
  const int steps = static_cast<int>(products.inputs / kPackedStep), share = (steps + kWarps - 1) / kWarps;
  const int begin = warp * share, count = max(0, min(steps, begin + share) - begin);
#pragma unroll
  for (int step = 0; step < kStages - 1; ++step)  // weights do not depend on the last kernel
    weights.ask_for(slot(step), begin + step, step < count);
  begin_in_turn();
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.y) * kN * kColumns;
  const PackedRows<f16, kN, 2> x(products.rounded, first_row, products.T, products.inputs);
#pragma unroll
  for (int step = 0; step < kStages - 1; ++step) {
    x.ask_for(slot(step) + 2 * kM * kSlab, begin + step, step < count);
    end_of_step();
  }
  float sums[kM][kN][4] = {};
  for (int step = 0; step < count; ++step) {
    wait_for_step<kStages - 2>();
    const int later = step + kStages - 1;  // takes the place of the step before
    weights.ask_for(slot(later), begin + later, later < count);
    x.ask_for(slot(later) + 2 * kM * kSlab, begin + later, later < count);
    end_of_step();
    multiply_packed<kM, kN>(sums, slot(step));
  }
  wait_for_step<0>();
  scale_rows<kM, kN>(sums, place);
  finish<kM, kN>(sums, reinterpret_cast<float*>(shared), place, first_row, products.T);
}

template <int kM, int kN, int kStages>
__global__ void __launch_bounds__(kWarps* kWarp) packed_kernel(const __grid_constant__ Products products) {
  extern __shared__ __align__(16) unsigned char shared[];
  const Place place = find(products, blockIdx.x, kM * kTile);
  if (place.product->dtype == DType::i8) make_packed<kM, kN, kStages>(products, place, shared);
  else make_outputs<f16, kM, kN, kStages>(products, place, shared);
}

template <int kM, int kN, int kStages>
void launch_form(Stream stream, const Products& products) {
  constexpr std::size_t kBytes = PackedForm<kM, kN, kStages>::kBytes;
  static_assert(kBytes <= 96 * 1024);  // what every device gives
  constexpr int kRows = kN * kColumns;
  const dim3 grid(static_cast<unsigned>(blocks_of(products, kM * kTile)),
                  static_cast<unsigned>((products.T + kRows - 1) / kRows));
  allow_shared<packed_kernel<kM, kN, kStages>>(kBytes);
  launch(packed_kernel<kM, kN, kStages>, grid, kWarps * kWarp, stream, kBytes, products);
}

// A thread has 16 weights of a row at a time.
__global__ void unpack_kernel(UnpackWeights job) {
  begin_in_turn();
  const std::int64_t pieces = job.cols / 16;
  for (std::int64_t at = first_of_grid(); at < job.rows * pieces; at += grid_size()) {
    const float scale = job.row_scales[at / pieces];
    const uint4 bytes = load_once(static_cast<const uint4*>(job.w) + at);
    uint4 out[2];
    auto* words = reinterpret_cast<std::uint32_t*>(out);
#pragma unroll
    for (int i = 0; i < 16; i += 2) {
      const std::uint32_t four = word(bytes, i / 4) >> (i % 4 * 8);
      words[i / 2] = pack<f16>(scale * static_cast<float>(static_cast<std::int8_t>(four)),
                               scale * static_cast<float>(static_cast<std::int8_t>(four >> 8)));
    }
    auto* to = static_cast<uint4*>(job.out) + 2 * at;
    to[0] = out[0];
    to[1] = out[1];
  }
}

}  // namespace

bool fits_linear_packed(const Products& products) {
  const auto aligned = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; };
  if (products.inputs <= 0 || products.inputs % kPackedStep != 0 || !aligned(products.x)) return false;
  for (int i = 0; i < products.count; ++i) {
    const Product& product = products.list[i];
    const bool packed = product.dtype == DType::i8 && product.row_scales != nullptr;
    if (!aligned(product.w) || (!packed && product.dtype != DType::f16)) return false;
  }
  return true;
}

void linear_packed(Stream stream, const Products& products) {
  if (products.count == 0 || products.T <= 0) return;
  if (products.T <= kColumns) return launch_form<1, 1, 6>(stream, products);
  products.T <= 2 * kColumns ? launch_form<2, 2, 3>(stream, products)
                             : launch_form<2, 4, 2>(stream, products);
}

void unpack_weights(Stream stream, const UnpackWeights& job) {
  if (job.rows <= 0 || job.cols <= 0) return;
  launch(unpack_kernel, blocks_for(job.rows * job.cols / 16), kThreads, stream, 0, job);
}

}  // namespace mplus::kernels::cuda
