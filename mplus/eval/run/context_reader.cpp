#include "mplus/eval/run/context_reader.h"

#include <algorithm>
#include <numeric>

#include "mplus/core/clock.h"
#include "mplus/core/error.h"
#include "mplus/engine/answer/text/answer_text.h"

namespace mplus::eval {
namespace {

engine::GenerateOptions greedily(std::int64_t max_tokens, const std::string& stop) {
  engine::GenerateOptions options;
  options.max_tokens = max_tokens;
  if (!stop.empty()) options.stop.push_back(stop);
  options.recall.rule = RecallRule::none;
  return options;
}

// The rows of each layer that the observers attend to most, among the `rows` behind the `front` first.
class MostAttended {
 public:
  MostAttended(std::int64_t layers, std::int64_t front, std::int64_t rows, std::int64_t keep)
      : front_(static_cast<std::size_t>(front)),
        rows_(static_cast<std::size_t>(rows)),
        keep_(static_cast<std::size_t>(std::min(keep, rows))),
        kept_(static_cast<std::size_t>(layers)) {}

  void look(std::int64_t layer, std::span<const float> weights, std::int64_t cache_rows) {
    std::vector<double> sum(rows_, 0.0);
    for (std::size_t at = 0; at < weights.size(); at += static_cast<std::size_t>(cache_rows))
      for (std::size_t r = 0; r < rows_; ++r) sum[r] += static_cast<double>(weights[at + r + front_]);
    std::vector<std::int64_t>& mine = kept_[static_cast<std::size_t>(layer)];
    mine.resize(rows_);
    std::iota(mine.begin(), mine.end(), std::int64_t{0});
    std::stable_sort(mine.begin(), mine.end(), [&](std::int64_t a, std::int64_t b) {
      return sum[static_cast<std::size_t>(a)] > sum[static_cast<std::size_t>(b)];
    });
    mine.resize(keep_);
    std::sort(mine.begin(), mine.end());
  }

  // With so many more that come behind those it chose from.
  std::vector<std::vector<std::int64_t>> and_behind(std::int64_t more) && {
    for (std::vector<std::int64_t>& mine : kept_)
      for (std::int64_t r = 0; r < more; ++r) mine.push_back(static_cast<std::int64_t>(rows_) + r);
    return std::move(kept_);
  }

 private:
  std::size_t front_, rows_, keep_;
  std::vector<std::vector<std::int64_t>> kept_;  // [L], rising
};

}  // namespace

ContextReader::ContextReader(engine::Engine& engine)
    : engine_(engine), read_(engine::Session::without_memory(engine)) {
  clear();
}

std::int64_t ContextReader::capacity() const { return engine_.weights().config.context; }

void ContextReader::clear() {
  read_ = engine::Session::without_memory(engine_);
  // A plain model may want its tokenizer's bos; one with memory has its own in every layer.
  if (engine_.has_memory() || !engine_.weights().config.add_bos || !engine_.has_tokenizer()) return;
  if (const auto bos = engine_.tokenizer().bos()) read({&*bos, 1});
}

void ContextReader::require_room(std::int64_t more) const {
  if (size() + more > capacity())
    fail(ErrorCode::out_of_capacity, "{} tokens and {} more: the model's context is {}", size(), more,
         capacity());
}

void ContextReader::read(std::span<const io::TokenId> ids) {
  require_room(std::ssize(ids));
  if (!ids.empty()) read_.read(ids);
}

ReadAnswer ContextReader::answer(std::span<const io::TokenId> prompt, std::int64_t max_tokens,
                                 const std::string& stop) {
  const auto start = Clock::now();
  require_room(std::ssize(prompt) + max_tokens);
  engine::Answer answer = read_.generate_ids(prompt, greedily(max_tokens, stop));
  const double seconds = seconds_since(start);
  return {std::move(answer.text), std::move(answer.tokens), seconds, seconds - answer.decode_seconds};
}

ReadAnswer ContextReader::answer_compressed(std::span<const io::TokenId> prompt, std::int64_t max_tokens,
                                            const std::string& stop, std::int64_t keep,
                                            std::int64_t observers) {
  const auto start = Clock::now();
  require_room(std::ssize(prompt) + max_tokens);
  MostAttended most(engine_.weights().config.layers, engine_.has_memory() ? 1 : 0, size(), keep);
  model::ReadTaps taps;
  taps.attention_queries = observers;
  taps.attention = [&](std::int64_t layer, std::span<const float> weights, std::int64_t, std::int64_t rows) {
    most.look(layer, weights, rows);
  };
  engine::Session cut = read_.fork();
  const io::TokenId first = cut.read(prompt, &taps);
  ReadAnswer answer;
  answer.first_seconds = seconds_since(start);
  cut.keep_read(std::move(most).and_behind(std::ssize(prompt)));
  if (max_tokens > 0 && !engine_.is_end(first)) {
    const engine::GenerateOptions options = greedily(max_tokens - 1, stop);
    engine::AnswerText text(engine_.has_tokenizer() ? &engine_.tokenizer() : nullptr, options, "");
    answer.tokens = cut.generate_ids({&first, 1}, options).tokens;
    answer.tokens.insert(answer.tokens.begin(), first);
    for (const io::TokenId id : answer.tokens)
      if (!text.push(id)) break;
    answer.text = text.finish();
  }
  answer.seconds = seconds_since(start);
  return answer;
}

std::vector<double> ContextReader::score(std::span<const io::TokenId> ids) {
  require_room(std::ssize(ids));
  engine::ScoreOptions options;
  options.read.recall.rule = RecallRule::none;
  return read_.score(ids, options).nll;
}

}  // namespace mplus::eval
