#include <algorithm>
#include <atomic>

#include "mplus/core/numbers/finite.h"
#include "mplus/kernels/cpu/ops/operations.h"
#include "mplus/kernels/cpu/state.h"
#include "mplus/kernels/isa.h"
#include "mplus/kernels/parallel.h"

namespace mplus::kernels::cpu {
namespace {

constexpr std::int64_t kExpCost = 4;  // of an exponential beside an addition

}  // namespace

bool all_finite(Queue& queue, const float* x, std::int64_t n) {
  std::atomic<bool> finite = true;
  parallel_ranges(queue, n, 1, [&](std::int64_t begin, std::int64_t end) {
    if (!mplus::all_finite({x + begin, static_cast<std::size_t>(end - begin)})) finite = false;
  });
  return finite;
}

void choose(Queue& queue, std::int64_t* out, const Tensor& logits, std::span<const Choice> choices) {
  std::vector<ChoiceRoom>& rooms = static_cast<State&>(queue.state()).choice_rooms;
  rooms.resize(std::max(rooms.size(), choices.size()));
  const std::int64_t vocab = logits.size(1);
  parallel_ranges(queue, logits.size(0), vocab, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const Choice& choice = choices[static_cast<std::size_t>(r)];
      const std::span<float> row(logits.row(r).on_host<float>(), static_cast<std::size_t>(vocab));
      edit(row, choice.edits);
      out[r] = mplus::choose(row, choice, rooms[static_cast<std::size_t>(r)]);
    }
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
