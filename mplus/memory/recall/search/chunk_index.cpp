#include "mplus/memory/recall/search/chunk_index.h"

#include <algorithm>
#include <limits>

#include "mplus/core/error.h"
#include "mplus/kernels/parallel.h"
#include "mplus/kernels/rows/convert.h"

namespace mplus::memory {
namespace {

// Small enough that the few dozen chunks whose rows are still coming in make few blocks new at a write.
constexpr std::int64_t kBlockChunks = 32;

std::int64_t block_of(std::int64_t birth, std::int64_t K) { return chunk_of(birth, K * kBlockChunks); }

// Sums keys of one chunk, group by group, and leaves their means.
class Means {
 public:
  explicit Means(const Layout& layout)
      : layout_(layout), key_(static_cast<std::size_t>(layout.retriever)), sums_(key_.size() * kGroups) {}

  void add(const RowCursor& row, std::int64_t place) {
    const auto group = static_cast<std::size_t>(place * ChunkIndex::kGroups / layout_.K);
    row.expand_key(layout_, key_.data());
    float* sum = sums_.data() + group * key_.size();
    for (std::size_t i = 0; i < key_.size(); ++i) sum[i] += key_[i];
    ++counts_[group];
  }

  void finish(ChunkIndex::Block& block) {
    for (std::size_t group = 0; group < kGroups; ++group)
      for (std::size_t i = 0; i < key_.size(); ++i)
        sums_[group * key_.size() + i] /= static_cast<float>(std::max(counts_[group], 1u));
    const std::size_t at = block.means.size();
    const std::size_t key_bytes = layout_.key_bytes(layout_.long_term);
    block.means.resize(at + kGroups * key_bytes);
    for (std::size_t group = 0; group < kGroups; ++group)
      store(block.means.data() + at + group * key_bytes, sums_.data() + group * key_.size());
    block.counts.insert(block.counts.end(), std::begin(counts_), std::end(counts_));
    std::fill(sums_.begin(), sums_.end(), 0.0f);
    std::fill(std::begin(counts_), std::end(counts_), 0u);
  }

 private:
  static constexpr auto kGroups = static_cast<std::size_t>(ChunkIndex::kGroups);

  void store(std::byte* mean, const float* values) const {
    if (layout_.long_term != RowFormat::plain) return make_small_key(mean, values, layout_.retriever);
    kernels::from_f32(mean, layout_.dtype, values, layout_.retriever);
  }

  const Layout& layout_;
  std::vector<float> key_, sums_;
  std::uint32_t counts_[kGroups] = {};
};

// `rows`: all of the block's, in any order.
ChunkIndex::Block make_block(const Layout& layout, const LongTermStore& store, std::int64_t layer,
                             std::vector<Expiry> rows) {
  std::sort(rows.begin(), rows.end());  // sums in order of birth have the same bits however the store lies
  ChunkIndex::Block block;
  block.first_ordinal = std::numeric_limits<std::int64_t>::max();
  for (const Expiry& row : rows) block.first_ordinal = std::min(block.first_ordinal, row.ordinal);
  block.rows.reserve(rows.size());
  Means means(layout);
  RowCursor cursor(store, layer);
  for (const auto& [birth, ordinal] : rows) {
    const std::int64_t chunk = chunk_of(birth, layout.K);
    if (block.chunks.empty() || block.chunks.back() != chunk) {
      if (!block.chunks.empty()) means.finish(block);
      block.chunks.push_back(chunk);
      block.begin.push_back(static_cast<std::uint32_t>(block.rows.size()));
    }
    const std::int64_t offset = ordinal - block.first_ordinal;
    MPLUS_CHECK(offset <= std::numeric_limits<std::uint32_t>::max(), "rows {} apart", offset);
    block.rows.push_back(static_cast<std::uint32_t>(offset));
    cursor.seek(ordinal);
    means.add(cursor, birth - chunk * layout.K);
  }
  means.finish(block);
  block.begin.push_back(static_cast<std::uint32_t>(block.rows.size()));
  for (std::size_t c = 0; c < block.chunks.size(); ++c)  // as they lie: readers go through the store once
    std::sort(block.rows.begin() + block.begin[c], block.rows.begin() + block.begin[c + 1]);
  return block;
}

}  // namespace

ChunkIndex::ChunkIndex(kernels::Queue& queue, const Layout& layout, const LongTermStore& store,
                       const ChunkIndex* former)
    : layers_(static_cast<std::size_t>(layout.layers)) {
  for (const SegmentUse& use : store.segments())  // may throw, so not below
    for (std::int64_t l = 0; l < layout.layers; ++l) use.segment->touch(l, SegmentPart::retriever_keys);
  queue.pool().run(layout.layers, [&](std::int64_t l, int) {
    const auto at = static_cast<std::size_t>(l);
    layers_[at] = make_layer(layout, store, l, former ? &former->layers_[at] : nullptr);
  });
}

ChunkIndex::Layer ChunkIndex::make_layer(const Layout& layout, const LongTermStore& store, std::int64_t layer,
                                         const Layer* former) {
  Layer made{.blocks = former ? former->blocks : Blocks{},
             .end = store.end_ordinal(layer),
             .expiry = store.expiry(layer)};
  std::map<std::int64_t, std::vector<Expiry>> changed;  // rows of the blocks to be made
  for (const SegmentUse& use : store.segments()) {
    const RowsView rows = use.rows(layer);
    const std::int64_t first = use.first_ordinal[static_cast<std::size_t>(layer)];
    std::vector<Expiry>* block = nullptr;
    std::int64_t number = 0;
    for (std::int64_t r = std::max<std::int64_t>(0, former ? former->end - first : 0); r < rows.n; ++r) {
      if (const Expiry row{rows.birth[r], first + r}; row >= made.expiry) {
        const std::int64_t place = block_of(row.birth, layout.K);
        if (!block || place != number) block = &changed[number = place];
        block->push_back(row);
      }
    }
  }
  if (former && former->expiry != made.expiry)
    for (const auto& [place, block] : made.blocks) {
      if (place > block_of(made.expiry.birth, layout.K)) break;
      changed[place];  // holds rows that have expired since, as a rule
    }
  for (auto& [place, rows] : changed) {
    RowCursor cursor(store, layer);
    if (const auto old = made.blocks.find(place); old != made.blocks.end())
      for (const std::uint32_t offset : old->second->rows) {
        const std::int64_t ordinal = old->second->first_ordinal + offset;
        if (!cursor.seek(ordinal)) continue;  // its segment is gone, with all that it held
        if (const Expiry row{cursor.birth(), ordinal}; row >= made.expiry) rows.push_back(row);
      }
    if (rows.empty()) {
      made.blocks.erase(place);
    } else {
      made.blocks[place] = std::make_shared<Block>(make_block(layout, store, layer, std::move(rows)));
    }
  }
  return made;
}

bool ChunkIndex::is_of(const LongTermStore& store) const {
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const auto layer = static_cast<std::int64_t>(l);
    if (layers_[l].end != store.end_ordinal(layer) || layers_[l].expiry != store.expiry(layer)) return false;
  }
  return true;
}

std::size_t ChunkIndex::size_bytes() const {
  std::size_t size = 0;
  for (const Layer& layer : layers_)
    for (const auto& [place, block] : layer.blocks)
      size += sizeof(Block) + block->chunks.size() * sizeof(std::int64_t) + block->means.size() +
              (block->begin.size() + block->rows.size() + block->counts.size()) * sizeof(std::uint32_t);
  return size;
}

bool operator==(const ChunkIndex& a, const ChunkIndex& b) {
  return std::equal(a.layers_.begin(), a.layers_.end(), b.layers_.begin(), b.layers_.end(),
                    [](const ChunkIndex::Layer& x, const ChunkIndex::Layer& y) {
                      return std::equal(x.blocks.begin(), x.blocks.end(), y.blocks.begin(), y.blocks.end(),
                                        [](const auto& one, const auto& other) {
                                          return one.first == other.first && *one.second == *other.second;
                                        });
                    });
}

}  // namespace mplus::memory
