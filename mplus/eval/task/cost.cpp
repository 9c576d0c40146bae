#include "mplus/eval/task/cost.h"

#include <sys/resource.h>

#include <fstream>

#include "mplus/core/clock.h"
#include "mplus/core/error.h"
#include "mplus/core/numbers/philox.h"
#include "mplus/engine/session.h"
#include "mplus/eval/task/sample.h"

namespace mplus::eval {
namespace {

std::int64_t peak_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

// Resident memory of the process by kind: its own, and pages of mapped files.
Json resident() {
  Json json;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    for (const auto& [name, field] :
         {std::pair{"RssAnon:", "resident_own_bytes"}, std::pair{"RssFile:", "resident_file_bytes"}})
      if (line.starts_with(name)) json[field] = std::stoll(line.substr(std::string_view(name).size())) * 1024;
  return json;
}

// One memory that grows; at each length an answer is timed. Tokens are random: what they say costs nothing.
class Cost final : public Task {
 public:
  RunIdentity prepare(TaskRun& run) override {
    require_memory(run.engine, "cost");
    options_ = run.options;
    if (options_.lengths.empty()) options_.lengths = {8000, 16000, 32000, 64000};
    return {"cost",
            {{"task", "cost"},
             {"lengths", options_.lengths},
             {"answer_tokens", kAnswer},
             {"model", model_identity(run.engine)}}};
  }

  bool work(TaskRun& run, RunLog& log) override {
    bool done = true;
    for (std::int64_t length : options_.lengths) done = done && log.has(std::to_string(length));
    if (done) return true;
    engine::Session session(run.engine, options_.seed);
    Steps steps(run.progress, options_.lengths.back());
    Writing written;
    for (std::int64_t length : options_.lengths) {
      written.last_seconds = 0;
      written.last_chunks = 0;
      while (written.tokens < length) {
        if (!steps.go("writing")) return false;
        const auto start = Clock::now();
        session.remember_ids(chunk(run.engine, written.tokens), "text");
        written.last_seconds += seconds_since(start);
        ++written.last_chunks;
        written.tokens += run.engine.chunk_tokens();
        steps.did(run.engine.chunk_tokens());
      }
      written.seconds += written.last_seconds;
      if (log.has(std::to_string(length))) continue;  // an earlier process measured it, in its own time
      log.add(std::to_string(length), measure(run, session, length, written));
    }
    return true;
  }

 private:
  static constexpr std::int64_t kQuestion = 24, kAnswer = 32;

  static std::vector<io::TokenId> ids_of(const engine::Engine& engine, std::int64_t n, std::uint32_t number) {
    std::vector<io::TokenId> ids(static_cast<std::size_t>(n));
    const auto vocab = static_cast<std::uint64_t>(engine.weights().config.vocab);
    for (std::size_t i = 0; i < ids.size(); ++i)
      ids[i] = static_cast<io::TokenId>(
          random_bits(0, RandomStream::evaluation, number, 7, static_cast<std::uint32_t>(i)) % vocab);
    return ids;
  }
  static std::vector<io::TokenId> chunk(const engine::Engine& engine, std::int64_t written) {
    return ids_of(engine, engine.chunk_tokens(), static_cast<std::uint32_t>(written));
  }

  struct Writing {
    std::int64_t tokens = 0;
    double seconds = 0, last_seconds = 0;  // in all, and of the last chunks
    std::int64_t last_chunks = 0;
  };

  static Json measure(TaskRun& run, engine::Session& session, std::int64_t length, const Writing& written) {
    engine::GenerateOptions options;
    options.max_tokens = kAnswer;
    const auto prompt = ids_of(run.engine, kQuestion, 1u << 30);
    session.generate_ids(prompt, options);  // buffers grow once
    const engine::Answer answer = session.generate_ids(prompt, options);
    Json sample{
        {"id", std::to_string(length)}, {"tokens", written.tokens}, {"write_seconds", written.seconds}};
    sample["chunk_seconds"] =
        written.last_seconds / static_cast<double>(std::max<std::int64_t>(1, written.last_chunks));
    sample["first_token_seconds"] = answer.prefill_seconds;
    sample["answer_tokens_per_second"] = static_cast<double>(answer.tokens.size()) / answer.decode_seconds;
    sample["memory_bytes"] = session.memory().size_bytes();
    sample["peak_bytes"] = peak_bytes();
    sample.update(resident());
    return sample;
  }

  TaskOptions options_;
};

}  // namespace

std::unique_ptr<Task> make_cost() { return std::make_unique<Cost>(); }

}  // namespace mplus::eval
