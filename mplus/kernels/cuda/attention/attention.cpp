// Caches: rows into them, and attention over them.
#include "mplus/kernels/attention/attention.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "mplus/core/error.h"
#include "mplus/kernels/attention/kv.h"
#include "mplus/kernels/attention/rope.h"
#include "mplus/kernels/cuda/backend.h"
#include "mplus/kernels/cuda/device/check.h"
#include "mplus/kernels/parallel.h"
#include "mplus/kernels/rows/tokens.h"

namespace mplus::kernels::cuda {
namespace {

Cache cache_of(const KvCache& cache) {
  return {cache.keys.data, cache.values.data, cache.keys.dtype, cache.rows, cache.keys.stride(0)};
}

Shape shape_of(const KvShape& shape) { return {shape.heads, shape.groups, shape.head_size}; }

AppendRows job_for(const Queue& queue, const KvCache& cache, const KvShape& shape, const RopeTable& angles) {
  MPLUS_CHECK(cache.keys.stride(0) == cache.values.stride(0) && cache.keys.dtype == cache.values.dtype,
              "keys and values that lie differently: {} and {} apart", cache.keys.stride(0),
              cache.values.stride(0));
  AppendRows job;
  job.cache = cache_of(cache);
  job.shape = shape_of(shape);
  job.angles = floats(angles.on(queue.device()));
  return job;
}

const std::byte* row_of(const ConstTensor& x, std::int64_t row) {
  return static_cast<const std::byte*>(x.data) +
         row_bytes(x.dtype, x.stride(0)) * static_cast<std::size_t>(row);
}

// Brings `count` rows of host memory to `to`, one behind the other; row(r) says where each begins.
template <class Row>
void upload_rows(Queue& queue, std::byte* to, std::int64_t count, std::size_t size_bytes, const Row& row) {
  auto& state = static_cast<CudaQueueState&>(queue.state());
  const auto at_once = static_cast<std::int64_t>(CudaQueueState::kSlotBytes / size_bytes);
  for (std::int64_t first = 0; first < count; first += at_once) {
    const std::int64_t part = std::min(at_once, count - first);
    std::byte* staged = state.stage(static_cast<std::size_t>(part) * size_bytes);
    parallel_ranges(
        queue, part, static_cast<std::int64_t>(size_bytes / 16), [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t r = begin; r < end; ++r)
            std::memcpy(staged + static_cast<std::size_t>(r) * size_bytes, row(first + r), size_bytes);
        });
    state.send(to + static_cast<std::size_t>(first) * size_bytes, staged,
               static_cast<std::size_t>(part) * size_bytes);
  }
}

// Rows of one block in host memory.
void append_from_host(Queue& queue, AppendRows& job, const RowBlock& rows) {
  auto& state = static_cast<CudaQueueState&>(queue.state());
  const std::int64_t width = job.shape.groups * job.shape.head_size;
  const std::size_t size_bytes = row_bytes(job.dtype, width),
                    all = static_cast<std::size_t>(job.count) * size_bytes;
  auto* room = static_cast<std::byte*>(state.scratch(Scratch::rows, 2 * all));
  upload_rows(queue, room, job.count, size_bytes, [&](std::int64_t r) { return row_of(rows.k, r); });
  upload_rows(queue, room + all, job.count, size_bytes, [&](std::int64_t r) { return row_of(rows.v, r); });
  job.k = room;
  job.v = room + all;
  job.k_stride = job.v_stride = width;
  cuda::append_rows(state.stream(), job);
}

// Where a block's rows begin, and how far they are apart.
struct Columns {
  const std::byte *k = nullptr, *v = nullptr;
  std::size_t k_step = 0, v_step = 0;
  bool here = false;
};

std::vector<Columns> columns_of(std::span<const RowBlock> blocks) {
  std::vector<Columns> columns(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto& k = blocks[i].k;
    const auto& v = blocks[i].v;
    if (!k.empty())
      columns[i] = {row_of(k, 0), row_of(v, 0), row_bytes(k.dtype, k.stride(0)),
                    row_bytes(v.dtype, v.stride(0)), on_device(k)};
  }
  return columns;
}

// Where the rows lie on the device, keys, then values: those of the host are brought there first.
const void* const* point_at(Queue& queue, const RowGather& rows, std::size_t size_bytes) {
  auto& state = static_cast<CudaQueueState&>(queue.state());
  const std::size_t n = rows.places.size();
  const std::vector<Columns> columns = columns_of(rows.blocks);
  std::vector<std::size_t> from_host;
  for (std::size_t i = 0; i < n; ++i)
    if (!columns[rows.places[i].block].here) from_host.push_back(i);
  const std::size_t half = from_host.size() * size_bytes;
  auto* room = static_cast<std::byte*>(state.scratch(Scratch::rows, std::max<std::size_t>(1, 2 * half)));
  const auto bring = [&](std::byte* to, ConstTensor RowBlock::*which) {
    upload_rows(queue, to, std::ssize(from_host), size_bytes, [&](std::int64_t r) {
      const RowPlace& place = rows.places[from_host[static_cast<std::size_t>(r)]];
      return row_of(rows.blocks[place.block].*which, place.row);
    });
  };
  bring(room, &RowBlock::k);
  bring(room + half, &RowBlock::v);
  auto* there = static_cast<const void**>(state.scratch(Scratch::places, 2 * n * sizeof(void*)));
  auto* staged = reinterpret_cast<const void**>(state.stage(2 * n * sizeof(void*)));
  std::size_t next = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const Columns& block = columns[rows.places[i].block];
    const auto row = static_cast<std::size_t>(rows.places[i].row);
    const std::byte* brought = block.here ? nullptr : room + next++ * size_bytes;
    staged[i] = block.here ? block.k + row * block.k_step : brought;
    staged[n + i] = block.here ? block.v + row * block.v_step : brought + half;
  }
  state.send(there, reinterpret_cast<const std::byte*>(staged), 2 * n * sizeof(void*));
  return there;
}

// Small rows become floats on the device, keys, then values.
void expand(CudaQueueState& state, AppendRows& job, const void* const* rows, RowFormat format) {
  const std::int64_t width = job.shape.groups * job.shape.head_size, elements = 2 * job.count * width;
  auto* values = static_cast<float*>(state.scratch(Scratch::keys, row_bytes(DType::f32, elements)));
  expand_rows(state.stream(), {values, rows, 2 * job.count, width, format == RowFormat::int4});
  job.dtype = DType::f32;
  job.k = values;
  job.v = values + job.count * width;
  job.k_stride = job.v_stride = width;
}

// Room for all results as operands of the product that follows, where they stand one behind the other.
Rounded room_to_round(CudaQueueState& state, std::span<const kernels::AttendItem> items, const Shape& shape) {
  std::int64_t rows = 0;
  for (const kernels::AttendItem& item : items) {
    if (floats(item.out) != floats(items.front().out) + rows * shape.heads * shape.head_size) return {};
    rows += item.q.size(0);
  }
  if (rows == 0 || !fits_attend_tensor(items.front().cache.keys.dtype, shape)) return {};
  ConstTensor all = items.front().out;
  all.shape[0] = rows;
  return state.round_along(all);
}

Rounded behind(const Rounded& rounded, const ConstTensor& out, const ConstTensor& first) {
  return {static_cast<std::uint16_t*>(rounded.to) + (floats(out) - floats(first)), rounded.dtype};
}

}  // namespace

void CudaBackend::append_rows(Queue& queue, const KvCache& cache, const KvShape& shape, const RowBlock& rows,
                              const RopeTable& angles) const {
  if (rows.k.size(0) == 0) return;
  CudaQueueState& state = state_of(queue);
  state.note_rows(cache);
  AppendRows job = job_for(queue, cache, shape, angles);
  job.dtype = rows.k.dtype;
  job.count = rows.k.size(0);
  if (on_device(rows.k)) {
    job.k = rows.k.data;
    job.v = rows.v.data;
    job.k_stride = rows.k.stride(0);
    job.v_stride = rows.v.stride(0);
    cuda::append_rows(state.stream(), job);
  } else {
    append_from_host(queue, job, rows);
  }
  check_launch("appending rows");
}

void CudaBackend::gather_rows(Queue& queue, const KvCache& cache, const KvShape& shape, const RowGather& rows,
                              const RopeTable& angles) const {
  if (rows.places.empty()) return;
  CudaQueueState& state = state_of(queue);
  state.note_rows(cache);
  AppendRows job = job_for(queue, cache, shape, angles);
  const RowBlock& first = rows.blocks[rows.places.front().block];
  job.dtype = first.k.dtype;
  job.count = std::ssize(rows.places);
  const void* const* there = point_at(queue, rows, row_bytes(first.k.dtype, first.k.size(1)));
  if (first.format == RowFormat::plain) {
    job.k_rows = there;
    job.v_rows = there + job.count;
  } else {
    expand(state, job, there, first.format);
  }
  cuda::append_rows(state.stream(), job);
  check_launch("gathering rows");
}

void CudaBackend::gather_rows(Queue& queue, const KvCache& cache, const KvShape& shape,
                              const NumberedRows& rows, const RopeTable& angles) const {
  if (!on_device(rows.block.k)) {
    std::vector<RowPlace> places;
    for (const std::int32_t row : rows.numbers) places.push_back({0, row});
    return gather_rows(queue, cache, shape, RowGather{{&rows.block, 1}, places}, angles);
  }
  CudaQueueState& state = state_of(queue);
  state.note_rows(cache);
  AppendRows job = job_for(queue, cache, shape, angles);
  job.dtype = rows.block.k.dtype;
  job.count = std::ssize(rows.numbers);
  job.k = rows.block.k.data;
  job.v = rows.block.v.data;
  job.k_stride = rows.block.k.stride(0);
  job.v_stride = rows.block.v.stride(0);
  void* numbers = state.scratch(Scratch::places, rows.numbers.size_bytes());
  state.upload(queue.pool(), numbers, rows.numbers.data(), rows.numbers.size_bytes());
  job.numbers = static_cast<const std::int32_t*>(numbers);
  cuda::append_rows(state.stream(), job);
  check_launch("gathering rows");
}

void CudaBackend::append_tokens(Queue& queue, std::span<const TokenRows> sessions, const KvShape& shape,
                                const RopeTable& angles, std::int32_t first_note) const {
  CudaQueueState& state = state_of(queue);
  for (const TokenRows& session : sessions) state.note_rows(session.cache);
  for (std::size_t first = 0; first < sessions.size(); first += kMostTokenItems) {
    TokenItems items;
    items.note = first_note == kNoNote ? nullptr : state.note();
    items.first_note = first_note;
    items.shape = shape_of(shape);
    items.angles = floats(angles.on(queue.device()));
    for (const TokenRows& session :
         sessions.subspan(first, std::min<std::size_t>(kMostTokenItems, sessions.size() - first)))
      items.list[items.count++] = {.cache = cache_of(session.cache),
                                   .q = floats(session.q),
                                   .k = floats(session.k),
                                   .v = floats(session.v),
                                   .kept_k = session.kept_k.data,
                                   .kept_v = session.kept_v.data,
                                   .kept_rounded = session.kept_k.dtype == DType::bf16,
                                   .T = session.k.size(0)};
    cuda::append_tokens(state.stream(), items);
  }
  check_launch("appending tokens");
}

void CudaBackend::attend(Queue& queue, std::span<const kernels::AttendItem> items,
                         const KvShape& shape) const {
  CudaQueueState& state = state_of(queue);
  Shape sizes = shape_of(shape);
  sizes.warpgroups = has_warpgroups();
  MPLUS_CHECK(shape.head_size <= kMostHeadSize, "heads of {}", shape.head_size);
  const Rounded rounded = room_to_round(state, items, sizes);
  for (std::size_t first = 0; first < items.size(); first += kMostAttendItems) {
    AttendItems launch;
    launch.shape = sizes;
    std::int64_t room = 0;
    for (const kernels::AttendItem& item :
         items.subspan(first, std::min<std::size_t>(kMostAttendItems, items.size() - first))) {
      if (item.q.size(0) == 0) continue;
      launch.list[launch.count] = {floats(item.out),     floats(item.q), item.q.size(0),
                                   cache_of(item.cache), nullptr,        {}};
      if (rounded.to) launch.list[launch.count].rounded = behind(rounded, item.out, items.front().out);
      room += partial_floats(launch.list[launch.count++], sizes);
    }
    if (launch.count == 0) continue;
    if (!fits_attend_tensor(launch.list[0].cache.dtype, sizes)) {
      attend_plain(state.stream(), launch);
      continue;
    }
    if (items.size() == 1) launch.list[0].settled = state.settled_rows(items.front().cache);
    auto* partial =
        static_cast<float*>(state.scratch(Scratch::partial, static_cast<std::size_t>(room) * sizeof(float)));
    for (int i = 0; i < launch.count; ++i) {
      launch.list[i].partial = partial;
      partial += partial_floats(launch.list[i], sizes);
    }
    attend_tensor(state.stream(), launch);
  }
  check_launch("attending");
}

void CudaBackend::attention_weights(Queue& queue, const kernels::AttendItem& item,
                                    const KvShape& shape) const {
  cuda::attention_weights(
      state_of(queue).stream(),
      {floats(item.out), floats(item.q), item.q.size(0), cache_of(item.cache), nullptr, {}}, shape_of(shape));
  check_launch("looking at attention");
}

}  // namespace mplus::kernels::cuda
