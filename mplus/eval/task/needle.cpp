// A made-up sentence in a long text of essays, at some depth: is it found? (docs/evaluation.md, "Needle")
#include <algorithm>
#include <array>

#include "mplus/core/error.h"
#include "mplus/eval/data/order.h"
#include "mplus/eval/metric/words.h"
#include "mplus/eval/task/script.h"

namespace mplus::eval {
namespace {

constexpr std::array kCities{"Osaka",   "Lima",   "Turin",  "Bergen", "Accra",   "Perth",  "Quito", "Dublin",
                             "Hanoi",   "Izmir",  "Malmo",  "Porto",  "Cusco",   "Riga",   "Leeds", "Denver",
                             "Nairobi", "Galway", "Verona", "Zagreb", "Tbilisi", "Havana", "Dakar", "Oslo"};

struct Needle {
  std::string city, number;
  std::string sentence() const { return fmt::format("The special magic {} number is {}.", city, number); }
};

class NeedleTask final : public ScriptTask {
 protected:
  const char* name() const override { return "needle"; }
  std::vector<std::string> default_columns() const override { return {"full", "stm", "mplus"}; }
  std::int64_t default_max_tokens() const override {
    return 32;
  }  // the base model answers in whole sentences

  void build(engine::Engine& engine, Json& fields) override {
    if (options_.lengths.empty()) options_.lengths = {4000, 16000};
    if (options_.depths.empty()) options_.depths = {0, 25, 50, 75, 100};
    if (options_.samples == 0) options_.samples = 1;
    fields["lengths"] = options_.lengths;
    fields["depths"] = options_.depths;
    fields["samples"] = options_.samples;
    // Several keys in one text, or a text for each.
    const bool together = options_.protocol == Protocol::stream;
    fields["protocol"] = together ? "stream" : "separate";
    if (options_.depths.back() > 100)
      fail(ErrorCode::invalid_argument, "--depths: expected percentages up to 100, found {}",
           options_.depths.back());
    const Chunker chunker(engine.tokenizer(), engine.chunk_tokens());
    hay_ = haystack(chunker, (options_.lengths.back() + chunker.size() - 1) / chunker.size());
    std::uint32_t number = 0;
    for (std::int64_t round = 0; round < options_.samples; ++round)
      for (std::int64_t length : options_.lengths) {
        std::vector<std::pair<std::int64_t, Needle>> needles;
        for (std::int64_t depth : options_.depths) needles.emplace_back(depth, draw(number++));
        if (together) {
          scripts_.push_back(script(chunker, length, needles, round));
        } else {
          for (const auto& needle : needles) scripts_.push_back(script(chunker, length, {needle}, round));
        }
      }
  }

 private:
  // Essays in order, again from the start where they are too short.
  std::vector<ScriptWrite> haystack(const Chunker& chunker, std::int64_t chunks) const {
    std::string text;
    for (const Text& essay : read_texts(options_.data)) text += essay.text + "\n\n";
    std::vector<ScriptWrite> hay;
    std::string_view rest = text;
    while (static_cast<std::int64_t>(hay.size()) < chunks) {
      const Chunker::Beginning piece = chunker.first(rest);
      if (piece.bytes == rest.size() || piece.tokens < chunker.size() / 2) {
        if (hay.empty())
          fail(ErrorCode::not_found, "{}: less text than one chunk of {} tokens", options_.data.string(),
               chunker.size());
        rest = text;
        continue;
      }
      hay.push_back({std::string(rest.substr(0, piece.bytes)), {}, options_.data.filename().string()});
      rest.remove_prefix(piece.bytes);
    }
    return hay;
  }

  Needle draw(std::uint32_t number) const {
    const std::uint64_t bits = random_choice(options_.seed, Choice::needle, number, 0, 0);
    return {kCities[(number + options_.seed) % kCities.size()], std::to_string(10000 + bits % 90000)};
  }

  Script script(const Chunker& chunker, std::int64_t length,
                const std::vector<std::pair<std::int64_t, Needle>>& needles, std::int64_t round) const {
    Script script;
    const std::int64_t chunks = std::max<std::int64_t>(1, length / chunker.size());
    script.writes.assign(hay_.begin(), hay_.begin() + chunks);
    for (const auto& [depth, needle] : needles) {
      const std::int64_t at = std::min(chunks - 1, depth * chunks / 100);
      std::string& text = script.writes[static_cast<std::size_t>(at)].text;
      const std::size_t middle = text.find(' ', text.size() / 2);
      text.insert(middle == std::string::npos ? 0 : middle, fmt::format(" {}", needle.sentence()));
      text.resize(chunker.first(text).bytes);
      if (text.find(needle.sentence()) == std::string::npos)
        fail(ErrorCode::invalid_argument, "needle: chunks of {} tokens cannot hold \"{}\" in their middle",
             chunker.size(), needle.sentence());
      Question q;
      q.id = fmt::format("{}-{}-{}-{}", length, depth, needle.city, round);
      q.question = fmt::format("What is the special magic {} number?", needle.city);
      q.answers = {needle.number};
      script.asks.push_back(
          {.question = std::move(q), .gold = at, .extra = {{"length", length}, {"depth", depth}}});
    }
    for (const auto& [depth, needle] : needles) {  // no other place may hold the number
      std::int64_t places = 0;
      for (const ScriptWrite& write : script.writes)
        places += has_words(plain_words(write.text), needle.number);
      if (places != 1)
        fail(ErrorCode::corrupt, "leak: {} stands in {} chunks of the haystack; use another --seed",
             needle.number, places);
    }
    script.points = {chunks};
    return script;
  }

  std::vector<ScriptWrite> hay_;
};

}  // namespace

std::unique_ptr<Task> make_needle() { return std::make_unique<NeedleTask>(); }

}  // namespace mplus::eval
