#include "tools/recall_study/search_study.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>

#include "mplus/core/drops.h"
#include "mplus/core/error.h"
#include "mplus/kernels/retrieval/retrieval.h"

namespace mplus::recall_study {
namespace {

constexpr std::size_t kBest = 8;
constexpr std::int64_t kSegmentRows = 1024;  // as a store that grows by and by has them

double seconds_of(const std::function<void()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Every row's key of the real chunks of one layer: [chunks, K], null where a row is missing.
std::vector<const std::byte*> real_keys(std::span<const memory::Memory* const> real, std::int64_t layer) {
  std::vector<const std::byte*> keys;
  for (const memory::Memory* memory : real) {
    const memory::Layout& layout = memory->layout();
    const std::size_t first = keys.size();
    keys.resize(first + static_cast<std::size_t>(memory->updates() * layout.K), nullptr);
    const auto take = [&](const memory::RowsView& rows) {
      for (std::int64_t r = 0; r < rows.n; ++r)
        if (rows.birth[r] >= 0)
          keys[first + static_cast<std::size_t>(rows.birth[r])] = rows.key_row(layout, r);
    };
    for (const memory::SegmentUse& use : memory->long_term().segments()) take(use.rows(layer));
    take(memory->short_term(layer));
  }
  return keys;
}

// Births in the order in which random drops move them to the long-term store.
std::vector<std::int64_t> store_order(const memory::Layout& layout, std::uint64_t seed, std::int64_t layer,
                                      std::int64_t updates) {
  std::vector<std::int64_t> slots, stored;
  for (std::int64_t u = 0; u < updates; ++u) {
    const auto n = std::ssize(slots);
    const auto drops = choose_drops(seed, layer, u, n, std::max<std::int64_t>(0, n + layout.K - layout.N));
    for (std::size_t i = 0; i < drops.size(); ++i) {
      stored.push_back(slots[static_cast<std::size_t>(drops[i])]);
      slots[static_cast<std::size_t>(drops[i])] = -1;
    }
    std::erase(slots, -1);
    for (std::int64_t i = 0; i < layout.K; ++i) slots.push_back(u * layout.K + i);
  }
  return stored;
}

struct Columns {
  std::vector<std::vector<std::byte>> keys;  // [L]
  std::vector<std::vector<std::int64_t>> births;
};

class MadeStore {
 public:
  MadeStore(engine::Engine& engine, std::span<const memory::Memory* const> real, std::int64_t chunks,
            std::uint64_t seed)
      : engine_(engine),
        layout_(engine.layout()),
        columns_(std::make_shared<Columns>()),
        memory_(layout_, seed) {
    if (!layout_.remembering.is_all())
      fail(ErrorCode::unsupported,
           "a study of search needs a memory in every layer, this delta keeps one in {}",
           layout_.remembering.text());
    std::int64_t known = 0;
    for (const memory::Memory* memory : real) known += memory->updates();
    std::mt19937_64 random(seed);
    const auto drawn = [&](std::int64_t n) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
    };
    for (std::int64_t c = 0; c < chunks; ++c)
      made_.push_back(c < known ? Mixture{c, c, 0} : Mixture{drawn(known), drawn(known), drawn(layout_.K)});
    const auto layers = static_cast<std::size_t>(layout_.layers);
    real_.resize(layers);
    columns_->keys.resize(layers);
    columns_->births.resize(layers);
    engine.queue().pool().run(layout_.layers, [&](std::int64_t l, int) { fill(real, l, seed); });
    memory::LongTermStore store(layout_);
    const auto rows = std::ssize(columns_->births[0]);
    for (std::int64_t first = 0; first < rows; first += kSegmentRows) {
      std::vector<memory::RowsView> views;
      for (std::size_t l = 0; l < layers; ++l)
        views.push_back(
            {.key = columns_->keys[l].data() + static_cast<std::size_t>(first) * layout_.key_bytes(),
             .birth = columns_->births[l].data() + first,
             .n = std::min(kSegmentRows, rows - first)});
      const std::vector<std::int64_t> counts(layers, views[0].n);
      store.adopt(std::make_shared<memory::Segment>(std::move(views), columns_), counts);
    }
    memory_.load_long_term(std::move(store));
    memory_.set_updates(chunks);
  }

  const memory::Memory& memory() const { return memory_; }

  // The exact vote, from scores of the real rows.
  memory::Votes votes(const Queries& question) const {
    std::vector<std::vector<float>> scores(real_.size()), known(real_.size());
    for (std::size_t l = 0; l < real_.size(); ++l) {
      known[l].resize(real_[l].size());
      std::vector<ConstTensor> keys;
      std::vector<kernels::RowPlace> places;
      for (const std::byte* key : real_[l]) {
        places.push_back({keys.size(), 0});
        keys.push_back(kernels::key_tensor(key, layout_.dtype, 1, layout_.retriever));
      }
      kernels::retrieval_scores(engine_.queue(), {known[l].data(), DType::f32, {std::ssize(known[l])}},
                                question.layers[l].retriever_rows(layout_.retriever),
                                kernels::KeyGather{keys, places});
    }
    std::vector<memory::LayerScores> layers(real_.size());
    engine_.queue().pool().run(std::ssize(real_), [&](std::int64_t l, int) {
      const auto at = static_cast<std::size_t>(l);
      for (const std::int64_t birth : columns_->births[at]) scores[at].push_back(known[at][source(birth)]);
      layers[at] = memory::LayerScores(columns_->births[at], scores[at]);
    });
    return memory::vote(layers, layout_.K, memory_.updates() - 1, engine_.vote_options(), &engine_.queue());
  }

 private:
  struct Mixture {  // rows before `cut` come from one real chunk, the others from another
    std::int64_t first, second, cut;
  };

  std::size_t source(std::int64_t birth) const {  // among the real rows
    const Mixture& from = made_[static_cast<std::size_t>(birth / layout_.K)];
    const std::int64_t row = birth % layout_.K;
    return static_cast<std::size_t>((row < from.cut ? from.first : from.second) * layout_.K + row);
  }

  void fill(std::span<const memory::Memory* const> real, std::int64_t layer, std::uint64_t seed) {
    const auto l = static_cast<std::size_t>(layer);
    real_[l] = real_keys(real, layer);
    columns_->births[l] = store_order(layout_, seed, layer, std::ssize(made_));
    columns_->keys[l].resize(columns_->births[l].size() * layout_.key_bytes());
    std::byte* to = columns_->keys[l].data();
    for (const std::int64_t birth : columns_->births[l]) {
      const std::byte* key = real_[l][source(birth)];
      MPLUS_CHECK(key != nullptr, "row {} is in no memory", birth);
      std::memcpy(to, key, layout_.key_bytes());
      to += layout_.key_bytes();
    }
  }

  engine::Engine& engine_;
  memory::Layout layout_;
  std::vector<Mixture> made_;
  std::vector<std::vector<const std::byte*>> real_;  // [L] keys of the real rows
  std::shared_ptr<Columns> columns_;
  memory::Memory memory_;
};

std::vector<std::int64_t> best_of(const memory::Votes& votes) {
  std::vector<std::int64_t> best = votes.order();
  best.resize(std::min(kBest, best.size()));
  return best;
}

struct Searched {
  std::vector<std::int64_t> best;
  double seconds = 0;
};

Searched searched(engine::Engine& engine, const memory::Memory& memory, const Queries& question,
                  const SearchOptions& search) {
  const auto recall = memory::make_recall(
      {.rule = RecallRule::consensus, .vote_top = engine.recall_policy().vote_top, .search = search},
      {.layer_weights = engine.weights().vote_weights});
  Searched result;
  result.seconds = seconds_of([&] {
    recall->plan(engine.queue(), memory, question.layers, nullptr);
    for (std::int64_t l = 0; l < engine.layout().layers; ++l)
      recall->rows(engine.queue(), memory, l, question.layers[static_cast<std::size_t>(l)]);
  });
  result.best = best_of(recall->found()->votes);
  return result;
}

std::string milliseconds(std::vector<double> seconds) {
  if (seconds.empty()) return "–";
  std::sort(seconds.begin(), seconds.end());
  const auto at = [&](double share) {
    return 1000 * seconds[static_cast<std::size_t>(share * static_cast<double>(seconds.size() - 1))];
  };
  return fmt::format("{:.0f} ({:.0f}–{:.0f})", at(0.5), at(0.1), at(0.9));
}

}  // namespace

void compare_searches(engine::Engine& engine, std::span<const memory::Memory* const> real,
                      std::span<const Queries> questions, const SearchStudy& study, std::uint64_t seed) {
  std::vector<std::size_t> asked;
  for (std::size_t q = 0; q < questions.size(); q += static_cast<std::size_t>(study.every))
    asked.push_back(q);
  const SearchOptions& how = study.search;
  fmt::print("{} questions; chunks sampled {}, kept {}, finished {}, sampled besides {}\n", asked.size(),
             how.sample, how.keep, how.finish, how.sharpen);
  fmt::print("times: median (10 %–90 %) in ms\n");
  fmt::print(
      "| tokens | chunks | index, MB | made in, s | exact | two-level | same of the best 8 | same first |\n");
  fmt::print("|---|---|---|---|---|---|---|---|\n");
  for (const std::int64_t size : study.sizes) {
    const MadeStore store(engine, real, size / engine.chunk_tokens(), seed);
    const memory::Memory& memory = store.memory();
    const double made_in =
        seconds_of([&] { memory.long_term().chunk_index(engine.queue(), engine.layout()); });
    const auto index = memory.long_term().chunk_index(engine.queue(), engine.layout());
    double same = 0, first = 0;
    std::vector<double> exact_seconds, two_level_seconds;
    SearchOptions exactly = study.search, in_two_levels = study.search;
    exactly.search = Search::exact;
    in_two_levels.search = Search::two_level;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const std::size_t q = asked[i];
      const std::vector<std::int64_t> wanted = best_of(store.votes(questions[q]));
      const Searched two_level = searched(engine, memory, questions[q], in_two_levels);
      two_level_seconds.push_back(two_level.seconds);
      if (static_cast<std::int64_t>(i) < study.timed) {
        const Searched exact = searched(engine, memory, questions[q], exactly);
        exact_seconds.push_back(exact.seconds);
        MPLUS_CHECK(exact.best == wanted, "question {}: exact search found other chunks", q);
      }
      for (const std::int64_t chunk : wanted)
        same += static_cast<double>(std::count(two_level.best.begin(), two_level.best.end(), chunk)) /
                static_cast<double>(wanted.size());
      first += wanted.front() == two_level.best.front();
      fmt::print(stderr, "\r{} tokens: {} of {}, same {:.4f}", size, i + 1, asked.size(),
                 same / static_cast<double>(i + 1));
    }
    fmt::print(stderr, "\n");
    const auto n = static_cast<double>(asked.size());
    fmt::print("| {} | {} | {:.0f} | {:.1f} | {} | {} | {:.4f} | {:.4f} |\n", size, memory.updates(),
               static_cast<double>(index->size_bytes()) / 1e6, made_in, milliseconds(exact_seconds),
               milliseconds(two_level_seconds), same / n, first / n);
    std::fflush(stdout);
  }
}

}  // namespace mplus::recall_study
