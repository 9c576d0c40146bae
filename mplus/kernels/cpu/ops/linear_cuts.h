// How products become a list of items that the threads share out; of linear.cpp and linear_adapted.cpp alone.
#pragma once

#include <cstdint>
#include <span>

#include "mplus/kernels/cpu/ops/operations.h"
#include "mplus/kernels/cpu/table.h"

namespace mplus::kernels::cpu {

enum class Path : std::uint8_t { f32, i8, rounded };
Path path_of(const Queue& queue, const Matrix& w, Rows rows);

LinearJob make_job(const Product& product, const float* x, std::int64_t T);

// All rows of job.x as products of many rows read them, to `rounded`, which has Table::rounded_bytes.
void round_inputs(Queue& queue, const LinearJob& job, std::byte* rounded);

// A product and how it is cut into items: of whole rows of w for one row of x, or for all where w is
// interleaved and x are integers; otherwise of panels of outputs, and a share of the rows of x where panels
// are too few for the threads.
struct Cut {
  LinearJob job;
  LinearJob up;  // gated: the second product, whose first is `job`
  Path path = Path::f32;
  bool gated = false;
  bool single = false;
  bool whole = false;  // items are ranges of outputs, for all rows of x
  std::int64_t items = 0;
  std::int64_t size = 0;   // outputs of a whole item, or panels
  std::int64_t large = 0;  // of the whole items the first, of large_size outputs each
  std::int64_t large_size = 0;
  std::int64_t shares = 1;  // of the rows of x, of `share` rows each
  std::int64_t share = 0;
  std::size_t scratch_size = 0;
  std::int64_t work = 0;
};
void cut_outputs(Cut& cut, int threads);
void cut_batch(Cut& cut, int threads);
void run_cuts(Queue& queue, std::span<const Cut> cuts);

}  // namespace mplus::kernels::cpu
