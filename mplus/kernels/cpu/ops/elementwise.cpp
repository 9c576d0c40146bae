#include <algorithm>
#include <atomic>

#include "mplus/core/numbers/finite.h"
#include "mplus/kernels/cpu/ops/operations.h"
#include "mplus/kernels/isa.h"
#include "mplus/kernels/parallel.h"

namespace mplus::kernels::cpu {
namespace {

constexpr std::int64_t kExpCost = 4;  // of an exponential beside an addition

// Of the first of the largest of n > 0 numbers, none of them NaN. A block's maximum needs no branch.
std::int64_t place_of_largest(const float* x, std::int64_t n) {
  constexpr std::int64_t kBlock = 256, kChains = 16;
  float most = x[0];
  std::int64_t begin = 0;  // of the first block that has it
  for (std::int64_t at = 0; at < n; at += kBlock) {
    const std::int64_t count = std::min(kBlock, n - at);
    float chains[kChains];
    std::fill_n(chains, kChains, most);
    std::int64_t i = 0;
    for (; i + kChains <= count; i += kChains)
      for (std::int64_t c = 0; c < kChains; ++c) chains[c] = std::max(chains[c], x[at + i + c]);
    for (; i < count; ++i) chains[0] = std::max(chains[0], x[at + i]);
    const float of_block = *std::max_element(chains, chains + kChains);
    if (of_block > most) most = of_block, begin = at;
  }
  return std::find(x + begin, x + n, most) - x;
}

}  // namespace

bool all_finite(Queue& queue, const float* x, std::int64_t n) {
  std::atomic<bool> finite = true;
  parallel_ranges(queue, n, 1, [&](std::int64_t begin, std::int64_t end) {
    if (!mplus::all_finite({x + begin, static_cast<std::size_t>(end - begin)})) finite = false;
  });
  return finite;
}

void largest(Queue& queue, std::int64_t* out, const ConstTensor& x) {
  parallel_ranges(queue, x.size(0), x.size(1), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r)
      out[r] = place_of_largest(x.row(r).on_host<float>(), x.size(1));
  });
}

void rms_norm(Queue& queue, Tensor out, const ConstTensor& x, const ConstTensor& weight, float epsilon) {
  const std::int64_t d = x.size(1);
  auto* to = out.on_host<float>();
  const auto *from = x.on_host<float>(), *scale = weight.on_host<float>();
  parallel_ranges(queue, x.size(0), d, [&](std::int64_t t0, std::int64_t t1) {
    for (std::int64_t t = t0; t < t1; ++t) table().rms_norm_row(to + t * d, from + t * d, scale, d, epsilon);
  });
}

void swiglu(Queue& queue, float* out, const float* gate, const float* up, std::int64_t n) {
  parallel_ranges(queue, n, kExpCost, [&](std::int64_t begin, std::int64_t end) {
    table().swiglu(out + begin, gate + begin, up + begin, end - begin);
  });
}

void silu(Queue& queue, float* x, std::int64_t n) {
  parallel_ranges(queue, n, kExpCost,
                  [&](std::int64_t begin, std::int64_t end) { table().silu(x + begin, end - begin); });
}

void add_row(Queue& queue, float* x, const float* row, std::int64_t T, std::int64_t d) {
  parallel_ranges(queue, T, d, [&](std::int64_t t0, std::int64_t t1) {
    for (std::int64_t t = t0; t < t1; ++t) table().add(x + t * d, row, d);
  });
}

void rope(Queue& queue, Tensor x, const RopeTable& angles, std::int64_t first_position) {
  const std::int64_t half = angles.half(), width = x.size(1), stride = x.stride(0);
  auto* rows = x.on_host<float>();
  parallel_ranges(queue, x.size(0), width, [&](std::int64_t t0, std::int64_t t1) {
    for (std::int64_t t = t0; t < t1; ++t) {
      const float* cos = angles.cos(first_position + t);
      const float* sin = angles.sin(first_position + t);
      for (std::int64_t at = 0; at < width; at += 2 * half) {
        float* head = rows + t * stride + at;
        table().rotate(head, head, cos, sin, half);
      }
    }
  });
}

}  // namespace mplus::kernels::cpu
