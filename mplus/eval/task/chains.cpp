// Questions over two facts that are told at least kApart chunks from each other, among many like them.
#include <algorithm>
#include <set>

#include "mplus/core/error.h"
#include "mplus/eval/data/order.h"
#include "mplus/eval/task/script.h"

namespace mplus::eval {
namespace {

constexpr std::int64_t kApart = 40;
constexpr std::int64_t kTogether = 42;  // chains whose first facts are all told before their second ones

class Chains final : public ScriptTask {
 protected:
  const char* name() const override { return "chains"; }
  std::vector<std::string> default_columns() const override { return {"closed-book", "bm25", "hybrid"}; }

  void build(engine::Engine& engine, Json& fields) override {
    if (options_.samples == 0) options_.samples = 252;
    if (options_.distances.empty()) options_.distances = {0, 625};
    fields["samples"] = options_.samples;
    fields["distances"] = options_.distances;
    const std::vector<Chain> all = read_chains(options_.data);
    if (std::ssize(all) < options_.samples)
      fail(ErrorCode::not_found, "{}: {} questions wanted, {} found", options_.data.string(),
           options_.samples, all.size());
    const Chunker chunker(engine.tokenizer(), engine.chunk_tokens());
    const std::int64_t before = 2 * engine.layout().N / engine.layout().K;
    const std::int64_t n = before + 2 * (options_.samples + kApart) + options_.distances.back();
    const Fillers fillers(options_.distractors, chunker, n, engine.layout().K);
    const Stream stream{chunker, fillers.list(n, options_.seed, 0)};
    for (std::int64_t i = 0; i < before; ++i) add_filler(stream);
    const auto order = random_order(all.size(), options_.seed, Choice::question);
    for (std::int64_t first = 0; first < options_.samples; first += kTogether) {
      std::vector<const Chain*> group;
      for (std::int64_t i = first; i < std::min<std::int64_t>(options_.samples, first + kTogether); ++i)
        group.push_back(&all[order[static_cast<std::size_t>(i)]]);
      add_group(group, stream);
    }
    end(stream);
  }

 private:
  struct Stream {
    const Chunker& chunker;
    std::vector<const FillerChunk*> fillers;  // as many as there are writes
  };

  const FillerChunk& filler(const Stream& stream) const { return *stream.fillers.at(script_.writes.size()); }

  void add_filler(const Stream& stream) {
    const FillerChunk& other = filler(stream);
    script_.writes.push_back({other.text, {}, other.origin});
  }

  // In the middle of other text; where it is not told, that alone.
  void add_fact(const std::string& fact, const std::string& id, const Stream& stream) {
    if (fact.empty()) return add_filler(stream);
    const std::string_view other = filler(stream).text;
    const std::size_t middle = std::min(other.find(' ', other.size() / 2), other.size());
    script_.writes.push_back(
        {fill_chunk(stream.chunker, other.substr(0, middle), fact, other.substr(middle), fact).text, {}, id});
  }

  // The one that has the answer is told last by every other chain.
  static std::size_t told_first(std::size_t place) { return place % 2; }

  void add_group(const std::vector<const Chain*>& group, const Stream& stream) {
    for (std::size_t i = 0; i < group.size(); ++i)
      add_fact(group[i]->told[told_first(i)], group[i]->question.id, stream);
    for (std::int64_t i = std::ssize(group); i <= kApart; ++i) add_filler(stream);
    for (std::size_t i = 0; i < group.size(); ++i) {
      ScriptAsk ask{.question = group[i]->question, .gold = std::ssize(script_.writes)};
      add_fact(group[i]->told[1 - told_first(i)], group[i]->question.id, stream);
      for (const std::int64_t distance : options_.distances) ask.points.push_back(ask.gold + 1 + distance);
      script_.asks.push_back(std::move(ask));
    }
  }

  void end(const Stream& stream) {
    for (std::int64_t i = 0; i < options_.distances.back(); ++i) add_filler(stream);
    std::set<std::int64_t> points;
    for (const ScriptAsk& ask : script_.asks) points.insert(ask.points.begin(), ask.points.end());
    script_.points.assign(points.begin(), points.end());
    scripts_.push_back(std::move(script_));
  }

  Script script_;
};

}  // namespace

std::unique_ptr<Task> make_chains() { return std::make_unique<Chains>(); }

}  // namespace mplus::eval
