#include "mplus/core/layer_set.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "mplus/core/error.h"

namespace mplus {
namespace {

constexpr std::string_view kAll = "all";
constexpr std::int64_t kMost = 1 << 16;  // no model has so many layers: a range is written out

// The number at the start of the text, which loses it.
std::optional<std::int64_t> take_number(std::string_view& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || value < 0 || value >= kMost) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

LayerSet::LayerSet(std::vector<std::int64_t> layers) : layers_(std::move(layers)) {
  MPLUS_CHECK(!layers_.empty() && layers_.front() >= 0 &&
                  std::adjacent_find(layers_.begin(), layers_.end(), std::greater_equal<>()) == layers_.end(),
              "layers must ascend");
}

std::optional<LayerSet> LayerSet::parse(std::string_view text) {
  if (text == kAll) return LayerSet();
  std::vector<std::int64_t> layers;
  do {
    const auto first = take_number(text);
    const auto last = first && take(text, '-') ? take_number(text) : first;
    if (!first || !last || *last < *first || (!layers.empty() && *first <= layers.back()))
      return std::nullopt;
    for (std::int64_t l = *first; l <= *last; ++l) layers.push_back(l);
  } while (take(text, ','));
  if (!text.empty()) return std::nullopt;
  return LayerSet(std::move(layers));
}

std::string LayerSet::text() const {
  if (is_all()) return std::string(kAll);
  std::string text;
  for (std::size_t i = 0, end = 0; i < layers_.size(); i = end) {
    end = i + 1;
    while (end < layers_.size() && layers_[end] == layers_[end - 1] + 1) ++end;
    if (i > 0) text += ',';
    text += fmt::format("{}", layers_[i]);
    if (end > i + 1) text += fmt::format("-{}", layers_[end - 1]);
  }
  return text;
}

bool LayerSet::contains(std::int64_t layer) const {
  return is_all() || std::binary_search(layers_.begin(), layers_.end(), layer);
}

std::int64_t LayerSet::place(std::int64_t layer) const {
  MPLUS_CHECK(contains(layer), "layer {} is none of {}", layer, text());
  return is_all() ? layer : std::lower_bound(layers_.begin(), layers_.end(), layer) - layers_.begin();
}

std::vector<std::int64_t> LayerSet::list(std::int64_t layers) const {
  if (!is_all()) return layers_;
  std::vector<std::int64_t> every(static_cast<std::size_t>(layers));
  std::iota(every.begin(), every.end(), 0);
  return every;
}

}  // namespace mplus
