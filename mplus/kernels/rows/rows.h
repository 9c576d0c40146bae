// Moving rows about, and looking whether they are numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "mplus/core/tensors/tensor.h"
#include "mplus/kernels/queue.h"

namespace mplus::kernels {

// A row of one of several blocks.
struct RowPlace {
  std::size_t block = 0;
  std::int64_t row = 0;
};

// out = in, of the same shape. They must not overlap.
// On one device: f32, f16 and bf16, rounding to nearest even; at most two dimensions, each row without gaps;
// or any type as it is, without gaps.
// Between the host and the queue's device: any type, the same on both sides, without gaps. What comes to the
// host is there after Queue::wait().
void copy(Queue& queue, Tensor out, ConstTensor in);
// Several on the queue's device, none of which writes what another one reads. `plus`: a row of f32 that is
// added to each of out, which is f32 then and may be `in` itself.
struct RowCopy {
  Tensor out;
  ConstTensor in;
  ConstTensor plus = {};
};
void copy(Queue& queue, std::span<const RowCopy> copies);
void fill(Queue& queue, Tensor out, float value);

// to[places[i]] = from[i]: rows of one type, without gaps inside. No two rows of all jobs have the same
// place.
struct RowScatter {
  Tensor to;                             // [rows, width]
  ConstTensor from;                      // [n, width]
  std::span<const std::int32_t> places;  // [n], in host memory
};
void scatter_rows(Queue& queue, std::span<const RowScatter> jobs);

// Notes `number` ≥ 0 in the queue if x holds a NaN or infinity. Of several, the smallest is kept.
struct Note {
  ConstTensor x;
  std::int32_t number = 0;
};
void note_finite(Queue& queue, std::span<const Note> notes);
void note_finite(Queue& queue, ConstTensor x, std::int32_t number);
// Waits; the note, or −1 where everything was finite. Afterwards there is none.
std::int32_t take_note(Queue& queue);

}  // namespace mplus::kernels
