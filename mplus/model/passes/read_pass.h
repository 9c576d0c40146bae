// The read pass: tokens of one or more sessions through the decoder, over their memories
// (docs/algorithm.md, "Read"). The first pass of a read assembles each session's attention cache,
// recalling as it goes; later passes only append.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "mplus/core/numbers/choose.h"
#include "mplus/core/stop.h"
#include "mplus/memory/memory.h"
#include "mplus/memory/recall/recall.h"
#include "mplus/memory/window.h"
#include "mplus/model/passes/attention_cache.h"
#include "mplus/model/passes/workspace.h"
#include "mplus/model/passes/write_pass.h"

namespace mplus::model {

// What a pass lets others look at, layer by layer; valid during the call only.
struct ReadTaps {
  std::function<void(std::int64_t layer, const memory::LayerQueries&)> queries;  // of the scouts
  // weights[H, n, rows] of the last n = attention_queries tokens.
  std::function<void(std::int64_t layer, std::span<const float> weights, std::int64_t n, std::int64_t rows)>
      attention;
  std::int64_t attention_queries = 0;
  std::function<void(std::int64_t layer, std::span<const float> hidden)> hidden;  // a layer's input, [T, d]
  std::optional<std::int64_t> hidden_layer;                                       // of it alone
};

// The scouts' states in every layer, those of attention aside, read over [bos | short-term | window | tokens]
// without long-term rows.
struct ScoutStates {
  void begin(const Weights& weights);
  // Of a layer; side by side with others.
  void keep(std::int64_t layer, const memory::LayerQueries& queries, const Weights& weights);

  std::vector<AlignedVector<float>> retriever;  // [L] of [T, d_r], empty in a layer without a retriever
  std::vector<AlignedVector<float>> pool;       // [L] of [T], empty where the weights bring none
  std::vector<memory::LayerQueries> layers;     // views of the above, and of
  std::shared_ptr<const void> on_device;        // what the pass left on its device
};

// The token to follow: how it is chosen, and afterwards which it is.
struct ChosenToken {
  Choice choice;
  TokenId id = 0;
};

struct ReadItem {
  std::span<const TokenId> tokens;
  AttentionCache* cache = nullptr;       // afterwards holds these tokens as well
  memory::WindowRows* window = nullptr;  // rows already read; afterwards these tokens as well. Null: not kept
  const memory::Memory* memory = nullptr;  // null: a plain decoder
  memory::Recall* recall = nullptr;        // null: nothing is recalled
  std::int64_t scouts_begin = 0;           // tokens[begin, end) are the ones that ask
  std::int64_t scouts_end = 0;
  std::int64_t logits_from = 0;  // rows below are not turned into logits
  // Computed as a long prompt is, though it may be short: a row's bits do not depend on how many are read
  // with it, as long as they are kLeastAlike.
  bool as_long = false;
  ChosenToken* chosen = nullptr;  // not null: comes instead of the last token's logits
  const ReadTaps* taps = nullptr;
  // In front of this layer the pass ends for a plain item whose taps alone are wanted: no logits, and the
  // cache needs no layers behind it.
  std::optional<std::int64_t> until_layer = {};
  StopFlag stop = nullptr;  // before every layer; throws cancelled, and the window is as it was
  // Not null: only asks, and its scouts' states come here. Nothing is recalled, no logits come, memory and
  // window stay as they are; the cache afterwards holds short-term and window rows for the read that follows,
  // which need not be rotated again. So it costs less than the read itself.
  ScoutStates* scout = nullptr;
};

// Attention of fewer queries may be computed in another way on the processor.
inline constexpr std::int64_t kLeastAlike = 16;

// Receives logits [V] of a token of an item; they are gone when the call returns.
using LogitsSink = std::function<void(std::size_t item, std::int64_t token, std::span<const float> logits)>;

// Items of any kind in one pass. Where it throws, no window has changed and the caches are to be rolled back;
// logits may have gone out only if the weights' head is damaged, or the sink itself threw.
void read_pass(Workspace& w, std::span<const ReadItem> batch, Adapter adapter, const LogitsSink& sink);

// The scout pass: a read of one item that only asks.
ScoutStates scout_pass(Workspace& w, const ReadItem& item, Adapter adapter);

}  // namespace mplus::model
