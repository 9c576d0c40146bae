// Some of a model's layers, or all of them: which ones keep a memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mplus {

class LayerSet {
 public:
  LayerSet() = default;                                 // all
  explicit LayerSet(std::vector<std::int64_t> layers);  // at least one, ascending, each once

  // "all", or numbers and ranges that ascend: "0-3,7". Nothing where the text is neither.
  static std::optional<LayerSet> parse(std::string_view text);
  std::string text() const;

  bool is_all() const { return layers_.empty(); }
  bool contains(std::int64_t layer) const;
  // Whether a model of so many layers has all of these.
  bool fits(std::int64_t layers) const { return is_all() || layers_.back() < layers; }
  // The same for a model of so many layers: a set that names each of them is all.
  LayerSet of(std::int64_t layers) const { return std::ssize(layers_) == layers ? LayerSet() : *this; }

  // Members are counted from the lowest.
  std::int64_t count(std::int64_t layers) const { return is_all() ? layers : std::ssize(layers_); }
  std::int64_t layer(std::int64_t place) const {
    return is_all() ? place : layers_[static_cast<std::size_t>(place)];
  }
  std::int64_t place(std::int64_t layer) const;  // of a member
  std::vector<std::int64_t> list(std::int64_t layers) const;

  friend bool operator==(const LayerSet&, const LayerSet&) = default;

 private:
  std::vector<std::int64_t> layers_;  // empty: all
};

}  // namespace mplus
