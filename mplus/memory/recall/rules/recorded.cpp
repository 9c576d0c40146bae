// Rows that an earlier read recalled, once more.
#include <unordered_map>

#include "mplus/memory/recall/recall.h"

namespace mplus::memory {
namespace {

enum class Name { birth, ordinal };

class RecordedRecall final : public Recall {
 public:
  RecordedRecall(Name name, std::vector<std::vector<std::int64_t>> names)
      : name_(name), names_(std::move(names)) {}

  bool wants_queries() const override { return false; }
  LayerRecall rows(kernels::Queue&, const Memory& memory, std::int64_t layer, const LayerQueries&) override {
    LayerRecall recall;
    std::vector<std::int64_t> names = names_.at(static_cast<std::size_t>(layer));
    if (const std::int64_t layers = memory.layout().layers; std::ssize(names_) > layers) {
      recall.short_term = names_.at(static_cast<std::size_t>(layers + layer));
      names.insert(names.end(), recall.short_term->begin(), recall.short_term->end());
    }
    std::unordered_map<std::int64_t, Named> named;
    for (const std::int64_t name : names) named[name];
    memory.long_term().for_each(layer, [&](RowId id, std::int64_t birth) {
      const auto at = named.find(name_ == Name::birth ? birth : ordinal_of(memory, layer, id));
      if (at != named.end()) at->second.rows.push_back(id);
    });
    for (const std::int64_t name : names) {
      Named& which = named[name];
      if (which.rows.empty()) continue;
      const RowId id = which.rows[which.asked++ % which.rows.size()];
      recall.rows.push_back({id, memory.long_term().birth(layer, id), 0.0f});
    }
    return recall;
  }

 private:
  struct Named {
    std::vector<RowId> rows;  // in store order
    std::size_t asked = 0;    // how often the name came: the second time means the second row
  };

  Name name_;
  std::vector<std::vector<std::int64_t>> names_;  // [L], or [2·L] with those of short-term rows
};

}  // namespace

std::unique_ptr<Recall> recall_births(std::vector<std::vector<std::int64_t>> births_by_layer) {
  return std::make_unique<RecordedRecall>(Name::birth, std::move(births_by_layer));
}

std::unique_ptr<Recall> recall_ordinals(std::vector<std::vector<std::int64_t>> ordinals_by_layer) {
  return std::make_unique<RecordedRecall>(Name::ordinal, std::move(ordinals_by_layer));
}

std::int64_t ordinal_of(const Memory& memory, std::int64_t layer, RowId id) {
  return memory.long_term().segments()[id.segment].first_ordinal[static_cast<std::size_t>(layer)] + id.row;
}

}  // namespace mplus::memory
