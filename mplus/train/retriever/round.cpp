#include "mplus/train/retriever/round.h"

#include <algorithm>
#include <future>
#include <map>

#include "mplus/core/error.h"
#include "mplus/train/gpu/upload.h"
#include "mplus/train/model/layers/fused.h"
#include "mplus/train/model/read_pass.h"
#include "mplus/train/model/stream_memory.h"
#include "mplus/train/model/write_pass.h"

namespace mplus::train {
namespace {

constexpr std::int64_t kLongestQuestion = 64;  // tokens of a window up to the answer
constexpr std::uint32_t kQuestions = 96;       // purpose of draws

// What one update of all streams writes, and the questions on it.
struct Written {
  std::vector<std::int32_t> tokens;  // [S, C]
  std::vector<ChunkKind> kinds;      // [S]
  struct Asked {
    std::vector<std::int32_t> tokens = std::vector<std::int32_t>();  // [S, T]
    std::vector<float> asks = std::vector<float>();                  // [S, T]; all 0: nothing to ask
  };
  std::vector<Asked> asked;
};

Written make_update(const ChunkMaker& maker, std::int64_t streams, std::uint32_t life, std::uint32_t update,
                    std::int64_t questions, std::uint64_t seed) {
  Written out;
  out.asked.resize(static_cast<std::size_t>(questions));
  constexpr auto T = static_cast<std::size_t>(kLongestQuestion);
  for (auto& asked : out.asked) {
    asked.tokens.assign(static_cast<std::size_t>(streams) * T, 0);
    asked.asks.assign(static_cast<std::size_t>(streams) * T, 0);
  }
  for (std::uint32_t b = 0; b < streams; ++b) {
    const ChunkId id{.life = life, .update = update, .stream = b};
    const Chunk chunk = maker.chunk(id);
    out.tokens.insert(out.tokens.end(), chunk.tokens.begin(), chunk.tokens.end());
    out.kinds.push_back(chunk.kind);
    Random draw(seed, {.purpose = kQuestions, .life = life, .update = update, .stream = b});
    for (auto& asked : out.asked) {
      const auto window = maker.ask(id, {.newest = update, .most = 2 * kLongestQuestion}, draw);
      if (!window || window->asks_to > kLongestQuestion) continue;
      std::copy_n(window->tokens.begin(), window->asks_to,
                  asked.tokens.begin() + static_cast<std::ptrdiff_t>(b * T));
      for (std::int64_t t = window->asks_from; t < window->asks_to; ++t)
        asked.asks[b * T + static_cast<std::size_t>(t)] =
            1 / static_cast<float>(window->asks_to - window->asks_from);
    }
  }
  return out;
}

}  // namespace

RetrieverCache make_retriever_cache(const Model& model, const ChunkMaker& maker, std::int64_t streams,
                                    const RetrieverStageOptions& options, std::uint32_t round,
                                    std::uint64_t seed) {
  const torch::NoGradGuard constant;
  const std::int64_t M = model.memory_layers(), d = model.config.hidden, K = model.memory.K,
                     U = options.updates;
  const torch::Device device = model.device();
  std::vector<std::future<Written>> made;
  for (std::uint32_t u = 0; u < U; ++u)
    made.push_back(std::async(std::launch::async, make_update, std::cref(maker), streams, round, u,
                              options.questions, seed));
  const PassWeights writing = merge(model, Adapter::write), reading = merge(model, Adapter::read);
  const auto half = torch::TensorOptions(device).dtype(model.compute);
  RetrieverCache cache;
  Tensor rows = torch::empty({M, U, streams, K, d}, half);
  StreamMemory memory(model, streams, 0);
  std::vector<Written> updates;
  for (std::int64_t u = 0; u < U; ++u) {
    const Written& written = updates.emplace_back(made[static_cast<std::size_t>(u)].get());
    const Tensor chunk = upload(written.tokens, {streams, -1}, torch::kInt32, device).to(torch::kInt64);
    const auto states = write_pass(model, writing, memory, chunk);
    MPLUS_CHECK(states[0].size(1) == K, "chunks of a retriever stage write K rows each");
    memory.update(model, states, memory.draw_drops(K, std::nullopt));
    for (std::int64_t m = 0; m < M; ++m)
      rows[m][u].copy_(
          rms_norm(states[static_cast<std::size_t>(m)], model.memory_norm(m), model.config.norm_epsilon));
    cache.kind.insert(cache.kind.end(), written.kinds.begin(), written.kinds.end());
  }
  cache.rows = rows.view({M, U * streams * K, d});
  // Questions are read over the memory of the next stream, where the answer is not.
  const std::int64_t asked = U * options.questions;
  cache.states = torch::empty({M, asked, streams, kLongestQuestion, d}, half);
  Tensor asks = torch::empty({asked, streams, kLongestQuestion}, torch::TensorOptions(device));
  const ProjectedSlots slots = project_slots(model, reading, memory);
  std::vector<std::int64_t> kept;
  std::int64_t n = 0;
  for (std::int64_t u = 0; u < U; ++u)
    for (const auto& question : updates[static_cast<std::size_t>(u)].asked) {
      const Tensor tokens =
          upload(question.tokens, {streams, kLongestQuestion}, torch::kInt32, device).to(torch::kInt64);
      const ReadResult read = read_pass(
          model, reading,
          {.tokens = tokens.roll({1}, {0}), .memory = &memory, .slots = &slots, .keep_normed = true});
      for (std::int64_t m = 0; m < M; ++m)
        cache.states[m][n].copy_(read.normed[static_cast<std::size_t>(m)].roll({-1}, {0}));
      asks[n].copy_(upload(question.asks, {streams, kLongestQuestion}, torch::kFloat32, device));
      for (std::int64_t b = 0; b < streams; ++b) {
        const auto first = question.asks.begin() + b * kLongestQuestion;
        if (std::all_of(first, first + kLongestQuestion, [](float w) { return w == 0; })) continue;
        kept.push_back(n * streams + b);
        cache.chunk.push_back(u * streams + b);
      }
      ++n;
    }
  // Places where nothing could be asked are left out by index, not copied away.
  cache.states = cache.states.view({M, asked * streams, kLongestQuestion, d});
  cache.asks = asks.view({asked * streams, kLongestQuestion});
  cache.place = std::move(kept);
  return cache;
}

RetrieverBatch draw_batch(const RetrieverCache& cache, const RetrieverStageOptions& options, Random& random,
                          std::optional<ChunkKind> only) {
  RetrieverBatch batch;
  const auto questions = static_cast<std::int64_t>(cache.chunk.size());
  const auto chunks = static_cast<std::int64_t>(cache.kind.size());
  const bool one_kind = only || random.chance(options.same_kind);
  const ChunkKind kind = only ? *only
                              : cache.kind[static_cast<std::size_t>(
                                    cache.chunk[static_cast<std::size_t>(random.below(questions))])];
  const auto fits = [&](std::int64_t chunk) {
    return !one_kind || cache.kind[static_cast<std::size_t>(chunk)] == kind;
  };
  std::map<std::int64_t, std::int64_t> place;  // of a chunk among the candidates
  const auto candidate = [&](std::int64_t chunk) {
    const auto [at, is_new] = place.emplace(chunk, static_cast<std::int64_t>(batch.candidates.size()));
    if (is_new) batch.candidates.push_back(chunk);
    return at->second;
  };
  for (std::int64_t tries = 0; tries < 20 * options.asked_at_once; ++tries) {
    if (static_cast<std::int64_t>(batch.questions.size()) == options.asked_at_once) break;
    const std::int64_t q = random.below(questions), chunk = cache.chunk[static_cast<std::size_t>(q)];
    if (!fits(chunk)) continue;
    batch.questions.push_back(q);
    batch.right.push_back(candidate(chunk));
  }
  const std::int64_t wanted = options.asked_at_once + options.others;
  for (std::int64_t tries = 0; tries < 20 * wanted; ++tries) {
    if (static_cast<std::int64_t>(batch.candidates.size()) >= wanted) break;
    if (const std::int64_t chunk = random.below(chunks); fits(chunk)) candidate(chunk);
  }
  return batch;
}

double take_share(RetrieverBatch& batch, const Share& share) {
  const auto n = static_cast<std::int64_t>(batch.questions.size());
  const std::int64_t first = share.first(n), end = share.end(n);
  if (first == end)
    fail(ErrorCode::invalid_argument, "a step of the retriever's stage has {} questions for {} processes", n,
         share.processes);
  for (std::vector<std::int64_t>* list : {&batch.questions, &batch.right})
    *list = std::vector<std::int64_t>(list->begin() + first, list->begin() + end);
  return static_cast<double>(end - first) / static_cast<double>(n);
}

}  // namespace mplus::train
