// Plain decoders: tiny models with scaled RoPE, biases and norms of heads, and the real base model.
#include <cmath>

#include "mplus/cli/golden/cases.h"
#include "mplus/core/error.h"
#include "mplus/engine/answer/sampling/sampler.h"

namespace mplus::golden {

void run_decoder(const CaseFolder& folder, Report& report) {
  for (const Json& read : folder.json().at("reads")) {
    const auto name = read.at("name").get<std::string>();
    GoldenModel model({.model = folder.path() / read.at("model").get<std::string>(), .delta = {}},
                      {.device = folder.device()});
    const std::string frequencies = name.substr(0, name.find('.')) + ".inv_freq";
    if (folder.has(frequencies))
      report.close(frequencies, model::inverse_frequencies(model.weights().config),
                   folder.expected(frequencies), folder.tolerance("state"));
    const ReadRun run = run_read(model, {.tokens = token_list(read.at("tokens")),
                                         .steps = static_cast<std::int64_t>(read.at("greedy").size()),
                                         .adapter = model::Adapter::none});
    report.close(name + ".logits", run.logits, folder.expected(name + ".logits"), folder.tolerance("logits"));
    report.close(name + ".gen_logits", run.gen_logits, folder.expected(name + ".gen_logits"),
                 folder.tolerance("logits"));
    report.equal(name + ".greedy", run.greedy, integer_list(read.at("greedy")));
  }
}

void run_base_model(const Json& json, const RealModel& files, Report& report) {
  GoldenModel model({.model = files.model, .delta = {}}, {.device = files.device});
  const double tolerance = files.nll_tolerance.value_or(2e-4);
  const auto V = static_cast<std::size_t>(model.weights().config.vocab);
  for (const Json& c : json.at("cases")) {
    const auto name = c.at("name").get<std::string>();
    const auto ids = token_list(c.at("ids"));
    const auto greedy = integer_list(c.at("greedy"));
    const ReadRun run = run_read(
        model,
        {.tokens = ids, .steps = static_cast<std::int64_t>(greedy.size()), .adapter = model::Adapter::none});
    const auto row = [&](std::size_t t) { return std::span(run.logits).subspan(t * V, V); };
    const auto nll = c.at("nll").get<std::vector<double>>();
    // Values are listed to 5 digits and logits reach 30: f32 noise grows with the text.
    for (std::size_t t = 0; t < nll.size(); ++t)
      report.close(fmt::format("{}: nll of token {}", name, t + 1),
                   engine::negative_log_likelihood(row(t), ids[t + 1]), nll[t], tolerance);
    const auto top = integer_list(c.at("last_top8").at("ids"));
    const auto logits = c.at("last_top8").at("logits").get<std::vector<double>>();
    for (std::size_t i = 0; i < top.size(); ++i)
      report.close(fmt::format("{}: logit of token {}", name, top[i]),
                   static_cast<double>(row(ids.size() - 1)[static_cast<std::size_t>(top[i])]), logits[i],
                   5 * tolerance);
    // Greedy tokens are compared up to the first near-tie.
    const auto gaps = c.at("greedy_gap").get<std::vector<double>>();
    std::size_t sure = 0;
    while (sure < gaps.size() && gaps[sure] > 10 * tolerance) ++sure;
    report.equal(name + ": greedy",
                 {run.greedy.begin(), run.greedy.begin() + static_cast<std::ptrdiff_t>(sure)},
                 {greedy.begin(), greedy.begin() + static_cast<std::ptrdiff_t>(sure)});
  }
}

}  // namespace mplus::golden
