// mplus score: how surprising a text is to the model, token by token.
#include <fmt/core.h>

#include <cmath>
#include <numeric>

#include "mplus/cli/commands/command.h"
#include "mplus/cli/documents.h"
#include "mplus/cli/open_memory.h"
#include "mplus/cli/options.h"
#include "mplus/cli/output/json_output.h"
#include "mplus/cli/output/print.h"
#include "mplus/cli/output/progress_bar.h"

namespace mplus::cli {
namespace {

struct ScoreCommand {
  ModelOptions model;
  MemoryOptions memory;
  std::string file;
  std::string ids;
  bool each = false;
  bool json = false;
};

std::vector<io::TokenId> tokens_of(const engine::Engine& engine, const std::string& text) {
  std::vector<io::TokenId> ids = engine.tokenizer().encode(text);
  // A model with memory has its own beginning in every layer; a plain one may want its tokenizer's.
  const auto bos = engine.tokenizer().bos();
  if (!engine.has_memory() && engine.weights().config.add_bos && bos) ids.insert(ids.begin(), *bos);
  return ids;
}

std::string each_text(const engine::Engine& engine, const std::vector<io::TokenId>& ids,
                      const std::vector<double>& nll) {
  std::string text;
  for (std::size_t i = 0; i < nll.size(); ++i) {
    const io::TokenId id = ids[i + 1];
    const std::string shown =
        engine.has_tokenizer() ? one_line(engine.tokenizer().decode({&id, 1}, false), 40) : "";
    text += fmt::format("{:8.4f}  {:6}  {}\n", nll[i], id, shown);
  }
  return text;
}

int score(ScoreCommand options) {
  choose_memory(options.memory, Fallback::none);
  if (options.file.empty() == options.ids.empty()) throw UsageError("score: name a file, - or --ids LIST");
  std::vector<io::TokenId> ids = parse_ids(options.ids);
  if (!options.ids.empty() && ids.empty()) throw UsageError("--ids: the list is empty");
  const std::string text = options.file.empty() ? "" : read_text(options.file).text;
  // A memory was made with a delta, so it brings the default one in.
  const auto engine = open_engine(options.model, options.memory,
                                  !options.memory.file.empty() || !options.memory.session.empty());
  if (ids.empty()) ids = tokens_of(*engine, text);
  OpenMemory memory(*engine, options.memory, 0, store::Access::read);
  const engine::Session& session = memory.session();
  engine::ScoreOptions how;
  how.read = generate_options({}, options.memory, 0);
  const std::vector<double> nll = session.score(ids, how).nll;
  const double mean = std::accumulate(nll.begin(), nll.end(), 0.0) / static_cast<double>(nll.size());
  if (options.json) {
    Json json;
    json["tokens"] = ids.size();
    json["mean_nll"] = nll.empty() ? Json() : Json(mean);
    json["nll"] = nll;
    put_json(json);
    return kGood;
  }
  std::string report = options.each ? each_text(*engine, ids, nll) : "";
  report += plural(static_cast<std::int64_t>(ids.size()), "token");
  report += nll.empty() ? ": one alone has no likelihood\n"
                        : fmt::format(", {:.4f} nats a token, perplexity {:.2f}\n", mean, std::exp(mean));
  put(report);
  return kGood;
}

}  // namespace

void add_score(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<ScoreCommand>();
  CLI::App* command = program.add_subcommand("score",
                                             "Say how surprising a text is to the model.\n"
                                             "Gives the negative log-likelihood of every token but the "
                                             "first, in nats, with or without a memory. The\n"
                                             "base model alone is asked, without a delta, unless one is "
                                             "named or a memory is. The text must fit into\n"
                                             "the model's context, or with a memory into its window.");
  command->add_option("FILE", options->file, "a text, or - for standard input")->type_name("");
  command->add_option("--ids", options->ids, "token ids instead of text, or - to read them")
      ->type_name("LIST");
  command->add_flag("--each", options->each, "list every token");
  add_json_option(*command, options->json);
  add_memory_options(*command, options->memory, "the memory to read with");
  add_model_options(*command, options->model, "none, or with --memory the default model's own");
  command->footer(
      "Examples:\n"
      "  mplus score letter.txt --each\n"
      "  mplus score - --memory my.safetensors --json < letter.txt");
  command->callback([options, &chosen] { chosen = [options] { return score(*options); }; });
}

}  // namespace mplus::cli
