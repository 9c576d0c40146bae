#include "mplus/cli/bench/together.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "mplus/cli/bench/work.h"
#include "mplus/core/error.h"
#include "mplus/engine/generation.h"
#include "mplus/engine/ingestion.h"

namespace mplus::cli {
namespace {

constexpr std::int64_t kPrompt = 16;

// Tokens a second of those steps in which every answer wants its next token.
double decode_rate_of(std::vector<engine::Session>& sessions, int count, std::int64_t tokens,
                      const engine::SamplingOptions& sampling) {
  engine::Runner& runner = sessions.front().engine().runner();
  const std::vector<io::TokenId> prompt = bench_tokens(sessions.front().engine(), kPrompt);
  engine::GenerateOptions options;
  options.max_tokens = tokens;
  options.sampling = sampling;
  std::vector<engine::Generation> answers;
  answers.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i)
    answers.push_back(
        engine::Generation::generate_ids(sessions[static_cast<std::size_t>(i)], prompt, options));
  std::int64_t done = 0;
  double seconds = 0;
  for (;;) {
    std::vector<engine::WorkItem> items;
    std::vector<engine::Generation*> whose;
    for (engine::Generation& answer : answers) {
      if (engine::Work* work = answer.next_work()) {
        items.push_back({work});
        whose.push_back(&answer);
      }
    }
    if (items.empty()) break;
    const bool all_decode =
        items.size() == answers.size() && std::ranges::all_of(items, [](const engine::WorkItem& item) {
          return std::holds_alternative<engine::Decode>(*item.work);
        });
    const double took = seconds_of([&] {
      runner.step(items);
      for (std::size_t i = 0; i < items.size(); ++i) whose[i]->take(std::move(items[i].result));
    });
    if (!all_decode) continue;
    done += count;
    seconds += took;
  }
  if (done == 0)
    fail(ErrorCode::unsupported, "bench: the model ends its text at once; decoding cannot be measured");
  return static_cast<double>(done) / seconds;
}

double remember_rate_of(engine::Engine& engine, int count) {
  // Of a device, so many chunks that it matters whether the host keeps up.
  const std::int64_t tokens = engine.chunk_tokens() * (engine.device().is_cpu() ? 1 : 8);
  const std::vector<io::TokenId> chunk = bench_tokens(engine, tokens);
  std::vector<engine::Session> sessions;
  std::vector<engine::Ingestion> writes;
  sessions.reserve(static_cast<std::size_t>(count));
  writes.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) sessions.emplace_back(engine);
  engine::Document document;
  document.ids = chunk;
  document.source = "bench";
  for (engine::Session& session : sessions) writes.emplace_back(session, document);
  const double seconds =
      seconds_of([&] { engine::run_together<engine::Ingestion>(engine.runner(), writes); });
  return static_cast<double>(count * tokens) / seconds;
}

}  // namespace

TogetherRates decode_together(const engine::Session& session, int sessions, std::int64_t tokens,
                              int repetitions, const engine::SamplingOptions& sampling) {
  std::vector<engine::Session> forks;
  forks.reserve(static_cast<std::size_t>(sessions));
  for (int i = 0; i < sessions; ++i) forks.push_back(session.fork());
  std::vector<double> one, all;
  for (int i = 0; i < repetitions; ++i) {
    one.push_back(decode_rate_of(forks, 1, tokens, sampling));
    all.push_back(decode_rate_of(forks, sessions, tokens, sampling));
  }
  return {spread_of(std::move(one)), spread_of(std::move(all))};
}

TogetherRates remember_together_rate(engine::Engine& engine, int sessions, int repetitions) {
  std::vector<double> one, all;
  for (int i = 0; i < repetitions; ++i) {
    one.push_back(remember_rate_of(engine, 1));
    all.push_back(remember_rate_of(engine, sessions));
  }
  return {spread_of(std::move(one)), spread_of(std::move(all))};
}

Spread step_beside_a_write(const engine::Session& session, std::int64_t tokens) {
  engine::Engine& engine = session.engine();
  engine::GenerateOptions options;
  options.max_tokens = tokens;
  const std::vector<io::TokenId> prompt = bench_tokens(engine, kPrompt);
  engine::Generation answer = engine::Generation::generate_ids(session, prompt, options);
  const std::int64_t chunks = tokens / engine.layout().layers + 1;  // a layer beside every token
  const std::vector<io::TokenId> text = bench_tokens(engine, engine.chunk_tokens() * chunks);
  engine::Session reader(engine);
  engine::Ingestion write(reader, {.source = "bench", .ids = text});
  engine.runner().set_write_layers(1);
  std::vector<double> seconds;
  while (engine::Work* token = answer.next_work()) {
    const bool decodes = std::holds_alternative<engine::Decode>(*token);
    engine::Work* layer = decodes ? write.next_work() : nullptr;
    std::vector<engine::WorkItem> items{{token}};
    if (layer) items.push_back({layer});
    const double took = seconds_of([&] {
      engine.runner().step(items);
      answer.take(std::move(items[0].result));
      if (layer) write.take(std::move(items[1].result));
    });
    if (layer) seconds.push_back(took);
  }
  engine.runner().set_write_layers(0);
  if (seconds.empty())
    fail(ErrorCode::unsupported, "bench: the model ends its text at once; a token cannot be measured");
  return spread_of(std::move(seconds));
}

}  // namespace mplus::cli
