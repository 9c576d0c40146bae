// Laws of the write pass and the read pass.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "mplus/core/error.h"
#include "mplus/model/passes/read_pass.h"
#include "mplus/model/passes/write_pass.h"
#include "tests/memory/same_rows.h"
#include "tests/model/reference.h"
#include "tests/model/tiny_model.h"

namespace mplus::model {

std::vector<float> read_in_pieces(TinyModel& model, const memory::Memory& memory,
                                  std::span<const TokenId> tokens, std::span<const std::size_t> pieces,
                                  memory::Recall* recall, bool window) {
  AttentionCache cache(model.weights->config.layers, model.workspace.kv_shape());
  memory::WindowRows rows(model.layout);
  std::vector<float> last;
  for (std::size_t n : pieces) {
    const ReadItem item{.tokens = tokens.first(n),
                        .cache = &cache,
                        .window = window ? &rows : nullptr,
                        .memory = &memory,
                        .recall = recall,
                        .scouts_end = static_cast<std::int64_t>(n),
                        .logits_from = static_cast<std::int64_t>(n) - 1};
    read_pass(model.workspace, {&item, 1}, Adapter::read,
              [&](std::size_t, std::int64_t, std::span<const float> logits) {
                last.assign(logits.begin(), logits.end());
              });
    tokens = tokens.subspan(n);
  }
  return last;
}

namespace {

constexpr double kEpsilon = 0x1p-23;

// Rounding errors of a value that went through all layers, as a random walk of f32 roundings, times 4: each
// layer adds sums of about 3d + F products to a stream of that magnitude.
double noise(const Weights& w, double magnitude) {
  const auto roundings = static_cast<double>(w.config.layers * (3 * w.config.hidden + w.config.ffn));
  return 4 * kEpsilon * std::sqrt(roundings) * static_cast<double>(w.config.layers) * magnitude;
}

reference::RowList rows_of(const float* hidden, std::int64_t n, std::int64_t d) {
  reference::RowList rows;
  for (std::int64_t r = 0; r < n; ++r) rows.emplace_back(hidden + r * d, hidden + (r + 1) * d);
  return rows;
}

void expect_close(std::span<const float> found, const reference::Row& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], tolerance) << i;
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

void expect_same_memory(const memory::Memory& a, const memory::Memory& b) {
  ASSERT_EQ(a.updates(), b.updates());
  for (std::int64_t l = 0; l < a.layout().layers; ++l) {
    const memory::RowsView x = a.short_term(l), y = b.short_term(l);
    ASSERT_EQ(x.n, y.n);
    if (!a.layout().remembering.contains(l)) {
      EXPECT_EQ(x.n + a.long_term().size(l) + b.long_term().size(l), 0) << "layer " << l;
      continue;
    }
    EXPECT_TRUE(memory::same_rows(a.layout(), x, y)) << "layer " << l;
    EXPECT_TRUE(same_bits(a.tail(l), b.tail(l))) << "layer " << l;
    std::vector<memory::RowId> rows;
    a.long_term().for_each(l, [&](memory::RowId id, std::int64_t) { rows.push_back(id); });
    std::size_t i = 0;
    b.long_term().for_each(l, [&](memory::RowId id, std::int64_t birth) {
      ASSERT_LT(i, rows.size());
      EXPECT_EQ(a.long_term().birth(l, rows[i]), birth);
      EXPECT_EQ(std::memcmp(a.long_term().rows_of(l, rows[i]).k_row(a.layout(), rows[i].row),
                            b.long_term().rows_of(l, id).k_row(b.layout(), id.row), a.layout().kv_bytes()),
                0);
      ++i;
    });
    EXPECT_EQ(i, rows.size());
  }
}

void expect_writes_of_the_plain_statement(TinyModel& model) {
  const reference::Model reference(*model.weights);
  const std::int64_t d = model.layout.hidden;
  for (const bool starts_empty : {true, false}) {
    memory::Memory memory = starts_empty ? model.empty() : model.memory();
    for (std::size_t T :
         {std::size_t{1}, std::size_t{3}, static_cast<std::size_t>(model.layout.K), std::size_t{40}}) {
      const auto chunk = model.tokens(T, static_cast<unsigned>(T));
      std::vector<reference::RowList> tails;
      for (std::int64_t l = 0; l < model.layout.layers; ++l)
        tails.push_back(rows_of(memory.tail(l).data(), memory.tail_rows(), d));
      const auto expected = reference.inject(tails, chunk);
      write(model, memory, chunk);
      for (std::int64_t l = 0; l < model.layout.layers; ++l) {
        const auto& rows = expected[static_cast<std::size_t>(l)];
        ASSERT_EQ(memory.tail_rows(), static_cast<std::int64_t>(rows.size()));
        for (std::size_t r = 0; r < rows.size(); ++r)
          expect_close(memory.tail(l).subspan(r * static_cast<std::size_t>(d), static_cast<std::size_t>(d)),
                       rows[r], noise(*model.weights, 10));
      }
    }
  }
}

TEST(WritePass, EqualsThePlainStatement) {
  for (const char* folder : {"mplus_read/model", "memoryllm_read/model"}) {
    TinyModel model(1, folder);
    expect_writes_of_the_plain_statement(model);
  }
}

// Biases on q, k and v, or norms over the heads of q and k.
TEST(WritePass, EqualsThePlainStatementInOtherArchitectures) {
  for (const char* architecture : {"qwen2", "qwen3"}) {
    TinyModel model(1, "mplus_read/model", {.dtype = DType::f32, .keep_hidden = true}, {}, architecture);
    expect_writes_of_the_plain_statement(model);
  }
}

// The key/value form of memory equals the form that keeps hidden states and projects them at every read:
// logits [T, V] of tokens over the rows that a read has put into its cache.
void expect_logits_of_hidden_states(const TinyModel& model, const memory::Memory& memory,
                                    AttentionCache& cache, std::span<const TokenId> tokens,
                                    std::span<const float> logits) {
  std::vector<reference::RowList> prefix;
  for (std::int64_t l = 0; l < model.layout.layers; ++l) {
    auto& rows = prefix.emplace_back();
    for (const auto& row : cache.recalled(l)) {
      const float* h = memory.long_term().rows_of(l, row.id).hidden + row.id.row * model.layout.hidden;
      rows.emplace_back(h, h + model.layout.hidden);
    }
    const memory::RowsView slots = memory.short_term(l);
    for (std::int64_t r = 0; r < slots.n; ++r)
      rows.emplace_back(slots.hidden_row(model.layout, r),
                        slots.hidden_row(model.layout, r) + model.layout.hidden);
  }
  const auto expected = reference::Model(*model.weights).read(prefix, tokens, true);
  const auto V = static_cast<std::size_t>(model.weights->config.vocab);
  ASSERT_EQ(logits.size(), tokens.size() * V);
  for (std::size_t t = 0; t < tokens.size(); ++t)
    expect_close(logits.subspan(t * V, V), expected[t], noise(*model.weights, 10));
}

void expect_reads_of_the_hidden_state_form(TinyModel& model) {
  memory::Memory memory = model.memory();
  for (unsigned u = 0; u < 6; ++u) write(model, memory, model.tokens(20, u));
  const auto tokens = model.tokens(17, 99);
  const auto recall = memory::make_recall({RecallRule::per_layer});
  AttentionCache cache(model.layout.layers, model.workspace.kv_shape());
  std::vector<float> logits;
  const ReadItem item{
      .tokens = tokens, .cache = &cache, .memory = &memory, .recall = recall.get(), .scouts_end = 17};
  read_pass(model.workspace, {&item, 1}, Adapter::read,
            [&](std::size_t, std::int64_t, std::span<const float> row) {
              logits.insert(logits.end(), row.begin(), row.end());
            });
  for (std::int64_t l = 0; l < model.layout.layers; ++l)
    EXPECT_EQ(std::ssize(cache.recalled(l)), model.layout.K0);
  expect_logits_of_hidden_states(model, memory, cache, tokens, logits);
}

TEST(ReadPass, EqualsTheHiddenStateForm) {
  TinyModel model;
  expect_reads_of_the_hidden_state_form(model);
}

// A memory keeps what RoPE is applied to: keys with their bias and normed.
TEST(ReadPass, EqualsTheHiddenStateFormInOtherArchitectures) {
  for (const char* architecture : {"qwen2", "qwen3"}) {
    TinyModel model(1, "mplus_read/model", {.dtype = DType::f32, .keep_hidden = true}, {}, architecture);
    expect_reads_of_the_hidden_state_form(model);
  }
}

// A layer without a memory is one whose memory is empty, whatever the others hold.
TEST(WritePass, EqualsThePlainStatementWithAMemoryInSomeLayers) {
  for (const LayerSet& layers : {LayerSet({0, 2}), LayerSet({1, 3}), LayerSet({3}), LayerSet({0})}) {
    TinyModel model(1, "mplus_read/model", {.dtype = DType::f32, .keep_hidden = true}, layers);
    const reference::Model reference(*model.weights);
    const std::int64_t d = model.layout.hidden;
    memory::Memory memory = model.empty();
    for (std::size_t T : {std::size_t{3}, std::size_t{1}, static_cast<std::size_t>(model.layout.K),
                          std::size_t{40}, std::size_t{2}}) {
      const auto chunk = model.tokens(T, static_cast<unsigned>(T));
      std::vector<reference::RowList> tails(model.weights->layers.size());
      for (const std::int64_t l : layers.list(model.layout.layers))
        tails[static_cast<std::size_t>(l)] = rows_of(memory.tail(l).data(), memory.tail_rows(), d);
      const auto expected = reference.inject(tails, chunk);
      write(model, memory, chunk);
      for (std::int64_t l = 0; l < model.layout.layers; ++l) {
        if (!layers.contains(l)) {
          EXPECT_EQ(memory.short_term(l).n, 0);
          continue;
        }
        const auto& rows = expected[static_cast<std::size_t>(l)];
        ASSERT_EQ(memory.tail_rows(), std::ssize(rows));
        for (std::size_t r = 0; r < rows.size(); ++r)
          expect_close(memory.tail(l).subspan(r * static_cast<std::size_t>(d), static_cast<std::size_t>(d)),
                       rows[r], noise(*model.weights, 10));
      }
    }
  }
}

TEST(ReadPass, EqualsTheHiddenStateFormWithAMemoryInSomeLayers) {
  const LayerSet layers({1, 3});
  TinyModel model(1, "mplus_read/model", {.dtype = DType::f32, .keep_hidden = true}, layers);
  memory::Memory memory = model.empty();
  for (unsigned u = 0; u < 14; ++u) write(model, memory, model.tokens(20, u));
  const auto tokens = model.tokens(17, 99);
  AttentionCache cache(model.layout.layers, model.workspace.kv_shape());
  ReadItem item{.tokens = tokens, .cache = &cache, .memory = &memory, .scouts_end = 17};
  const ScoutStates scout = scout_pass(model.workspace, item, Adapter::read);
  const auto recall = memory::make_recall({RecallRule::consensus});
  recall->plan(model.queue, memory, scout.layers, nullptr);
  item.recall = recall.get();
  std::vector<float> logits;
  read_pass(model.workspace, {&item, 1}, Adapter::read,
            [&](std::size_t, std::int64_t, std::span<const float> row) {
              logits.insert(logits.end(), row.begin(), row.end());
            });
  for (std::int64_t l = 0; l < model.layout.layers; ++l) {
    EXPECT_EQ(memory.long_term().size(l) > 0, layers.contains(l));
    EXPECT_EQ(std::ssize(cache.recalled(l)), layers.contains(l) ? model.layout.K0 : 0);
  }
  expect_logits_of_hidden_states(model, memory, cache, tokens, logits);
}

void expect_same_bits_everywhere(const LayerSet& layers) {
  const MemoryOptions options{.dtype = DType::f32, .keep_hidden = true};
  TinyModel one(1, "mplus_read/model", options, layers), two(2, "mplus_read/model", options, layers),
      three(3, "mplus_read/model", options, layers);
  const auto build = [](TinyModel& model) {
    memory::Memory memory = model.memory(7);
    for (unsigned u = 0; u < 12; ++u) write(model, memory, model.tokens(3 + 11 * u, u));
    return memory;
  };
  const memory::Memory alone = build(one);
  expect_same_memory(alone, build(two));
  expect_same_memory(alone, build(three));
  // The same session among others of other lengths and ages.
  memory::Memory a = two.memory(7), b = two.memory(8), c = two.empty(9);
  for (unsigned u = 0; u < 12; ++u) {
    const auto first = two.tokens(3 + 11 * u, u), second = two.tokens(50, 100 + u),
               third = two.tokens(1 + u, 200 + u);
    const Injection batch[] = {{second, &b, nullptr}, {first, &a, nullptr}, {third, &c, nullptr}};
    inject(two.workspace, batch);
  }
  expect_same_memory(alone, a);
}

TEST(WritePass, SameBitsWithAnyNumberOfThreadsAndNeighbours) {
  expect_same_bits_everywhere({});
  expect_same_bits_everywhere(LayerSet({1, 2}));
}

TEST(ReadPass, PrefillEqualsSingleStepsAndAnyPieces) {
  TinyModel model(2);
  memory::Memory memory = model.memory();
  for (unsigned u = 0; u < 4; ++u) write(model, memory, model.tokens(30, u));
  const auto tokens = model.tokens(23, 5);
  // Recall happens in the first piece; the recalled rows are fixed so that every way of cutting reads the
  // same.
  std::vector<std::vector<std::int64_t>> births(static_cast<std::size_t>(model.layout.layers));
  for (std::int64_t l = 0; l < model.layout.layers; ++l)
    memory.long_term().for_each(l, [&](memory::RowId id, std::int64_t birth) {
      if (id.row % 5 == 0 &&
          static_cast<std::int64_t>(births[static_cast<std::size_t>(l)].size()) < model.layout.K0)
        births[static_cast<std::size_t>(l)].push_back(birth);
    });
  for (auto& layer : births) std::sort(layer.begin(), layer.end());
  const auto read = [&](std::vector<std::size_t> pieces, bool window) {
    const auto recall = memory::recall_births(births);
    return read_in_pieces(model, memory, tokens, pieces, recall.get(), window);
  };
  const auto whole = read({23}, false);
  const double tolerance = noise(*model.weights, 10);
  for (bool window : {false, true}) {
    for (const std::vector<std::size_t>& pieces :
         {std::vector<std::size_t>(23, 1), std::vector<std::size_t>{1, 7, 15},
          std::vector<std::size_t>{22, 1}}) {
      const auto found = read(pieces, window);
      for (std::size_t i = 0; i < whole.size(); ++i) ASSERT_NEAR(found[i], whole[i], tolerance);
    }
  }
}

TEST(ReadPass, ABatchEqualsEachAlone) {
  TinyModel model(2);
  std::vector<memory::Memory> memories;
  for (std::uint64_t s = 0; s < 3; ++s) {
    memories.push_back(s == 2 ? model.empty(s) : model.memory(s));
    for (unsigned u = 0; u < 3 + s; ++u)
      write(model, memories.back(), model.tokens(25, 10 * static_cast<unsigned>(s) + u));
  }
  const std::vector<std::vector<TokenId>> prompts{model.tokens(9, 1), model.tokens(1, 2),
                                                  model.tokens(30, 3)};
  std::vector<std::vector<float>> alone, together(3);
  for (std::size_t s = 0; s < 3; ++s) {
    const auto recall = memory::make_recall({RecallRule::per_layer});
    const std::size_t all[] = {prompts[s].size()};
    alone.push_back(read_in_pieces(model, memories[s], prompts[s], all, recall.get(), false));
  }
  std::vector<std::unique_ptr<memory::Recall>> recalls;
  std::vector<AttentionCache> caches;
  caches.reserve(3);
  std::vector<ReadItem> batch;
  for (std::size_t s = 0; s < 3; ++s) {
    recalls.push_back(memory::make_recall({RecallRule::per_layer}));
    caches.emplace_back(model.layout.layers, model.workspace.kv_shape());
    const auto T = static_cast<std::int64_t>(prompts[s].size());
    batch.push_back({.tokens = prompts[s],
                     .cache = &caches[s],
                     .memory = &memories[s],
                     .recall = recalls[s].get(),
                     .scouts_end = T,
                     .logits_from = T - 1});
  }
  read_pass(model.workspace, batch, Adapter::read,
            [&](std::size_t item, std::int64_t, std::span<const float> logits) {
              together[item].assign(logits.begin(), logits.end());
            });
  const double tolerance = noise(*model.weights, 10);
  for (std::size_t s = 0; s < 3; ++s)
    for (std::size_t i = 0; i < alone[s].size(); ++i) ASSERT_NEAR(together[s][i], alone[s][i], tolerance);
}

// Reads of a plain item that ends in front of `layer`, and the last row of what came there.
struct EarlyRead {
  EarlyRead(TinyModel& model, std::int64_t layer) : cache(layer, model.workspace.kv_shape()) {
    taps.hidden_layer = layer;
    taps.hidden = [this, &model](std::int64_t, std::span<const float> rows) {
      const auto last = rows.last(static_cast<std::size_t>(model.weights->config.hidden));
      hidden.assign(last.begin(), last.end());
    };
  }
  ReadItem item(std::span<const TokenId> tokens) {
    return {.tokens = tokens,
            .cache = &cache,
            .logits_from = std::ssize(tokens),
            .taps = &taps,
            .until_layer = *taps.hidden_layer};
  }
  AttentionCache cache;
  ReadTaps taps;
  std::vector<float> hidden;
};

TEST(ReadPass, AnItemMayEndEarlyAndGoOn) {
  TinyModel model(2);
  const auto tokens = model.tokens(21, 1), others = model.tokens(13, 2);
  const auto read_others = [&](EarlyRead* early) {
    AttentionCache cache(model.layout.layers, model.workspace.kv_shape());
    std::vector<ReadItem> batch;
    if (early != nullptr) batch.push_back(early->item(tokens));
    batch.push_back({.tokens = others, .cache = &cache, .logits_from = 12});
    std::vector<float> logits;
    read_pass(model.workspace, batch, Adapter::none,
              [&](std::size_t item, std::int64_t token, std::span<const float> row) {
                EXPECT_EQ(item, batch.size() - 1);
                EXPECT_EQ(token, 12);
                logits.assign(row.begin(), row.end());
              });
    return logits;
  };
  EarlyRead whole(model, 2), beside(model, 2), start(model, 2), rest(model, 2);
  ReadItem all = whole.item(tokens);
  AttentionCache all_layers(model.layout.layers, model.workspace.kv_shape());
  all.cache = &all_layers;
  all.until_layer.reset();
  read_pass(model.workspace, {&all, 1}, Adapter::none, nullptr);
  const auto alone = read_others(nullptr), together = read_others(&beside);
  const ReadItem first = start.item(std::span(tokens).first(8)),
                 last = rest.item(std::span(tokens).subspan(8));
  read_pass(model.workspace, {&first, 1}, Adapter::none, nullptr);
  rest.cache.begin_with(model.queue, start.cache);
  read_pass(model.workspace, {&last, 1}, Adapter::none, nullptr);
  const double tolerance = noise(*model.weights, 10);
  ASSERT_EQ(alone.size(), together.size());
  for (std::size_t i = 0; i < alone.size(); ++i) ASSERT_NEAR(together[i], alone[i], tolerance);
  ASSERT_FALSE(whole.hidden.empty());
  for (const EarlyRead* read : {&beside, &rest}) {
    ASSERT_EQ(read->hidden.size(), whole.hidden.size());
    for (std::size_t i = 0; i < whole.hidden.size(); ++i)
      ASSERT_NEAR(read->hidden[i], whole.hidden[i], tolerance);
    EXPECT_EQ(read->cache.rows(1), 21);
  }
  EXPECT_EQ(start.cache.rows(1), 8);  // another's tokens are not its own
}

TEST(ReadPass, ChangesNothing) {
  TinyModel model;
  memory::Memory memory = model.memory();
  for (unsigned u = 0; u < 3; ++u) write(model, memory, model.tokens(30, u));
  const memory::Memory before = memory;
  const auto recall = memory::make_recall({RecallRule::consensus});
  const auto tokens = model.tokens(12, 1);
  AttentionCache cache(model.layout.layers, model.workspace.kv_shape());
  const ReadItem item{
      .tokens = tokens, .cache = &cache, .memory = &memory, .recall = recall.get(), .scouts_end = 12};
  const ScoutStates scout = scout_pass(model.workspace, item, Adapter::read);
  EXPECT_FALSE(cache.assembled());
  recall->plan(model.queue, memory, scout.layers, nullptr);
  read_pass(model.workspace, {&item, 1}, Adapter::read,
            [](std::size_t, std::int64_t, std::span<const float>) {});
  expect_same_memory(before, memory);
}

// No row stands twice among what is attended to, and what is recalled is in order of birth.
TEST(ReadPass, RecalledRowsAreDistinctAndInOrder) {
  TinyModel model;
  memory::Memory memory = model.memory();
  for (unsigned u = 0; u < 9; ++u) write(model, memory, model.tokens(30, u));
  for (RecallRule rule : {RecallRule::per_layer, RecallRule::consensus}) {
    const auto recall = memory::make_recall({rule});
    const auto tokens = model.tokens(12, 1);
    AttentionCache cache(model.layout.layers, model.workspace.kv_shape());
    const ReadItem item{
        .tokens = tokens, .cache = &cache, .memory = &memory, .recall = recall.get(), .scouts_end = 12};
    if (recall->wants_scout())
      recall->plan(model.queue, memory, scout_pass(model.workspace, item, Adapter::read).layers, nullptr);
    read_pass(model.workspace, {&item, 1}, Adapter::read,
              [](std::size_t, std::int64_t, std::span<const float>) {});
    for (std::int64_t l = 0; l < model.layout.layers; ++l) {
      const auto& rows = cache.recalled(l);
      ASSERT_EQ(static_cast<std::int64_t>(rows.size()), model.layout.K0);
      for (std::size_t i = 1; i < rows.size(); ++i) {
        EXPECT_LE(rows[i - 1].birth, rows[i].birth);
        EXPECT_NE(rows[i - 1].id, rows[i].id);
      }
      EXPECT_EQ(cache.rows(l), 1 + model.layout.K0 + model.layout.N + 12);
    }
  }
}

// The rows a scout pass leaves in the cache are the rows a read would have put there.
TEST(ReadPass, ReadingAfterScoutsIsReadingAsIfThereWereNone) {
  TinyModel model;
  for (const unsigned updates : {0u, 1u, 9u}) {  // an empty store, fewer rows than K0, more
    memory::Memory memory = model.memory();
    memory.load_long_term(memory::LongTermStore(model.layout));
    for (unsigned u = 0; u < updates; ++u) write(model, memory, model.tokens(30, u));
    const auto tokens = model.tokens(12, 1);
    memory::WindowRows window(model.layout);
    AttentionCache earlier(model.layout.layers, model.workspace.kv_shape());
    const auto before = model.tokens(5, 2);
    const ReadItem first{.tokens = before, .cache = &earlier, .window = &window, .memory = &memory};
    read_pass(model.workspace, {&first, 1}, Adapter::read,
              [](std::size_t, std::int64_t, std::span<const float>) {});
    std::vector<float> logits[2];
    std::vector<std::vector<std::int64_t>> births(static_cast<std::size_t>(model.layout.layers));
    for (const bool scouts : {true, false}) {
      memory::WindowRows rows = window;
      AttentionCache cache(model.layout.layers, model.workspace.kv_shape());
      auto recall = scouts ? memory::make_recall({RecallRule::consensus}) : memory::recall_births(births);
      ReadItem item{.tokens = tokens,
                    .cache = &cache,
                    .window = &rows,
                    .memory = &memory,
                    .recall = recall.get(),
                    .scouts_end = 12};
      if (scouts) {
        const ScoutStates states = scout_pass(model.workspace, item, Adapter::read);
        EXPECT_EQ(rows.size(), 5);
        recall->plan(model.queue, memory, states.layers, nullptr);
      }
      read_pass(model.workspace, {&item, 1}, Adapter::read,
                [&](std::size_t, std::int64_t, std::span<const float> row) {
                  logits[scouts].insert(logits[scouts].end(), row.begin(), row.end());
                });
      for (std::size_t l = 0; scouts && l < births.size(); ++l)
        for (const auto& row : cache.recalled(static_cast<std::int64_t>(l))) births[l].push_back(row.birth);
      for (std::int64_t l = 0; l < model.layout.layers; ++l)
        EXPECT_EQ(cache.rows(l),
                  1 + std::ssize(births[static_cast<std::size_t>(l)]) + memory.short_term(l).n + 17);
    }
    EXPECT_EQ(logits[0], logits[1]) << updates
                                    << " updates";  // the same rows at the same places: the same bits
  }
}

// A read that sees some short-term rows reads as from a memory that has no others, with and without scouts.
TEST(ReadPass, SlotsThatAreNotSeenMightAsWellNotBeThere) {
  TinyModel model;
  memory::Memory memory = model.memory();
  for (unsigned u = 0; u < 9; ++u) write(model, memory, model.tokens(30, u));
  const auto layers = static_cast<std::size_t>(model.layout.layers);
  std::vector<std::vector<std::int64_t>> named(2 * layers);  // long-term rows, then slots
  std::vector<memory::Rows> kept;
  std::vector<memory::RowsView> views;
  for (std::size_t l = 0; l < layers; ++l) {
    memory.long_term().for_each(static_cast<std::int64_t>(l), [&](memory::RowId, std::int64_t birth) {
      if (birth % 7 == 0) named[l].push_back(birth);
    });
    const memory::RowsView slots = memory.short_term(static_cast<std::int64_t>(l));
    kept.emplace_back(model.layout, slots.n);
    for (std::int64_t row = 0; row < slots.n; ++row)
      if (slots.birth[row] % 3 == 0) {
        named[layers + l].push_back(slots.birth[row]);
        kept.back().append(model.layout, slots, row);
      }
    ASSERT_GT(kept.back().size(), 0);
    ASSERT_LT(kept.back().size(), slots.n);
  }
  for (const memory::Rows& rows : kept) views.push_back(rows.view());
  memory::Memory smaller = memory;
  smaller.load_short_term(views);
  const auto tokens = model.tokens(12, 1);
  std::vector<float> logits[3];
  for (const int way : {0, 1, 2}) {  // a smaller memory; all of it; all of it, behind scouts
    AttentionCache cache(model.layout.layers, model.workspace.kv_shape());
    const auto recall = memory::recall_births(
        way == 0 ? std::vector(named.begin(), named.begin() + static_cast<std::ptrdiff_t>(layers)) : named);
    const ReadItem item{.tokens = tokens,
                        .cache = &cache,
                        .memory = way == 0 ? &smaller : &memory,
                        .recall = recall.get(),
                        .scouts_end = 12};
    if (way == 2) scout_pass(model.workspace, item, Adapter::read);
    read_pass(model.workspace, {&item, 1}, Adapter::read,
              [&](std::size_t, std::int64_t, std::span<const float> row) {
                logits[way].insert(logits[way].end(), row.begin(), row.end());
              });
    for (std::size_t l = 0; l < layers; ++l)
      EXPECT_EQ(cache.rows(static_cast<std::int64_t>(l)),
                1 + std::ssize(named[l]) + std::ssize(named[layers + l]) + 12);
  }
  EXPECT_EQ(logits[0], logits[1]);
  EXPECT_EQ(logits[0], logits[2]);
}

// Scouts that leave room in front see what scouts of an empty store see: distances count, not places.
TEST(ReadPass, RoomInFrontChangesNoScout) {
  TinyModel model;
  memory::Memory memory = model.memory();
  for (unsigned u = 0; u < 9; ++u) write(model, memory, model.tokens(30, u));
  memory::Memory forgetful = memory;
  forgetful.load_long_term(memory::LongTermStore(model.layout));
  const auto tokens = model.tokens(12, 1);
  AttentionCache one(model.layout.layers, model.workspace.kv_shape());
  AttentionCache other(model.layout.layers, model.workspace.kv_shape());
  const ReadItem with{.tokens = tokens, .cache = &one, .memory = &memory, .scouts_end = 12};
  const ReadItem without{.tokens = tokens, .cache = &other, .memory = &forgetful, .scouts_end = 12};
  const ScoutStates a = scout_pass(model.workspace, with, Adapter::read);
  const ScoutStates b = scout_pass(model.workspace, without, Adapter::read);
  for (std::size_t l = 0; l < a.retriever.size(); ++l) {
    ASSERT_EQ(a.retriever[l].size(), b.retriever[l].size());
    float most = 0;
    for (const float q : a.retriever[l]) most = std::max(most, std::abs(q));
    // Angles of some hundred radians are rounded to 24 bits; layers add up.
    const float tolerance = 2e-5f * most * static_cast<float>(l + 1);
    for (std::size_t i = 0; i < a.retriever[l].size(); ++i)
      ASSERT_NEAR(a.retriever[l][i], b.retriever[l][i], tolerance);
  }
}

TEST(ReadPass, TapsSeeQueriesAndAttention) {
  TinyModel model;
  const memory::Memory memory = model.memory();
  const auto tokens = model.tokens(8, 1);
  AttentionCache cache(model.layout.layers, model.workspace.kv_shape());
  ReadTaps taps;
  std::int64_t layers_seen = 0;
  taps.attention_queries = 3;
  taps.attention = [&](std::int64_t, std::span<const float> weights, std::int64_t n, std::int64_t rows) {
    ASSERT_EQ(n, 3);
    ASSERT_EQ(rows, 1 + model.layout.N + 8);
    const std::int64_t heads = model.weights->config.heads;
    ASSERT_EQ(static_cast<std::int64_t>(weights.size()), heads * n * rows);
    for (std::int64_t q = 0; q < heads * n; ++q) {
      double sum = 0;
      for (std::int64_t r = 0; r < rows; ++r)
        sum += static_cast<double>(weights[static_cast<std::size_t>(q * rows + r)]);
      EXPECT_NEAR(sum, 1.0, kEpsilon * static_cast<double>(rows));
    }
    ++layers_seen;
  };
  taps.queries = [&](std::int64_t, const memory::LayerQueries& q) {
    EXPECT_EQ(q.T, 5);
    EXPECT_NE(q.retriever, nullptr);
    EXPECT_NE(q.attention, nullptr);
  };
  const ReadItem item{.tokens = tokens,
                      .cache = &cache,
                      .memory = &memory,
                      .scouts_begin = 2,
                      .scouts_end = 7,
                      .taps = &taps};
  read_pass(model.workspace, {&item, 1}, Adapter::read,
            [](std::size_t, std::int64_t, std::span<const float>) {});
  EXPECT_EQ(layers_seen, model.layout.layers);
}

}  // namespace
}  // namespace mplus::model
