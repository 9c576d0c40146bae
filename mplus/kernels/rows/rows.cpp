#include "mplus/kernels/rows/rows.h"

#include "mplus/kernels/backend.h"
#include "mplus/kernels/check.h"

namespace mplus::kernels {

void copy(Queue& queue, Tensor out, ConstTensor in) {
  check_same_shape(out, in);
  for (const Device& device : {out.device, in.device})
    MPLUS_CHECK(device == queue.device() || (device.is_cpu() && out.device != in.device),
                "from {} to {} on {}", device_name(in.device), device_name(out.device),
                device_name(queue.device()));
  const bool as_it_is = out.dtype == in.dtype && out.contiguous() && in.contiguous();
  if (out.device == in.device)
    MPLUS_CHECK(as_it_is || (is_float(out.dtype) && is_float(in.dtype) && out.dimensions <= 2),
                "{} as {} in {} dimensions", dtype_name(in.dtype), dtype_name(out.dtype), out.dimensions);
  else
    MPLUS_CHECK(as_it_is, "{} as {}, or with gaps, from {} to {}", dtype_name(in.dtype),
                dtype_name(out.dtype), device_name(in.device), device_name(out.device));
  queue.backend().copy(queue, out, in);
}

void copy(Queue& queue, std::span<const RowCopy> copies) {
  for (const auto& [out, in, plus] : copies) {
    check_same_shape(out, in);
    MPLUS_CHECK(out.device == queue.device() && in.device == queue.device() && is_float(out.dtype) &&
                    is_float(in.dtype) && out.dimensions <= 2,
                "{} as {} from {} to {} on {}", dtype_name(in.dtype), dtype_name(out.dtype),
                device_name(in.device), device_name(out.device), device_name(queue.device()));
    if (plus.empty()) continue;
    check_floats(queue, {out, in, plus});
    check_matrix(out, plus.elements());
  }
  if (!copies.empty()) queue.backend().copy_all(queue, copies);
}

void Backend::copy_all(Queue& queue, std::span<const RowCopy> copies) const {
  for (const auto& [out, in, plus] : copies) {
    if (out.data != in.data) copy(queue, out, in);
    if (!plus.empty()) add_row(queue, out, plus);
  }
}

void fill(Queue& queue, Tensor out, float value) {
  check_floats(queue, {out});
  queue.backend().fill(queue, out, value);
}

void scatter_rows(Queue& queue, std::span<const RowScatter> jobs) {
  for (const auto& [to, from, places] : jobs) {
    check_matrix(to, from.size(1));
    check_matrix(from, to.size(1));
    MPLUS_CHECK(to.device == queue.device() && from.device == queue.device() && to.dtype == from.dtype &&
                    to.contiguous() && from.contiguous() && std::ssize(places) == from.size(0),
                "{} rows of {} for {} places among {}", dtype_name(from.dtype), from.size(0), places.size(),
                dtype_name(to.dtype));
    for (const std::int32_t place : places)
      MPLUS_CHECK(place >= 0 && place < to.size(0), "place {} of {}", place, to.size(0));
  }
  if (!jobs.empty()) queue.backend().scatter_rows(queue, jobs);
}

void note_finite(Queue& queue, std::span<const Note> notes) {
  for (const Note& note : notes) {
    check_floats(queue, {note.x});
    MPLUS_CHECK(note.number >= 0, "note {}", note.number);
  }
  queue.backend().note_finite(queue, notes);
}

void note_finite(Queue& queue, ConstTensor x, std::int32_t number) {
  const Note note{x, number};
  note_finite(queue, {&note, 1});
}

namespace {

class Done final : public Mark {  // where operations are done when they return
 public:
  explicit Done(std::int32_t note) : note_(note) {}
  std::int32_t wait() override { return note_; }

 private:
  std::int32_t note_;
};

}  // namespace

std::unique_ptr<Mark> Backend::mark(Queue& queue) const { return std::make_unique<Done>(take_note(queue)); }

std::int32_t take_note(Queue& queue) { return queue.backend().take_note(queue); }

}  // namespace mplus::kernels
