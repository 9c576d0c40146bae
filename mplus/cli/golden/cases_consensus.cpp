// Recall by consensus in isolation: scores in, votes and recalled births out.
#include <fmt/core.h>

#include <algorithm>

#include "mplus/cli/golden/cases.h"
#include "mplus/memory/recall/vote.h"

namespace mplus::golden {

void run_consensus(const CaseFolder& folder, Report& report) {
  std::size_t number = 0;
  for (const Json& c : folder.json().at("cases")) {
    const std::string name = fmt::format("case {}", number++);
    const auto K = c.at("K").get<std::int64_t>();
    std::vector<std::vector<std::int64_t>> births;
    std::vector<std::vector<float>> scores;
    std::vector<memory::LayerScores> layers;
    for (const Json& layer : c.at("layers")) {
      births.push_back(integer_list(layer.at("births")));
      scores.push_back(layer.at("scores").get<std::vector<float>>());
    }
    for (std::size_t l = 0; l < births.size(); ++l) layers.emplace_back(births[l], scores[l]);
    const auto order = integer_list(c.at("chunk_order"));
    const memory::Votes votes = memory::vote(layers, K, *std::max_element(order.begin(), order.end()));
    for (const auto& [chunk, expected] : c.at("votes").items())
      report.close(fmt::format("{}: vote of chunk {}", name, chunk), votes[std::stoll(chunk)],
                   expected.get<double>(), 1e-6);
    report.equal(name + ": order", votes.order(), order);
    for (std::size_t l = 0; l < layers.size(); ++l) {
      std::vector<std::int64_t> found;
      for (std::int64_t row :
           memory::take_by_chunk(layers[l], votes.order(), K, c.at("K0").get<std::int64_t>()))
        found.push_back(births[l][static_cast<std::size_t>(row)]);
      report.equal(fmt::format("{}: births recalled in layer {}", name, l), found,
                   integer_list(c.at("recalled").at(l)));
    }
  }
}

}  // namespace mplus::golden
