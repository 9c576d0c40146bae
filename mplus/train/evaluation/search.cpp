#include "mplus/train/evaluation/search.h"

#include <algorithm>
#include <limits>

#include "mplus/train/model/layers/decoder_layer.h"
#include "mplus/train/model/recall.h"
#include "mplus/train/model/small_rows.h"

namespace mplus::train {
namespace {

constexpr std::int64_t kLookedAt = 64;  // best chunks that hold K0 rows as a rule

// Of values [Q, n] over the chunks in `among`: [Q, 1] each.
struct Spread {
  Tensor mean, sd;
};
Spread spread_of(const Tensor& values, const Tensor& among) {
  const Tensor counts = among.to(torch::kFloat64), n = counts.sum(1, true).clamp_min(1);
  const Tensor mean = (values * counts).sum(1, true) / n;
  return {mean, ((values - mean).square() * counts).sum(1, true).div(n).sqrt()};
}

Tensor standardised(const Tensor& values, const Tensor& among) {
  const Spread spread = spread_of(values, among);
  return (values - spread.mean) / (spread.sd + 1e-6);
}

// One layer's opinion: the mean of a chunk's `top` best scores (0: of all), standardised. scores [Q, n, K].
struct Opinion {
  Tensor z;     // [Q, n]; 0 where the layer has no rows of the chunk
  Tensor rows;  // [Q, n], of each chunk
};
Opinion opinion(const Tensor& scores, std::int64_t top) {
  const Tensor best =
      top > 0 ? std::get<0>(scores.topk(std::min(top, scores.size(2)), -1)) : scores;  // [Q, n, top]
  const Tensor there = best.isfinite();
  const Tensor counted = there.sum(-1).to(torch::kFloat64);
  const Tensor mean =
      torch::where(there, best, torch::zeros_like(best)).to(torch::kFloat64).sum(-1) / counted.clamp_min(1);
  const Tensor held = counted > 0;
  return {standardised(mean, held) * held, scores.isfinite().sum(-1).to(torch::kFloat64)};
}

// Of each layer. Where nothing is stored yet, memory is read as a whole, unless its chunks are read in turn.
std::int64_t rows_to_take(const Model& model, const StreamMemory& memory) {
  const RecallPolicy& policy = model.memory.recall;
  const std::int64_t slots = policy.over_everything ? memory.slots() : 0;
  if (memory.stored() == 0 && policy.read_over != ReadOver::attempts) return 0;
  return std::min(model.memory.K0, memory.stored() + slots);
}

}  // namespace

Tensor ChunkVotes::order() const {
  return torch::argsort(votes, /*stable=*/true, /*dim=*/-1, /*descending=*/true);
}

Tensor ChunkVotes::behind() const {
  const Tensor distance = votes.amax(1, true) - votes;
  return torch::where(distance > 0, distance / spread_of(votes, held).sd, torch::zeros_like(distance));
}

Tensor ChunkVotes::leaders(double margin) const {
  if (margin == kNoMargin) return torch::ones_like(held);
  return (votes.amax(1, true) - votes) <= margin * spread_of(votes, held).sd;
}

ChunkVotes with_words(const ChunkVotes& votes, const Tensor& words) {
  const Tensor total = standardised(votes.votes, votes.held) + standardised(words, votes.held);
  return {torch::where(votes.held, total, votes.votes), votes.held};
}

Tensor stored_scores(const StreamMemory& memory, std::int64_t place, RowFormat rows, const Tensor& queries,
                     const Tensor& askers, const Tensor& streams) {
  const StreamMemory::LongTerm& store = memory.long_term(place);
  const auto of_streams = [&](const GrowingRows& all) { return all.view().index_select(0, streams); };
  if (rows == RowFormat::plain)
    return recall_scores(queries, of_streams(store.key).to(torch::kFloat32), askers);
  return small_recall_scores(queries, {of_streams(store.small_codes), of_streams(store.small_scales)},
                             askers);
}

ChunkSearch::ChunkSearch(const Model& model, const StreamMemory& memory, const std::vector<Tensor>& normed,
                         const Tensor& askers, const Tensor& streams, RowFormat rows)
    : over_everything_(model.memory.recall.over_everything),
      K_(model.memory.K),
      most_(rows_to_take(model, memory)),
      in_store_(memory.stored()),
      streams_(streams) {
  const std::int64_t M = model.memory_layers(), Q = streams.size(0), n = memory.updates();
  const auto doubles = torch::TensorOptions(model.device()).dtype(torch::kFloat64);
  const Tensor layer_weights = model.vote_weights.defined()
                                   ? model.vote_weights.detach().to(torch::kCPU, torch::kFloat64)
                                   : torch::ones({M}, torch::kFloat64);
  Tensor long_votes = torch::zeros({Q, n}, doubles), all_votes = torch::zeros({Q, n}, doubles);
  long_term_rows_ = torch::zeros({Q, n}, doubles);
  short_term_rows_ = torch::zeros({Q, n}, doubles);
  for (std::int64_t m = 0; m < M; ++m) {
    const Tensor queries =
        project(model.query, m, normed.at(static_cast<std::size_t>(m))).to(torch::kFloat32);
    const auto placed = [&](const Tensor& by_birth, const Tensor& births, const Tensor& scores) {
      return by_birth.scatter(1, births.index_select(0, streams), scores);
    };
    Tensor by_birth =
        torch::full({Q, n * K_}, -std::numeric_limits<float>::infinity(), doubles.dtype(torch::kFloat32));
    const Tensor& recent = memory.births(m);  // [S, slots]
    if (most_ > 0) places_.push_back(torch::zeros({recent.size(0), n * K_}, recent.options()));
    if (memory.stored() > 0) {
      const Tensor births = memory.long_term(m).birth.view();  // [S, m]
      by_birth = placed(by_birth, births, stored_scores(memory, m, rows, queries, askers, streams));
      const Tensor places = torch::arange(births.size(1), births.options()).expand_as(births);
      places_.back().scatter_(1, births, places);
    }
    if (most_ > 0 && over_everything_) {
      const Tensor slots = memory.stored() + torch::arange(recent.size(1), recent.options());
      places_.back().scatter_(1, recent, slots.expand_as(recent));
    }
    const Tensor slots = rms_norm(memory.short_term(m), model.memory_norm(m), model.config.norm_epsilon);
    const Tensor recent_keys = project(model.key, m, slots).index_select(0, streams).to(torch::kFloat32);
    const Tensor everything = placed(by_birth, memory.births(m), recall_scores(queries, recent_keys, askers));
    const Tensor store_scores = by_birth.view({Q, n, K_}), all_scores = everything.view({Q, n, K_});
    scores_.push_back(over_everything_ ? all_scores : store_scores);
    if (over_everything_) stored_.push_back(store_scores.isfinite());
    const double weight = layer_weights[m].item<double>();
    const Opinion older = opinion(store_scores, model.memory.recall.vote_top);
    const Opinion all = opinion(all_scores, model.memory.recall.vote_top);
    long_votes += weight * older.z;
    all_votes += weight * all.z;
    long_term_rows_ += older.rows;
    short_term_rows_ += all.rows - older.rows;
  }
  const double weights = layer_weights.sum().item<double>();
  long_term_ = {long_votes / weights, long_term_rows_ > 0};
  everything_ = {all_votes / weights, long_term_rows_ + short_term_rows_ > 0};
}

TakenRows ChunkSearch::take(const Tensor& order, const Tensor& chosen, bool by_score, From from) const {
  if (most_ == 0) return {};
  bool enough = false;
  const std::int64_t n = order.size(1);
  TakenRows taken = take_of_best(order, chosen, std::min(n, kLookedAt), by_score, from, enough);
  return enough ? taken : take_of_best(order, chosen, n, by_score, from, enough);
}

TakenRows ChunkSearch::take_of_best(const Tensor& order, const Tensor& chosen, std::int64_t chunks,
                                    bool by_score, From from, bool& enough) const {
  const Tensor best = order.narrow(1, 0, chunks).unsqueeze(-1);  // [Q, chunks, 1]
  const Tensor too_far =
      (torch::arange(chunks, order.options()).unsqueeze(0) >= chosen.unsqueeze(1)).unsqueeze(-1);
  TakenRows taken;
  Tensor full = torch::ones_like(chosen, torch::kBool);  // [Q]: every layer has as many as it takes
  for (std::size_t l = 0; l < scores_.size(); ++l) {
    const Tensor which = best.expand({-1, -1, K_});
    Tensor scores = scores_[l].gather(1, which).masked_fill(too_far, -std::numeric_limits<float>::infinity());
    if (!by_score) scores = torch::where(scores.isfinite(), torch::zeros_like(scores), scores);
    const auto [sorted, offsets] = torch::sort(scores, /*stable=*/true, -1, /*descending=*/true);
    const Tensor there =
        sorted.isfinite().flatten(1);  // [Q, chunks · K], in the order in which rows are taken
    const Tensor count = there.cumsum(1);
    Tensor kept = there.logical_and(count <= most_);
    if (over_everything_ && from == From::store)
      kept = kept.logical_and(stored_[l].gather(1, which).gather(2, offsets).flatten(1));
    const Tensor first =
        torch::argsort(kept.logical_not().to(torch::kInt32), /*stable=*/true, -1, /*descending=*/false)
            .narrow(1, 0, std::min(most_, kept.size(1)));
    const Tensor births = (best * K_ + offsets).flatten(1).gather(1, first);
    Tensor rows = places_[l].index_select(0, streams_).gather(1, births);
    if (from == From::store) rows = rows.clamp_max(in_store_ - 1);  // behind the count anything may stand
    taken.push_back({rows, kept.sum(1)});
    full = full.logical_and(count.select(1, count.size(1) - 1) >= most_);
  }
  enough = full.logical_or(chosen <= chunks).all().item<bool>();
  return taken;
}

}  // namespace mplus::train
