#include "mplus/cli/bench/work.h"

#include <fmt/core.h>
#include <unistd.h>

#include <memory>
#include <numeric>

#include "mplus/cli/bench/full_memory.h"
#include "mplus/core/error.h"
#include "mplus/core/numbers/float16.h"
#include "mplus/core/numbers/philox.h"
#include "mplus/store/session/stored_session.h"

namespace mplus::cli {
namespace {

constexpr std::int64_t kDecodePrompt = 16;

std::uint32_t noise(std::uint32_t at, std::uint32_t part) {
  return static_cast<std::uint32_t>(random_bits(1, RandomStream::sample, part, 0, at));
}

engine::GenerateOptions up_to(std::int64_t max_tokens) {
  engine::GenerateOptions options;
  options.max_tokens = max_tokens;
  return options;
}

std::unique_ptr<memory::Recall> consensus(const engine::Engine& engine) {
  return memory::make_recall({.rule = RecallRule::consensus, .vote_top = engine.recall_policy().vote_top},
                             {.layer_weights = engine.weights().vote_weights});
}

// Rows with retriever keys alone: recall looks at nothing else.
struct StoreColumns {
  std::vector<AlignedVector<std::uint16_t>> keys;    // [L] bf16
  std::vector<AlignedVector<std::byte>> small_keys;  // [L] int8
  AlignedVector<float> wide_keys;                    // f32 memories share one, so as not to need gigabytes
  std::vector<std::int64_t> births;
};

// ±0.125 … ±0.249
std::uint16_t made_up_key(std::size_t i) {
  return static_cast<std::uint16_t>(0x3e00u | (noise(static_cast<std::uint32_t>(i), 1) & 0x807fu));
}

AlignedVector<std::byte> made_up_small_keys(const memory::Layout& layout, std::int64_t rows) {
  const std::size_t bytes = layout.key_bytes(layout.long_term);
  AlignedVector<std::byte> keys(static_cast<std::size_t>(rows) * bytes);
  std::vector<float> key(static_cast<std::size_t>(layout.retriever));
  std::size_t at = 0;
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
    for (float& value : key) value = bf16_to_f32(made_up_key(at++));
    make_small_key(keys.data() + row * bytes, key.data(), layout.retriever);
  }
  return keys;
}

memory::Memory made_up_memory(const memory::Layout& layout, std::int64_t rows) {
  auto columns = std::make_shared<StoreColumns>();
  columns->births.resize(static_cast<std::size_t>(rows));
  std::iota(columns->births.begin(), columns->births.end(), 0);
  std::vector<memory::RowsView> whole;
  const auto size = static_cast<std::size_t>(rows * layout.retriever);
  for (std::int64_t l = 0; l < layout.layers; ++l) {
    if (!layout.remembering.contains(l)) {
      whole.push_back({.format = layout.long_term});
      continue;
    }
    memory::RowsView view{.birth = columns->births.data(), .n = rows, .format = layout.long_term};
    if (layout.long_term != RowFormat::plain) {
      view.key = columns->small_keys.emplace_back(made_up_small_keys(layout, rows)).data();
    } else if (layout.dtype == DType::f32) {
      columns->wide_keys.resize(size, 0.01f);
      view.key = reinterpret_cast<const std::byte*>(columns->wide_keys.data());
    } else {
      auto& keys = columns->keys.emplace_back(size);
      for (std::size_t i = 0; i < size; ++i) keys[i] = made_up_key(i);
      view.key = reinterpret_cast<const std::byte*>(keys.data());
    }
    whole.push_back(view);
  }
  memory::LongTermStore store(layout);
  for (std::int64_t first = 0; first < rows; first += kBenchSegmentRows) {
    std::vector<memory::RowsView> part = whole;
    std::vector<std::int64_t> counts;
    for (memory::RowsView& view : part) {
      counts.push_back(view.n == 0 ? 0 : std::min(kBenchSegmentRows, rows - first));
      if (view.n == 0) continue;
      view.key += static_cast<std::size_t>(first) * layout.key_bytes(layout.long_term);
      view.birth += first;
      view.n = counts.back();
    }
    store.adopt(std::make_shared<memory::Segment>(std::move(part), columns), counts);
  }
  memory::Memory memory(layout, 0);
  memory.load_long_term(std::move(store));
  memory.set_updates((rows + layout.K - 1) / layout.K);
  return memory;
}

}  // namespace

std::vector<io::TokenId> bench_tokens(const engine::Engine& engine, std::int64_t n) {
  const std::int64_t vocab = engine.weights().config.vocab;
  std::vector<io::TokenId> ids(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < ids.size(); ++i)
    ids[i] =
        static_cast<io::TokenId>(noise(static_cast<std::uint32_t>(i), 0) % static_cast<std::uint64_t>(vocab));
  return ids;
}

Spread prefill_rate(engine::Session& session, std::int64_t tokens, int repetitions) {
  const std::vector<io::TokenId> prompt = bench_tokens(session.engine(), tokens);
  std::vector<double> rates;
  for (int i = 0; i <= repetitions; ++i) {
    const engine::Answer answer = session.generate_ids(prompt, up_to(0));
    if (i > 0)
      rates.push_back(static_cast<double>(tokens) / answer.prefill_seconds);  // the first one warms up
  }
  return spread_of(std::move(rates));
}

engine::SamplingOptions by_chance(const engine::Engine& engine) {
  engine::SamplingOptions sampling{.temperature = 0.7f, .top_p = 0.95f};
  for (std::int64_t i = 0; i < engine.weights().config.vocab; ++i)
    if (const auto id = static_cast<io::TokenId>(i); engine.is_end(id)) sampling.bias[id] = -1e4f;
  return sampling;
}

Spread decode_rate(engine::Session& session, std::int64_t tokens, int repetitions,
                   const engine::SamplingOptions& sampling) {
  const std::vector<io::TokenId> prompt = bench_tokens(session.engine(), kDecodePrompt);
  engine::GenerateOptions options = up_to(tokens);
  options.sampling = sampling;
  std::vector<double> rates;
  for (int i = 0; i < repetitions; ++i) {
    const engine::Answer answer = session.generate_ids(prompt, options);
    // The first token comes out of the prompt; every other one is a step.
    const auto steps = static_cast<double>(answer.tokens.size()) - 1;
    if (steps < 1)
      fail(ErrorCode::unsupported, "bench: the model ends its text at once; decoding cannot be measured");
    rates.push_back(steps / answer.decode_seconds);
  }
  return spread_of(std::move(rates));
}

IngestRates ingest_rate(engine::Session& session, std::int64_t chunks) {
  const std::int64_t C = session.engine().chunk_tokens();
  const std::vector<io::TokenId> chunk = bench_tokens(session.engine(), C);
  std::vector<double> rates;
  for (std::int64_t i = 0; i < chunks; ++i)
    rates.push_back(static_cast<double>(C) / seconds_of([&] { session.remember_ids(chunk, "bench"); }));
  const auto quarter = static_cast<std::ptrdiff_t>(std::max<std::size_t>(1, rates.size() / 4));
  IngestRates result;
  result.first_quarter = spread_of({rates.begin(), rates.begin() + quarter}).median;
  result.last_quarter = spread_of({rates.end() - quarter, rates.end()}).median;
  result.each = spread_of(std::move(rates));
  return result;
}

StoreRates store_rates(engine::Engine& engine, const std::filesystem::path& folder, std::int64_t blocks) {
  struct Removed {
    std::filesystem::path folder;
    ~Removed() {
      std::error_code ignored;
      std::filesystem::remove_all(folder, ignored);
    }
  };
  const store::StoredOptions how;
  const std::int64_t tokens = how.state_every * engine.chunk_tokens();
  const std::vector<io::TokenId> text = bench_tokens(engine, tokens);
  const Removed removed{folder / fmt::format("bench-{}", ::getpid())};
  store::Store sessions(removed.folder);
  store::StoredSession stored(sessions, engine, "bench", store::Access::write, how);
  engine::Session plain(engine);
  std::vector<double> with, without;
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::string name = fmt::format("block {}", block);
    without.push_back(static_cast<double>(tokens) / seconds_of([&] { plain.remember_ids(text, name); }));
    with.push_back(static_cast<double>(tokens) /
                   seconds_of([&] { stored.remember({.source = name, .ids = text}); }));
  }
  return {spread_of(std::move(without)), spread_of(std::move(with))};
}

QuestionSeconds question_seconds(engine::Session& session, std::int64_t tokens, int repetitions) {
  engine::Engine& engine = session.engine();
  const std::vector<io::TokenId> question = bench_tokens(engine, tokens);
  std::vector<double> scout, read;
  for (int i = 0; i <= repetitions; ++i) {
    model::AttentionCache cache(engine.weights().config.layers, engine.workspace().kv_shape());
    const auto recall = consensus(engine);
    const model::ReadItem item{.tokens = question,
                               .cache = &cache,
                               .memory = &session.memory(),
                               .recall = recall.get(),
                               .scouts_end = tokens,
                               .logits_from = tokens - 1};
    cache.reserve(engine.queue(),
                  1 + engine.layout().K0 + engine.layout().N + tokens);  // its pages are not at issue
    double planned = 0;
    engine::Work scouting = engine::Scout{
        .item = item, .plan = [&](kernels::Queue& queue, std::span<const memory::LayerQueries> states) {
          planned = seconds_of([&] { recall->plan(queue, session.memory(), states, nullptr); });
        }};
    const double asked = seconds_of([&] { engine.runner().finish({&scouting, 1}); }) - planned;
    engine::Prefill block;
    block.item = item;
    engine::Work reading = block;
    const double answered = seconds_of([&] { engine.runner().finish({&reading, 1}); });
    if (i == 0) continue;
    scout.push_back(asked);
    read.push_back(answered);
  }
  return {spread_of(std::move(scout)), spread_of(std::move(read))};
}

Spread recall_seconds(engine::Engine& engine, std::int64_t rows, std::int64_t question_tokens,
                      int repetitions) {
  const memory::Layout& layout = engine.layout();
  const memory::Memory memory = made_up_memory(layout, rows);
  AlignedVector<float> queries(static_cast<std::size_t>(question_tokens * layout.retriever));
  for (std::size_t i = 0; i < queries.size(); ++i)
    queries[i] = static_cast<float>(noise(static_cast<std::uint32_t>(i), 2)) * 0x1p-32f - 0.5f;
  std::vector<memory::LayerQueries> scout(static_cast<std::size_t>(layout.layers));
  const std::vector<std::int64_t> remembering = layout.remembering.list(layout.layers);
  for (const std::int64_t l : remembering)
    scout[static_cast<std::size_t>(l)] = {.T = question_tokens, .retriever = queries.data()};
  std::vector<double> seconds;
  for (int i = 0; i <= repetitions; ++i) {
    const double took = seconds_of([&] {
      const auto recall = consensus(engine);
      recall->plan(engine.queue(), memory, scout, nullptr);
      for (const std::int64_t l : remembering)
        recall->rows(engine.queue(), memory, l, scout[static_cast<std::size_t>(l)]);
    });
    if (i > 0) seconds.push_back(took);
  }
  return spread_of(std::move(seconds));
}

}  // namespace mplus::cli
