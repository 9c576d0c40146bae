// The read pass: tokens of one or more sessions through the decoder, over their memories
// (docs/architecture.md, "Read"). The first pass of a read assembles each session's attention cache,
// recalling as it goes; later passes only append.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "mplus/core/stop.h"
#include "mplus/memory/memory.h"
#include "mplus/memory/recall/recall.h"
#include "mplus/memory/window.h"
#include "mplus/model/attention_cache.h"
#include "mplus/model/workspace.h"
#include "mplus/model/write_pass.h"

namespace mplus::model {

// What a pass lets others look at, layer by layer; valid during the call only.
struct ReadTaps {
  std::function<void(std::int64_t layer, const memory::LayerQueries&)> queries;  // of the scouts
  // weights[H, n, rows] of the last n = attention_queries tokens.
  std::function<void(std::int64_t layer, std::span<const float> weights, std::int64_t n, std::int64_t rows)>
      attention;
  std::int64_t attention_queries = 0;
  std::function<void(std::int64_t layer, std::span<const float> hidden)> hidden;  // a layer's input, [T, d]
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
  const ReadTaps* taps = nullptr;
  StopFlag stop = nullptr;  // before every layer; throws cancelled, and the window is as it was
  bool scouting = false;    // only asks: nothing is recalled, `window` stays as it is (scout_pass sets this)
};

// Receives logits [V] of a token of an item; they are gone when the call returns.
using LogitsSink = std::function<void(std::size_t item, std::int64_t token, std::span<const float> logits)>;

void read_pass(Workspace& w, std::span<const ReadItem> batch, Adapter adapter, const LogitsSink& sink);

// The scout pass: the scouts' states in every layer, read over [bos | short-term | window | tokens] without
// long-term rows. Memory and window stay as they are; the cache afterwards holds short-term and window rows
// for the read that follows, which then need not be turned again. So it costs less than the read itself.
struct ScoutStates {
  std::vector<AlignedVector<float>> retriever;  // [L] of [T, d_r], empty in a layer without a retriever
  std::vector<AlignedVector<float>> attention;  // [L] of [T, H·e]
  std::vector<AlignedVector<float>> pool;       // [L] of [T], empty where the weights bring none
  std::vector<memory::LayerQueries> layers;     // views of the above
};
ScoutStates scout_pass(Workspace& w, const ReadItem& item, Adapter adapter);

}  // namespace mplus::model
