// Laws of the runner: sessions in any mixture get what they get alone.
#include "mplus/engine/run/runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>

#include "mplus/core/error.h"
#include "mplus/engine/files/session_file.h"
#include "mplus/engine/generation.h"
#include "mplus/engine/ingestion.h"
#include "tests/engine/text_engine.h"
#include "tests/memory/same_rows.h"

namespace mplus::engine {
namespace {

GenerateOptions up_to(std::int64_t tokens, unsigned seed = 0) {
  GenerateOptions options;
  options.max_tokens = tokens;
  if (seed % 2 == 1) options.sampling = {.temperature = 0.7f, .top_k = 20, .seed = seed};
  return options;
}

// One thing after another that a session is to do, drawn by seed; and what came of it.
class Script {
 public:
  Script(Engine& engine, unsigned seed, bool talks) : session(engine, seed), random_(seed), talks_(talks) {}

  // The work at hand; null: all was done.
  Work* next_work() {
    for (;;) {
      Work* work = generation_ ? generation_->next_work() : ingestion_ ? ingestion_->next_work() : nullptr;
      if (work) return work;
      if (generation_) {
        const Answer answer = generation_->answer();
        answers.push_back(answer.tokens);
      }
      generation_.reset();
      ingestion_.reset();
      if (done_++ == kActs) return nullptr;
      begin();
    }
  }
  void take(WorkResult result) {
    if (generation_) generation_->take(std::move(result));
    else ingestion_->take(std::move(result));
  }

  Session session;
  std::vector<std::vector<io::TokenId>> answers;

 private:
  static constexpr int kActs = 7;

  void begin() {
    constexpr std::size_t kLengths[] = {3, 40, 512, 700, 1300};
    const unsigned draw = static_cast<unsigned>(random_());
    if (draw % 3 == 0) {
      const auto prompt = random_ids(draw % 5 == 0 ? 700 : 20, draw, 250);
      generation_.emplace(Generation::generate_ids(session, prompt, up_to(12, draw / 3)));
    } else if (talks_ && draw % 3 == 1) {
      const std::string message(20 + draw % 200, static_cast<char>('a' + draw % 26));
      generation_.emplace(Generation::say(session, message, up_to(8)));
    } else if (draw % 7 == 0) {
      ingestion_.emplace(Ingestion::flush(session));
    } else {
      const auto ids = random_ids(kLengths[draw / 3 % 5], draw, 250);
      ingestion_.emplace(session, Document{.source = "text", .ids = ids});
    }
  }

  std::mt19937 random_;
  bool talks_;
  int done_ = 0;
  std::optional<Generation> generation_;
  std::optional<Ingestion> ingestion_;
};

struct Outcome {
  std::vector<std::string> states;
  std::vector<std::vector<std::vector<io::TokenId>>> answers;
};

// Any of the sessions, by chance, in every step, in any order.
Outcome run_mixed(Engine& engine, unsigned seed, unsigned sessions, bool talks) {
  std::mt19937 random(seed);
  std::vector<std::unique_ptr<Script>> scripts;
  std::vector<Script*> left;
  for (unsigned s = 0; s < sessions; ++s)
    left.push_back(scripts.emplace_back(std::make_unique<Script>(engine, 10 * seed + s, talks)).get());
  while (!left.empty()) {
    engine.runner().set_write_layers(static_cast<std::int64_t>(random() % 4));
    engine.runner().set_prompt_tokens(8 + static_cast<std::int64_t>(random() % 200));
    std::shuffle(left.begin(), left.end(), random);
    std::vector<WorkItem> items;
    std::vector<Script*> mine, rest;
    for (Script* script : left) {
      if (random() % 3 == 0) {
        rest.push_back(script);
      } else if (Work* work = script->next_work()) {
        items.push_back({work});
        mine.push_back(script);
      }
    }
    engine.runner().step(items);
    for (std::size_t i = 0; i < mine.size(); ++i) mine[i]->take(std::move(items[i].result));
    left = rest;
    left.insert(left.end(), mine.begin(), mine.end());
  }
  engine.runner().set_write_layers(0);
  engine.runner().set_prompt_tokens(RunnerOptions().prompt_tokens);
  Outcome outcome;
  for (const auto& script : scripts) {
    outcome.states.push_back(state_of(script->session));
    outcome.answers.push_back(script->answers);
  }
  return outcome;
}

TEST(Runner, AnyMixtureGivesWhatEachGetsAlone) {
  Engine engine(tiny_options(2));
  for (unsigned seed = 1; seed <= 3; ++seed) {
    const Outcome mixed = run_mixed(engine, seed, 5, false);
    for (unsigned s = 0; s < 5; ++s) {
      Script alone(engine, 10 * seed + s, false);
      run_alone(engine.runner(), alone);
      EXPECT_EQ(mixed.answers[s], alone.answers) << "seed " << seed << ", session " << s;
      EXPECT_TRUE(mixed.states[s] == state_of(alone.session)) << "seed " << seed << ", session " << s;
    }
  }
}

void expect_same_memory(const memory::Memory& a, const memory::Memory& b) {
  ASSERT_EQ(a.updates(), b.updates());
  for (std::int64_t l = 0; l < a.layout().layers; ++l) {
    const memory::RowsView x = a.short_term(l), y = b.short_term(l);
    ASSERT_EQ(x.n, y.n);
    EXPECT_TRUE(memory::same_rows(a.layout(), x, y));
  }
}

// Tokens decoded together leave window rows that may differ in their last bits: memory and answers do not.
TEST(Runner, ConversationsSideBySideAnswerAsAlone) {
  const TemporaryFolder folder;
  Engine engine(text_options(folder));
  const Outcome mixed = run_mixed(engine, 7, 3, true);
  for (unsigned s = 0; s < 3; ++s) {
    Script alone(engine, 70 + s, true);
    run_alone(engine.runner(), alone);
    EXPECT_EQ(mixed.answers[s], alone.answers) << "session " << s;
    const std::filesystem::path file = folder.path() / "mixed.safetensors";
    std::ofstream(file, std::ios::binary) << mixed.states[s];
    const Session loaded = load_session_file(engine, file);
    expect_same_memory(loaded.memory(), alone.session.memory());
    ASSERT_EQ(loaded.window().size(), alone.session.window().size());
    EXPECT_EQ(loaded.turns(), alone.session.turns());
  }
}

TEST(Runner, AWritePausedBetweenAllLayersIsTheSame) {
  EngineOptions options = tiny_options();
  Engine whole(options);
  options.write_layers = 1;
  Engine paused(options);
  Session a(whole, 3), b(paused, 3), other(paused, 4);
  a.remember_ids(random_ids(1600, 1), "text");
  const auto ids = random_ids(1600, 1);
  Ingestion ingestion(b, {.source = "text", .ids = ids});
  int steps = 0;
  while (Work* work = ingestion.next_work()) {
    WorkItem item{work};
    paused.runner().step({&item, 1});
    ingestion.take(std::move(item.result));
    next_tokens(other);  // others use the buffers meanwhile
    ++steps;
  }
  EXPECT_EQ(steps, 4 * whole.weights().config.layers);
  EXPECT_TRUE(state_of(a) == state_of(b));
}

TEST(Runner, WritesThatComeDuringOneBeginTogether) {
  EngineOptions options = tiny_options();
  options.write_layers = 1;
  Engine engine(options);
  const auto ids = random_ids(500, 1);
  std::vector<Session> sessions;
  std::vector<Ingestion> ingestions;
  for (std::uint64_t s = 0; s < 3; ++s) sessions.emplace_back(engine, s);
  for (Session& session : sessions) ingestions.emplace_back(session, Document{.source = "d", .ids = ids});
  WorkItem first{ingestions[0].next_work()};
  engine.runner().step({&first, 1});
  ingestions[0].take(std::move(first.result));
  int steps = 1;
  for (std::vector<WorkItem> items;; ++steps) {
    items.clear();
    std::vector<Ingestion*> mine;
    for (Ingestion& ingestion : ingestions)
      if (Work* work = ingestion.next_work()) {
        items.push_back({work});
        mine.push_back(&ingestion);
      }
    if (items.empty()) break;
    engine.runner().step(items);
    for (std::size_t i = 0; i < mine.size(); ++i) mine[i]->take(std::move(items[i].result));
  }
  EXPECT_EQ(steps, 2 * engine.weights().config.layers) << "two passes: the first, then both others in one";
  for (std::uint64_t s = 0; s < 3; ++s) {
    Session alone(engine, s);
    alone.remember_ids(ids, "d");
    EXPECT_TRUE(state_of(alone) == state_of(sessions[s]));
  }
}

TEST(Runner, OneThatFailsFailsAlone) {
  Engine engine(tiny_options());
  memory::Memory good(engine.layout(), 1), damaged(engine.layout(), 1);
  const std::vector<float> not_numbers(
      static_cast<std::size_t>(engine.layout().layers * engine.layout().K * engine.weights().config.hidden),
      std::numeric_limits<float>::quiet_NaN());
  damaged.load_tail(engine.layout().K, not_numbers);
  const auto ids = random_ids(30, 1);
  Work works[2] = {Write{.chunk = ids, .memory = &damaged}, Write{.chunk = ids, .memory = &good}};
  WorkItem items[2] = {{&works[0]}, {&works[1]}};
  engine.runner().step(items);
  engine.runner().step(items);
  EXPECT_TRUE(items[0].result.done && items[0].result.error);
  EXPECT_TRUE(items[1].result.done && !items[1].result.error);
  EXPECT_TRUE(std::get<Write>(works[1]).written.layers.size() > 0);
}

TEST(Runner, ATokenThatFailsFailsAlone) {
  Engine engine(tiny_options());
  memory::Memory damaged(engine.layout(), 1);
  const memory::Memory good(engine.layout(), 1);
  const std::vector<float> not_numbers(4096, std::numeric_limits<float>::quiet_NaN());
  const float* nan = not_numbers.data();
  const std::vector<memory::NewRows> rows(static_cast<std::size_t>(engine.layout().remembering_layers()),
                                          {.hidden = nan, .k = nan, .v = nan, .key = nan, .n = 1});
  damaged.update(rows);
  const io::TokenId token = 7;
  const auto decode = [&](model::AttentionCache& cache, const memory::Memory& memory, const TokenLogits& to) {
    Decode work;
    work.item = {.tokens = {&token, 1}, .cache = &cache, .memory = &memory};
    work.logits = &to;
    return work;
  };
  std::vector<float> alone, beside;
  const TokenLogits to_alone = [&](auto, std::span<const float> row) {
    alone.assign(row.begin(), row.end());
  };
  const TokenLogits to_beside = [&](auto, std::span<const float> row) {
    beside.assign(row.begin(), row.end());
  };
  std::vector<model::AttentionCache> caches;
  for (int i = 0; i < 3; ++i)
    caches.emplace_back(engine.weights().config.layers, engine.workspace().kv_shape());
  Work by_itself = decode(caches[0], good, to_alone);
  engine.runner().finish({&by_itself, 1});
  Work works[2] = {decode(caches[1], damaged, to_beside), decode(caches[2], good, to_beside)};
  WorkItem items[2] = {{&works[0]}, {&works[1]}};
  engine.runner().step(items);
  EXPECT_TRUE(items[0].result.done && items[0].result.error);
  EXPECT_TRUE(items[1].result.done && !items[1].result.error);
  ASSERT_EQ(alone.size(), 300u);
  EXPECT_EQ(alone, beside);
}

// A reader of a memory, with what a pass leaves of it.
struct Reader {
  Reader(Engine& engine, const memory::Memory& over, std::size_t tokens, unsigned seed)
      : width(engine.layout().retriever),
        ids(random_ids(tokens, seed, 250)),
        cache(engine.weights().config.layers, engine.workspace().kv_shape()),
        rows(engine.layout()),
        item{.tokens = ids, .cache = &cache, .window = &rows, .memory = &over},
        sink([this](std::int64_t token, std::span<const float> logits) {
          if (refuses) fail(ErrorCode::invalid_argument, "refused");
          seen.push_back(token);
          last.assign(logits.begin(), logits.end());
        }) {
    rows.reserve(std::ssize(ids));
    item.logits_from = std::ssize(ids) - 1;
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  template <class Kind>
  Work& as() {
    Kind read;
    read.item = item;
    read.logits = &sink;
    return work.emplace(read);
  }
  Work& as_scout() {
    Scout scout{.item = item, .pass = true, .plan = {}};
    scout.item.scouts_end = std::ssize(ids);
    scout.plan = [this](kernels::Queue&, std::span<const memory::LayerQueries> states) {
      for (const memory::LayerQueries& layer : states)
        if (layer.retriever)
          queries.insert(queries.end(), layer.retriever, layer.retriever + layer.T * width);
      if (refuses) fail(ErrorCode::invalid_argument, "refused");
    };
    return work.emplace(std::move(scout));
  }

  std::int64_t width;
  std::vector<io::TokenId> ids;
  model::AttentionCache cache;
  memory::WindowRows rows;
  model::ReadItem item;
  TokenLogits sink;
  bool refuses = false;
  std::optional<Work> work;
  std::vector<std::int64_t> seen;
  std::vector<float> last, queries;
};

void expect_same_rows(const Reader& a, const Reader& b, std::int64_t layers) {
  ASSERT_EQ(a.rows.size(), b.rows.size());
  const auto bytes = static_cast<std::size_t>(a.rows.size()) * a.rows.row_size_bytes();
  for (std::int64_t l = 0; l < layers; ++l) {
    EXPECT_EQ(std::memcmp(a.rows.k(l), b.rows.k(l), bytes), 0) << "layer " << l;
    EXPECT_EQ(std::memcmp(a.rows.v(l), b.rows.v(l), bytes), 0) << "layer " << l;
  }
}

// Prompts of several lengths, a scout and a token of as many sessions.
class Mixture {
 public:
  explicit Mixture(Engine& engine) : layers_(engine.weights().config.layers) {
    for (unsigned s = 0; s < 5; ++s) {
      sessions_.emplace_back(engine, s);
      sessions_.back().remember_ids(random_ids(2500, s), "text");
    }
    constexpr std::size_t kLengths[] = {31, 1, 17, 3, 29};  // short ones on every processor
    for (unsigned s = 0; s < 5; ++s)
      readers_.push_back(std::make_unique<Reader>(engine, sessions_[s].memory(), kLengths[s], 20 + s));
  }

  Reader& reader(std::size_t i) { return *readers_[i]; }
  std::vector<WorkItem> items() {
    return {{&reader(0).as<Prefill>()},
            {&reader(1).as<Decode>()},
            {&reader(2).as_scout()},
            {&reader(3).as<Prefill>()},
            {&reader(4).as_scout()}};
  }
  // What the others got is what they get alone: the rows of prompts and scouts' queries bit for bit.
  void expect_as(Mixture& alone, std::size_t except) {
    for (std::size_t i = 0; i < readers_.size(); ++i) {
      if (i == except) continue;
      SCOPED_TRACE(i);
      EXPECT_EQ(reader(i).seen, alone.reader(i).seen);
      EXPECT_EQ(reader(i).queries, alone.reader(i).queries);
      ASSERT_EQ(reader(i).last.size(), alone.reader(i).last.size());
      for (std::size_t v = 0; v < reader(i).last.size(); ++v)
        EXPECT_NEAR(reader(i).last[v], alone.reader(i).last[v], 1e-4);
      if (i == 1) continue;  // one token alone takes another way, as the logits of one do
      expect_same_rows(reader(i), alone.reader(i), layers_);
    }
  }

 private:
  std::int64_t layers_;
  std::vector<Session> sessions_;
  std::vector<std::unique_ptr<Reader>> readers_;
};

TEST(Runner, PromptsScoutsAndTokensShareAPass) {
  Engine engine(tiny_options(2));
  Mixture together(engine), alone(engine);
  std::vector<WorkItem> items = together.items();
  const std::int64_t before = engine.runner().read_passes();
  engine.runner().step(items);
  EXPECT_EQ(engine.runner().read_passes(), before + 1);
  for (WorkItem& item : items) EXPECT_TRUE(item.result.done && !item.result.error);
  for (WorkItem& item : alone.items()) engine.runner().step({&item, 1});
  EXPECT_EQ(engine.runner().read_passes(), before + 6);
  EXPECT_FALSE(alone.reader(2).queries.empty());
  EXPECT_FALSE(alone.reader(0).last.empty());
  together.expect_as(alone, 99);
}

TEST(Runner, AnyOfAMixtureFailsAlone) {
  Engine engine(tiny_options(2));
  memory::Memory damaged(engine.layout(), 1);
  const std::vector<float> not_numbers(4096, std::numeric_limits<float>::quiet_NaN());
  const float* nan = not_numbers.data();
  damaged.update(std::vector<memory::NewRows>(static_cast<std::size_t>(engine.layout().remembering_layers()),
                                              {.hidden = nan, .k = nan, .v = nan, .key = nan, .n = 1}));
  Mixture alone(engine);
  for (WorkItem& item : alone.items()) engine.runner().step({&item, 1});
  for (const bool by_memory : {true, false}) {
    for (std::size_t bad = 0; bad < 5; ++bad) {
      SCOPED_TRACE(testing::Message() << (by_memory ? "memory of " : "sink of ") << bad);
      Mixture together(engine);
      if (by_memory) together.reader(bad).item.memory = &damaged;
      else together.reader(bad).refuses = true;
      std::vector<WorkItem> items = together.items();
      engine.runner().step(items);
      for (std::size_t i = 0; i < items.size(); ++i) {
        EXPECT_TRUE(items[i].result.done);
        EXPECT_EQ(items[i].result.error != nullptr, i == bad) << i;
      }
      together.expect_as(alone, bad);
    }
  }
}

TEST(Runner, LongPromptsTakeSeveralPasses) {
  Engine engine(tiny_options());
  const memory::Memory memory(engine.layout(), 1);
  std::vector<std::unique_ptr<Reader>> readers;
  std::vector<WorkItem> items;
  for (unsigned s = 0; s < 4; ++s) {
    readers.push_back(std::make_unique<Reader>(engine, memory, 200, s));
    items.push_back({&readers.back()->as<Prefill>()});
  }
  const std::int64_t before = engine.runner().read_passes();
  engine.runner().step(items);
  EXPECT_EQ(engine.runner().read_passes(), before + 2);
  for (const WorkItem& item : items) EXPECT_TRUE(item.result.done && !item.result.error);
  for (const auto& reader : readers) EXPECT_EQ(reader->rows.size(), 200);
}

// A text beside its tokens is the text, and owned like it.
TEST(Runner, TokensOfATextThatAreKnownAlready) {
  const TemporaryFolder folder;
  Engine engine(text_options(folder));
  std::string text;
  for (int i = 0; i < 300; ++i) text += fmt::format("The lamp number {} is blue. ", i);
  Session plain(engine, 5), known(engine, 5), owning(engine, 5);
  plain.remember(text, "text");
  const io::Tokenizer::Offsets encoded = engine.tokenizer().encode_with_offsets(text);
  known.remember({.source = "text", .text = text, .encoded = &encoded});
  EXPECT_TRUE(state_of(known) == state_of(plain));
  auto copy = std::make_unique<io::Tokenizer::Offsets>(encoded);
  Ingestion ingestion(owning, {.source = "text", .text = text, .encoded = copy.get()});
  copy.reset();
  run_alone(engine.runner(), ingestion);
  EXPECT_TRUE(state_of(owning) == state_of(plain));
  EXPECT_GT(plain.memory().updates(), 1);
}

}  // namespace
}  // namespace mplus::engine
