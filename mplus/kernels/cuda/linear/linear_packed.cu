// Products with weights of one byte at the speed of memory, for few rows of x: linear_tensor.cu with half of
// what has to be moved. A lane takes sixteen neighbouring inputs at once, 16 bytes of weights and 32 of x,
// for four instructions of 16. Whole numbers up to 128 are exact in f16; a row's scale is applied to its sum.
#include <cuda_runtime.h>

#include "mplus/kernels/cuda/device/device.cuh"
#include "mplus/kernels/cuda/device/dispatch.cuh"
#include "mplus/kernels/cuda/device/launch.h"
#include "mplus/kernels/cuda/linear/linear_packed.cuh"
#include "mplus/kernels/cuda/linear/linear_tensor.cuh"

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

template <class Code, int kM, int kN>
__device__ void multiply_packed(float (&sums)[kM][kN][4], const uint4* slabs) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  uint4 x[2 * kN];
#pragma unroll
  for (int n = 0; n < 2 * kN; ++n) x[n] = slabs[(2 * kM + n) * kSlab + lane];
#pragma unroll
  for (int m = 0; m < kM; ++m)
    multiply_bytes<Code, kN>(sums[m], slabs[2 * m * kSlab + lane], slabs[(2 * m + 1) * kSlab + lane], x);
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

template <class Code, int kM, int kN, int kStages>
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
  const Before<kM, kN> before(place, first_row, products.T);
  float sums[kM][kN][4] = {};
  for (int step = 0; step < count; ++step) {
    wait_for_step<kStages - 2>();
    const int later = step + kStages - 1;  // takes the place of the step before
    weights.ask_for(slot(later), begin + later, later < count);
    x.ask_for(slot(later) + 2 * kM * kSlab, begin + later, later < count);
    end_of_step();
    multiply_packed<Code, kM, kN>(sums, slot(step));
  }
  wait_for_step<0>();
  scale_rows<kM, kN>(sums, place);
  finish<kM, kN>(sums, reinterpret_cast<float*>(shared), place, first_row, products.T, before);
}

static_assert(PackedForm<1, 1, 6>::kBytes <= 96 * 1024 && PackedForm<2, 2, 3>::kBytes <= 96 * 1024 &&
              PackedForm<2, 4, 2>::kBytes <= 96 * 1024);  // what every device gives

template <class Code, int kM, int kN, int kStages>
__global__ void __launch_bounds__(kWarps* kWarp) packed_kernel(const __grid_constant__ Products products) {
  extern __shared__ __align__(16) unsigned char shared[];
  const Place place = find(products, blockIdx.x, kM * kTile);
  if (place.product->row_scales != nullptr) make_packed<Code, kM, kN, kStages>(products, place, shared);
  else make_outputs<f16, kM, kN, kStages>(products, place, shared);
}

template <int kM, int kN, int kStages>
void launch_form(Stream stream, const Products& products) {
  constexpr std::size_t kBytes = PackedForm<kM, kN, kStages>::kBytes;
  constexpr int kRows = kN * kColumns;
  const dim3 grid(static_cast<unsigned>(blocks_of(products, kM * kTile)),
                  static_cast<unsigned>((products.T + kRows - 1) / kRows));
  with_code(code_of(products), [&]<class Code>(Code) {
    allow_shared<packed_kernel<Code, kM, kN, kStages>>(kBytes);
    launch(packed_kernel<Code, kM, kN, kStages>, grid, kWarps * kWarp, stream, kBytes, products);
  });
}

// The values of four weights, each rounded once.
template <class Code>
__device__ uint2 values_of(std::uint32_t bytes, float scale) {
  float x[4];
  Code::values(bytes, x);
  return {pack<f16>(scale * x[0], scale * x[1]), pack<f16>(scale * x[2], scale * x[3])};
}

// A thread has eight weights of a row at a time, and of so many rows that memory is kept busy. Grid: pieces
// of a row, rows.
constexpr int kUnpackRows = 4;

template <class Code>
__global__ void unpack_kernel(UnpackWeights job) {
  begin_in_turn();
  const int pieces = static_cast<int>(job.cols / 8), piece = static_cast<int>(first_of_grid());
  if (piece >= pieces) return;
  for (std::int64_t row = blockIdx.y * kUnpackRows; row < job.rows; row += gridDim.y * kUnpackRows) {
    uint2 bytes[kUnpackRows];
    float scales[kUnpackRows];
#pragma unroll
    for (int i = 0; i < kUnpackRows; ++i) {
      const std::int64_t from = min(row + i, job.rows - 1);
      bytes[i] = __ldcs(static_cast<const uint2*>(job.w) + from * pieces + piece);
      scales[i] = job.row_scales[from];
    }
#pragma unroll
    for (int i = 0; i < kUnpackRows; ++i) {
      if (row + i >= job.rows) break;
      const uint2 low = values_of<Code>(bytes[i].x, scales[i]), high = values_of<Code>(bytes[i].y, scales[i]);
      static_cast<uint4*>(job.out)[(row + i) * pieces + piece] = {low.x, low.y, high.x, high.y};
    }
  }
}

}  // namespace

bool fits_linear_packed(const Products& products) {
  const auto aligned = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; };
  if (products.inputs <= 0 || products.inputs % kPackedStep != 0 || !aligned(products.x)) return false;
  for (int i = 0; i < products.count; ++i) {
    const Product& product = products.list[i];
    const bool packed = is_byte(product.dtype) && product.row_scales != nullptr;
    if (!aligned(product.w) || (!packed && product.dtype != DType::f16)) return false;
    if (packed && product.dtype != code_of(products)) return false;
  }
  return true;
}

void linear_packed(Stream stream, const Products& products) {
  if (products.count == 0 || products.T <= 0) return;
  if (fits_linear_stream(products)) return linear_stream(stream, products);
  if (products.T <= kColumns) return launch_form<1, 1, 6>(stream, products);
  if (products.T <= 2 * kColumns) return launch_form<2, 2, 3>(stream, products);
  // Where there is room for it, with more weights on their way for each row of x.
  if (PackedForm<4, 4, 3>::kBytes <= most_shared_bytes()) launch_form<4, 4, 3>(stream, products);
  else launch_form<2, 4, 2>(stream, products);
}

void unpack_weights(Stream stream, const UnpackWeights& job) {
  if (job.rows <= 0 || job.cols <= 0) return;
  constexpr std::int64_t kMostRows = 32768;  // of a grid
  const dim3 grid(static_cast<unsigned>((job.cols / 8 + kThreads - 1) / kThreads),
                  static_cast<unsigned>(std::min(kMostRows, (job.rows + kUnpackRows - 1) / kUnpackRows)));
  with_code(job.dtype,
            [&]<class Code>(Code) { launch(unpack_kernel<Code>, grid, kThreads, stream, 0, job); });
}

}  // namespace mplus::kernels::cuda
