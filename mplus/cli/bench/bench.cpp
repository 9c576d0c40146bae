// mplus bench: how fast it is here, beside what this machine can do.
#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "mplus/cli/bench/machine.h"
#include "mplus/cli/bench/questions.h"
#include "mplus/cli/bench/together.h"
#include "mplus/cli/bench/work.h"
#include "mplus/cli/bench/writing.h"
#include "mplus/cli/commands/command.h"
#include "mplus/cli/open_memory.h"
#include "mplus/cli/options.h"
#include "mplus/cli/output/print.h"
#include "mplus/cli/output/report_output.h"
#include "mplus/engine/locate.h"
#include "mplus/kernels/backend.h"
#include "mplus/memory/device/resident_store.h"

namespace mplus::cli {
namespace {

struct BenchOptions {
  ModelOptions model;
  MemoryOptions memory;
  std::int64_t prompt_tokens = 512;
  std::int64_t decode_tokens = 48;
  std::int64_t chunks = 12;
  std::int64_t recall_rows = 20000;
  std::int64_t store_blocks = 1;
  std::int64_t question_tokens = 32;
  std::int64_t long_tokens = 0;
  std::int64_t full_rows = 0;
  std::int64_t long_question = 2048;
  int repetitions = 3;
  int sessions = 8;
  bool json = false;
};

class Bench {
 public:
  explicit Bench(const BenchOptions& options)
      : options_(options), engine_(open_engine(options.model, options.memory, true)) {}

  Json run() {
    cost_ = model_cost(engine_->workspace().weights());
    bandwidth_ = read_bytes_per_second(engine_->queue());
    gemm_ = gemm_flops(*engine_, options_.prompt_tokens);
    engine::Session session(*engine_);
    add("prefill", "tok/s", prefill_rate(session, prompt_tokens(), options_.repetitions),
        gemm_ / cost_.read_flop);
    const Spread question = prefill_rate(session, options_.question_tokens, options_.repetitions);
    const auto first_token = [&](double rate) {
      return static_cast<double>(options_.question_tokens) / rate;
    };
    add("prefill of a question", "ms",
        in_milliseconds(
            {first_token(question.median), first_token(question.most), first_token(question.least)}),
        0);
    const double weights_limit = bandwidth_ / cost_.weight_bytes;
    add("decode", "tok/s", decode_rate(session, options_.decode_tokens, options_.repetitions), weights_limit);
    run_together("decode", session);
    if (engine_->has_memory()) run_memory(session);
    Json report;
    report["threads"] = engine_->queue().pool().size();
    report["device"] = device_name(engine_->device());
    report["numerics_id"] = engine_->numerics_id();
    report["weights_bytes"] = cost_.weight_bytes;
    report["read_bandwidth_bytes_per_second"] = bandwidth_;
    report["gemm_gflops"] = gemm_ / 1e9;
    report["results"] = results_;
    return report;
  }

 private:
  std::int64_t prompt_tokens() const { return std::min(options_.prompt_tokens, engine_->window_tokens()); }

  void run_memory(engine::Session& session) {
    const IngestRates ingest = ingest_rate(session, options_.chunks);
    add("remember", "tok/s", ingest.each, gemm_ / cost_.read_flop);
    add("remember, first quarter", "tok/s",
        {ingest.first_quarter, ingest.first_quarter, ingest.first_quarter}, 0);
    add("remember, last quarter", "tok/s", {ingest.last_quarter, ingest.last_quarter, ingest.last_quarter},
        0);
    if (options_.store_blocks > 0) {
      const StoreRates rates = store_rates(*engine_, engine::home_folder(), options_.store_blocks);
      add("remember, no session", "tok/s", rates.plain, 0);
      add("remember in a session", "tok/s", rates.stored, rates.plain.median);
    }
    // Every step reads the attended rows of the memory as well.
    const memory::Layout& layout = engine_->layout();
    const double memory_bytes =
        row_cache_bytes(session.memory().short_term(layout.remembering.layer(0)).n + layout.K0);
    add("prefill with memory", "tok/s", prefill_rate(session, prompt_tokens(), options_.repetitions),
        gemm_ / cost_.read_flop);
    add("decode with memory", "tok/s", decode_rate(session, options_.decode_tokens, options_.repetitions),
        bandwidth_ / (cost_.weight_bytes + memory_bytes));
    add("decode with memory, by chance", "tok/s",
        decode_rate(session, options_.decode_tokens, options_.repetitions, by_chance(*engine_)),
        bandwidth_ / (cost_.weight_bytes + memory_bytes));
    run_together("decode with memory", session);
    run_together("decode with memory, by chance", session, by_chance(*engine_));
    run_writers();
    add("a token beside a write", "ms",
        in_milliseconds(step_beside_a_write(session, options_.decode_tokens * options_.repetitions)),
        kMostStep);
    if (options_.long_tokens > 0) run_long_write();
    if (!layout.has_long_term()) return;
    const QuestionSeconds question =
        question_seconds(session, options_.question_tokens, options_.repetitions);
    add("scout pass of a question", "ms", in_milliseconds(question.scout), 0);
    add("its own prefill", "ms", in_milliseconds(question.read), 0);
    const Spread seconds =
        recall_seconds(*engine_, options_.recall_rows, options_.question_tokens, options_.repetitions);
    add("scoring and voting", "ms", in_milliseconds(seconds), 0);
    const auto cells = static_cast<double>(options_.recall_rows * layout.remembering_layers());
    add("recall", "Mrow/s",
        {cells / seconds.median / 1e6, cells / seconds.most / 1e6, cells / seconds.least / 1e6},
        bandwidth_ / static_cast<double>(layout.key_bytes(layout.long_term)) / 1e6);
    if (options_.full_rows > 0) run_full();
  }

  // Over a full memory, its store in host memory and, where passes run elsewhere, there.
  void run_full() {
    const std::int64_t window = engine_->window_tokens();
    FullMemory full = full_memory(engine_->layout(), options_.full_rows, window, engine_->queue().pool());
    const bool device = !engine_->device().is_cpu();
    engine_->runner().set_store_bytes(0);
    run_questions(full, device ? "store on the host" : "full memory");
    report_memory();
    if (!device) return;
    const double seconds = seconds_of([&] {
      memory::bring_long_term(engine_->queue(), full.memory, std::numeric_limits<std::size_t>::max());
      engine_->queue().wait();
    });
    add("the store to the device", "ms", {1e3 * seconds, 1e3 * seconds, 1e3 * seconds}, 0);
    run_questions(full, "store on the device");
    add("decode, full memory", "tok/s",
        decode_over(*engine_, full, options_.decode_tokens, options_.repetitions),
        bandwidth_ / (cost_.weight_bytes + cache_bytes(0)));
  }

  void run_questions(FullMemory& full, const char* where) {
    for (const std::int64_t tokens : {options_.question_tokens, options_.long_question})
      for (const RecallRule rule : {RecallRule::per_layer, RecallRule::consensus}) {
        if (tokens == 0) continue;
        const FirstToken found = first_token(*engine_, full, tokens, rule, options_.repetitions);
        const bool vote = rule == RecallRule::consensus;
        const std::string name = fmt::format("{} tokens, {}, {}", tokens, recall_rule_name(rule), where);
        add(name, "ms", in_milliseconds(found.whole), 1e3 * question_limit(tokens, vote));
        if (vote) add("  its scout", "ms", in_milliseconds(found.scout), 0);
        if (vote) add("  its scores and votes", "ms", in_milliseconds(found.plan), 0);
        if (vote) add("  its read", "ms", in_milliseconds(found.read), 0);
      }
  }

  // Of the rows that a token attends to, behind `tokens` more than the window.
  double cache_bytes(std::int64_t tokens) const {
    const memory::Layout& layout = engine_->layout();
    return row_cache_bytes(layout.N + layout.K0 + engine_->window_tokens() + tokens);
  }
  // Of so many rows a layer, keys and values.
  double row_cache_bytes(std::int64_t rows) const {
    const memory::Layout& layout = engine_->layout();
    kernels::Queue& queue = engine_->queue();
    const DType type = queue.backend().cache_type(queue.numerics());
    return static_cast<double>(row_bytes(type, layout.remembering_layers() * rows * layout.kv * 2));
  }

  // Seconds to read weights, rows and retriever keys once, or to multiply, whichever is longer; for a vote
  // the pass of the scouts, too.
  double question_limit(std::int64_t tokens, bool vote) const {
    const memory::Layout& layout = engine_->layout();
    const double passes = vote ? 2 : 1;
    const auto keys = static_cast<double>(options_.full_rows * layout.remembering_layers()) *
                      static_cast<double>(layout.key_bytes(layout.long_term));
    const double moved = passes * (cost_.weight_bytes + cache_bytes(tokens)) + keys;
    return std::max(moved / bandwidth_, passes * static_cast<double>(tokens) * cost_.read_flop / gemm_);
  }

  void run_long_write() {
    const LongWrite written = long_write(*engine_, options_.long_tokens);
    const auto one = [&](const std::string& name, const char* unit, double value) {
      add(name, unit, {value, value, value}, 0);
    };
    one(fmt::format("remember {} tokens", options_.long_tokens), "s", written.seconds);
    if (written.full.median > 0) add("…, no slot empty", "tok/s", written.full, gemm_ / cost_.read_flop);
    if (written.first_rate > 0) {
      one("…, its first 100,000", "tok/s", written.first_rate);
      one("…, its last 100,000", "tok/s", written.last_rate);
    }
    if (written.end.driver == 0) return;  // the processor
    one("device memory half way", "GB", static_cast<double>(written.middle.allocated) / 1e9);
    report_memory();
  }

  // Of all sessions added up, beside one of them by turns.
  void run_together(const char* name, const engine::Session& session,
                    const engine::SamplingOptions& sampling = {}) {
    if (options_.sessions < 2) return;
    const TogetherRates rates =
        decode_together(session, options_.sessions, options_.decode_tokens, options_.repetitions, sampling);
    add(fmt::format("{}, {} sessions", name, options_.sessions), "tok/s", rates.all, rates.one.median);
  }

  void run_writers() {
    if (options_.sessions < 2) return;
    const TogetherRates writes = remember_together_rate(*engine_, options_.sessions, options_.repetitions);
    add(fmt::format("remember, {} sessions", options_.sessions), "tok/s", writes.all, writes.one.median);
  }

  // Of the device, since the program began and now.
  void report_memory() {
    const kernels::MemoryUse use = engine_->queue().backend().memory_use();
    if (use.driver == 0) return;  // the processor
    const auto one = [&](const char* name, std::size_t size_bytes) {
      const double gigabytes = static_cast<double>(size_bytes) / 1e9;
      add(name, "GB", {gigabytes, gigabytes, gigabytes}, 0);
    };
    one("device memory", use.allocated);
    one("… at most", use.most_allocated);
    one("… kept for later", use.reserved - use.allocated);
    one("… by the driver", use.driver);
  }

  static Spread in_milliseconds(const Spread& s) { return {1e3 * s.median, 1e3 * s.least, 1e3 * s.most}; }

  // A limit of 0: none is known.
  void add(const std::string& name, const char* unit, const Spread& rate, double limit) {
    Json row{
        {"work", name}, {"unit", unit}, {"median", rate.median}, {"least", rate.least}, {"most", rate.most}};
    row["limit"] = limit > 0 ? Json(limit) : Json();
    const bool time = std::string_view(unit) == "ms";
    row["share_of_limit"] = limit > 0 ? Json(time ? limit / rate.median : rate.median / limit) : Json();
    results_.push_back(std::move(row));
  }

  static constexpr double kMostStep = 50;  // ms that a token may wait for others' work

  const BenchOptions& options_;
  std::unique_ptr<engine::Engine> engine_;
  ModelCost cost_;
  double bandwidth_ = 0, gemm_ = 0;
  Json results_ = Json::array();
};

std::string table(const Json& report) {
  std::string text = fmt::format("{} threads, {}; reads {:.1f} GB/s, matrix products {:.0f} GFLOP/s\n\n",
                                 report["threads"].get<int>(), report["numerics_id"].get<std::string>(),
                                 report["read_bandwidth_bytes_per_second"].get<double>() / 1e9,
                                 report["gemm_gflops"].get<double>());
  text += fmt::format("{:44}{:>10}{:>10}{:>10}  {:7}{:>10}{:>8}\n", "", "median", "least", "most", "",
                      "limit", "share");
  for (const Json& row : report["results"]) {
    text += fmt::format("{:44}{:10.1f}{:10.1f}{:10.1f}  {:7}", row["work"].get<std::string>(),
                        row["median"].get<double>(), row["least"].get<double>(), row["most"].get<double>(),
                        row["unit"].get<std::string>());
    text += row["limit"].is_null() ? "\n"
                                   : fmt::format("{:10.1f}{:7.0f} %\n", row["limit"].get<double>(),
                                                 100 * row["share_of_limit"].get<double>());
  }
  return text +
         "\nlimit: matrix products alone (prefill, remember); the same text without a session, by turns "
         "(remember in "
         "a\nsession); weights and rows read once from memory (decode, recall); one session alone, by turns "
         "(… sessions);\nwhat a step may take while somebody waits (a token beside a write)\n";
}

int bench(const BenchOptions& options) {
  Bench work(options);
  const Json report = work.run();
  if (options.json) {
    put_json(report);
  } else {
    put(table(report));
  }
  return kGood;
}

}  // namespace

void add_bench(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = program.add_subcommand("bench",
                                             "Measure the speed of a model here.\n"
                                             "Reading a prompt, remembering, decoding with an empty and with "
                                             "a full memory, and searching a long-term\n"
                                             "memory; medians and spread over repetitions, beside what this "
                                             "machine's memory and arithmetic allow. With\n"
                                             "the default model it takes about a minute on two cores.");
  const auto size = [&](const char* name, auto& value, const char* help) {
    command->add_option(name, value, help)
        ->type_name("N")
        ->capture_default_str()
        ->check(CLI::Range(2, 100'000'000).description(""));
  };
  size("--prompt-tokens", options->prompt_tokens, "of the prompt that is read");
  size("--decode-tokens", options->decode_tokens, "decoded in each run");
  size("--chunks", options->chunks, "written into the memory");
  size("--recall-rows", options->recall_rows, "a layer of the long-term memory that is searched");
  command
      ->add_option("--store-blocks", options->store_blocks,
                   "of 16 chunks, written with and without a session; 0: none")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(0, 1'000'000).description(""));
  size("--question-tokens", options->question_tokens, "of the question that searches it");
  command
      ->add_option("--long-tokens", options->long_tokens, "written as one document, by themselves; 0: none")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(0, 100'000'000).description(""));
  command
      ->add_option(
          "--full-rows", options->full_rows,
          "a layer of a full memory that questions are asked over, put there without writing; 0: none")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(0, 100'000'000).description(""));
  command
      ->add_option("--long-question", options->long_question,
                   "tokens of a second question over the full memory, read at once; 0: none")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(0, 100'000).description(""));
  command->add_option("--sessions", options->sessions, "side by side, in one step of the engine; 1: none are")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(1, 64).description(""));
  size("--repetitions", options->repetitions, "of each measurement");
  add_json_option(*command, options->json);
  add_new_memory_options(*command, options->memory);
  add_model_options(*command, options->model, "the default model's own");
  command->footer(
      "Examples:\n"
      "  mplus bench -t 2\n"
      "  mplus bench --recall-rows 153600 --chunks 100 --json\n"
      "  mplus bench --device cuda --full-rows 153600");
  command->callback([options, &chosen] { chosen = [options] { return bench(*options); }; });
}

}  // namespace mplus::cli
