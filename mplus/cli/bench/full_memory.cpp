#include "mplus/cli/bench/full_memory.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "mplus/core/numbers/float16.h"
#include "mplus/core/numbers/philox.h"
#include "mplus/core/numbers/row_format.h"
#include "mplus/core/tensors/buffer.h"

namespace mplus::cli {
namespace {

constexpr std::int64_t kNoiseRows = 4096;  // different ones

// Columns of one layer's rows, in one format.
struct Columns {
  AlignedVector<std::byte> k, v, key;
};

// Rows of a column that repeat after kNoiseRows.
class Noise {
 public:
  Noise(const memory::Layout& layout, RowFormat format) : layout_(layout), format_(format) {
    std::vector<float> values(static_cast<std::size_t>(std::max(layout.kv, layout.retriever)));
    for (std::uint32_t r = 0; r < kNoiseRows; ++r) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto bits = static_cast<std::uint32_t>(
            random_bits(3, RandomStream::sample, r, static_cast<std::uint32_t>(i), 0));
        values[i] = static_cast<float>(bits) * 0x1p-31f - 1.0f;
      }
      add_vector(vectors_, values.data());
      add_key(values.data());
    }
  }

  void fill(AlignedVector<std::byte>& column, std::int64_t rows, bool keys, ThreadPool& threads) const {
    const std::vector<std::byte>& from = keys ? keys_ : vectors_;
    const std::size_t size = keys ? layout_.key_bytes(format_) : layout_.kv_bytes(format_);
    column.resize(static_cast<std::size_t>(rows) * size);
    threads.run((rows + kNoiseRows - 1) / kNoiseRows, [&](std::int64_t piece, int) {
      const std::size_t at = static_cast<std::size_t>(piece) * from.size();
      std::memcpy(column.data() + at, from.data(), std::min(from.size(), column.size() - at));
    });
  }

 private:
  void add_plain(std::vector<std::byte>& to, const float* values, std::int64_t n) const {
    for (std::int64_t i = 0; i < n; ++i) {
      const std::uint16_t half = f32_to_bf16(values[i]);
      const auto* bytes = layout_.dtype == DType::f32 ? reinterpret_cast<const std::byte*>(values + i)
                                                      : reinterpret_cast<const std::byte*>(&half);
      to.insert(to.end(), bytes, bytes + row_bytes(layout_.dtype, 1));
    }
  }
  void add_vector(std::vector<std::byte>& to, const float* values) const {
    if (format_ == RowFormat::plain) return add_plain(to, values, layout_.kv);
    const std::size_t at = to.size();
    to.resize(at + layout_.kv_bytes(format_));
    make_small_vector(to.data() + at, format_, values, layout_.kv);
  }
  void add_key(const float* values) {
    if (format_ == RowFormat::plain) return add_plain(keys_, values, layout_.retriever);
    const std::size_t at = keys_.size();
    keys_.resize(at + layout_.key_bytes(format_));
    make_small_key(keys_.data() + at, values, layout_.retriever);
  }

  const memory::Layout& layout_;
  RowFormat format_;
  std::vector<std::byte> vectors_, keys_;
};

Columns made_up(const Noise& noise, std::int64_t rows, ThreadPool& threads) {
  Columns columns;
  noise.fill(columns.k, rows, false, threads);
  noise.fill(columns.v, rows, false, threads);
  noise.fill(columns.key, rows, true, threads);
  return columns;
}

memory::RowsView view_of(const Columns& columns, const std::int64_t* births, std::int64_t n,
                         RowFormat format) {
  return {.k = columns.k.data(),
          .v = columns.v.data(),
          .key = columns.key.data(),
          .birth = births,
          .n = n,
          .format = format};
}

// Born in this order, dropped in another: within N rows, everyone at a place of its own.
std::vector<std::int64_t> scattered(std::int64_t rows, std::int64_t N) {
  constexpr std::int64_t kStep = 4099;  // a prime
  std::vector<std::int64_t> births(static_cast<std::size_t>(rows));
  for (std::int64_t first = 0; first < rows; first += N) {
    const std::int64_t n = std::min(N, rows - first);
    for (std::int64_t i = 0; i < n; ++i)
      births[static_cast<std::size_t>(first + i)] = first + (n % kStep == 0 ? i : i * kStep % n);
  }
  return births;
}

struct Store {
  std::vector<Columns> layers;
  std::vector<std::int64_t> births;
};

memory::LongTermStore long_term(const memory::Layout& layout, std::int64_t rows, ThreadPool& threads) {
  auto kept = std::make_shared<Store>();
  kept->births = scattered(rows, layout.N);
  const Noise noise(layout, layout.long_term);
  for (std::int64_t l = 0; l < layout.layers; ++l)
    kept->layers.push_back(layout.remembering.contains(l) ? made_up(noise, rows, threads) : Columns());
  memory::LongTermStore store(layout);
  for (std::int64_t first = 0; first < rows; first += kBenchSegmentRows) {
    const std::int64_t n = std::min(kBenchSegmentRows, rows - first);
    std::vector<memory::RowsView> views;
    std::vector<std::int64_t> counts;
    for (std::int64_t l = 0; l < layout.layers; ++l) {
      memory::RowsView view{.format = layout.long_term};
      if (layout.remembering.contains(l)) {
        view = view_of(kept->layers[static_cast<std::size_t>(l)], kept->births.data() + first, n,
                       layout.long_term);
        const auto at = static_cast<std::size_t>(first);
        view.k += at * layout.kv_bytes(layout.long_term);
        view.v += at * layout.kv_bytes(layout.long_term);
        view.key += at * layout.key_bytes(layout.long_term);
      }
      counts.push_back(view.n);
      views.push_back(view);
    }
    store.adopt(std::make_shared<memory::Segment>(std::move(views), kept), counts);
  }
  return store;
}

}  // namespace

FullMemory full_memory(const memory::Layout& layout, std::int64_t stored, std::int64_t window,
                       ThreadPool& threads) {
  stored = stored / layout.K * layout.K;
  FullMemory full{memory::Memory(layout, 0), memory::WindowRows(layout)};
  full.memory.load_long_term(long_term(layout, stored, threads));
  const Noise noise(layout, RowFormat::plain);
  const Columns slots = made_up(noise, std::max(layout.N, window), threads);
  std::vector<std::int64_t> births(static_cast<std::size_t>(layout.N));
  for (std::size_t i = 0; i < births.size(); ++i) births[i] = stored + static_cast<std::int64_t>(i);
  std::vector<memory::RowsView> short_term;
  for (std::int64_t l = 0; l < layout.layers; ++l) {
    const bool keeps = layout.remembering.contains(l);
    short_term.push_back(keeps ? view_of(slots, births.data(), layout.N, RowFormat::plain)
                               : memory::RowsView{});
    const std::size_t bytes = static_cast<std::size_t>(window) * layout.kv_bytes();
    full.window.load(l, {slots.k.data(), bytes}, {slots.v.data(), bytes});
  }
  full.window.commit(window);
  full.memory.load_short_term(short_term);
  full.memory.set_updates((stored + layout.N + layout.K - 1) / layout.K);
  return full;
}

}  // namespace mplus::cli
