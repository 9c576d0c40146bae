#include "mplus/eval/run/context_reader.h"

#include <algorithm>
#include <numeric>

#include "mplus/core/clock.h"
#include "mplus/core/error.h"
#include "mplus/engine/answer/answer_text.h"
#include "mplus/engine/answer/sampler.h"

namespace mplus::eval {
namespace {

constexpr std::int64_t kBlock = 512;  // tokens read in one pass: bounds the buffers of a long text

}  // namespace

ContextReader::ContextReader(engine::Engine& engine)
    : engine_(engine),
      empty_(engine.layout(), 0),
      cache_(engine.weights().config.layers, engine.workspace().kv_shape()),
      rows_(engine.layout()) {
  clear();
}

std::int64_t ContextReader::capacity() const { return engine_.weights().config.context; }

void ContextReader::clear() {
  cache_.clear();
  rows_ = memory::WindowRows(engine_.layout());
  size_ = text_rows_ = 0;
  // A plain model may want its tokenizer's bos; one with memory has its own in every layer.
  if (engine_.has_memory() || !engine_.weights().config.add_bos || !engine_.has_tokenizer()) return;
  if (const auto bos = engine_.tokenizer().bos()) read({&*bos, 1});
}

model::ReadItem ContextReader::item(std::span<const io::TokenId> ids) {
  return {.tokens = ids,
          .cache = &cache_,
          .memory = engine_.has_memory() ? &empty_ : nullptr,
          .logits_from = static_cast<std::int64_t>(ids.size()) - 1};
}

void ContextReader::run(const model::ReadItem& item, const engine::TokenLogits& logits) {
  engine::Prefill block;
  block.item = item;
  block.logits = &logits;
  engine::Work work = block;
  engine_.runner().finish({&work, 1});
}

void ContextReader::run(const model::ReadItem& item, std::vector<float>& next) {
  run(item, [&](std::int64_t, std::span<const float> logits) { next.assign(logits.begin(), logits.end()); });
}

void ContextReader::require_room(std::int64_t more) const {
  if (size_ + more > capacity())
    fail(ErrorCode::out_of_capacity, "{} tokens and {} more: the model's context is {}", size_, more,
         capacity());
}

void ContextReader::read(std::span<const io::TokenId> ids) {
  require_room(static_cast<std::int64_t>(ids.size()));
  for (std::size_t at = 0; at < ids.size(); at += kBlock) {
    const auto block = ids.subspan(at, std::min<std::size_t>(kBlock, ids.size() - at));
    cache_.reserve(engine_.queue(), cache_.rows(0) + static_cast<std::int64_t>(block.size()) + kBlock);
    model::ReadItem read = item(block);
    read.logits_from = static_cast<std::int64_t>(block.size());  // none
    read.window = &rows_;
    run(read, engine::TokenLogits());
    size_ += static_cast<std::int64_t>(block.size());
  }
  text_rows_ = cache_.rows(0);
}

void ContextReader::rewind() {
  for (std::int64_t l = 0; l < engine_.weights().config.layers; ++l) cache_.layer(l).rows = text_rows_;
  if (text_rows_ == 0) cache_.clear();
}

void ContextReader::step(std::span<const io::TokenId> ids, std::vector<float>& next) { run(item(ids), next); }

ReadAnswer ContextReader::generate(std::vector<float>& next, std::int64_t max_tokens, const std::string& stop,
                                   const std::function<void(io::TokenId)>& read_token) {
  ReadAnswer answer;
  engine::GenerateOptions options;
  if (!stop.empty()) options.stop.push_back(stop);
  engine::AnswerText text(engine_.has_tokenizer() ? &engine_.tokenizer() : nullptr, options, "");
  for (std::int64_t n = 0; n < max_tokens; ++n) {
    const io::TokenId id = engine::greedy(next);
    if (engine_.is_end(id)) break;
    answer.tokens.push_back(id);
    if (!text.push(id) || n + 1 == max_tokens) break;
    read_token(id);
  }
  answer.text = text.finish();
  return answer;
}

ReadAnswer ContextReader::answer(std::span<const io::TokenId> prompt, std::int64_t max_tokens,
                                 const std::string& stop) {
  const auto start = std::chrono::steady_clock::now();
  require_room(static_cast<std::int64_t>(prompt.size()) + max_tokens);
  std::vector<float> next;
  step(prompt, next);
  const double first = seconds_since(start);
  ReadAnswer answer = generate(next, max_tokens, stop, [&](io::TokenId id) { step({&id, 1}, next); });
  rewind();
  answer.seconds = seconds_since(start);
  answer.first_seconds = first;
  return answer;
}

ReadAnswer ContextReader::answer_compressed(std::span<const io::TokenId> prompt, std::int64_t max_tokens,
                                            const std::string& stop, std::int64_t keep,
                                            std::int64_t observers) {
  const auto start = std::chrono::steady_clock::now();
  require_room(static_cast<std::int64_t>(prompt.size()) + max_tokens);
  const std::int64_t layers = engine_.weights().config.layers, front = text_rows_ - size_;
  std::vector<std::vector<std::int64_t>> kept(static_cast<std::size_t>(layers));  // text rows, ascending
  model::ReadTaps taps;
  taps.attention_queries = observers;
  taps.attention = [&](std::int64_t layer, std::span<const float> weights, std::int64_t, std::int64_t rows) {
    std::vector<double> sum(static_cast<std::size_t>(size_), 0.0);
    for (std::size_t at = 0; at < weights.size(); at += static_cast<std::size_t>(rows))
      for (std::size_t r = 0; r < sum.size(); ++r)
        sum[r] += static_cast<double>(weights[at + r + static_cast<std::size_t>(front)]);
    std::vector<std::int64_t>& mine = kept[static_cast<std::size_t>(layer)];
    mine.resize(sum.size());
    std::iota(mine.begin(), mine.end(), std::int64_t{0});
    std::stable_sort(mine.begin(), mine.end(), [&](std::int64_t a, std::int64_t b) {
      return sum[static_cast<std::size_t>(a)] > sum[static_cast<std::size_t>(b)];
    });
    mine.resize(std::min(mine.size(), static_cast<std::size_t>(keep)));
    std::sort(mine.begin(), mine.end());
  };
  std::vector<float> next;
  model::ReadItem read = item(prompt);
  read.taps = &taps;
  memory::WindowRows own(engine_.layout());  // the prompt's rows
  own.reserve(static_cast<std::int64_t>(prompt.size()));
  read.window = &own;
  run(read, next);
  const double first = seconds_since(start);
  rewind();
  memory::WindowRows small(engine_.layout());
  const std::size_t row = rows_.row_size_bytes();
  for (std::int64_t l = 0; l < layers; ++l) {
    std::vector<std::byte> k, v;
    for (std::int64_t r : kept[static_cast<std::size_t>(l)]) {
      const std::size_t at = static_cast<std::size_t>(r) * row;
      k.insert(k.end(), rows_.k(l) + at, rows_.k(l) + at + row);
      v.insert(v.end(), rows_.v(l) + at, rows_.v(l) + at + row);
    }
    const std::size_t prompt_bytes = prompt.size() * row;
    k.insert(k.end(), own.k(l), own.k(l) + prompt_bytes);
    v.insert(v.end(), own.v(l), own.v(l) + prompt_bytes);
    small.load(l, k, v);
  }
  small.commit(static_cast<std::int64_t>(kept[0].size() + prompt.size()));
  model::AttentionCache cache(layers, engine_.workspace().kv_shape());
  ReadAnswer answer = generate(next, max_tokens, stop, [&](io::TokenId id) {
    model::ReadItem one = item({&id, 1});
    one.cache = &cache;
    one.window = &small;
    run(one, next);
  });
  answer.seconds = seconds_since(start);
  answer.first_seconds = first;
  return answer;
}

std::vector<double> ContextReader::score(std::span<const io::TokenId> ids) {
  require_room(static_cast<std::int64_t>(ids.size()));
  std::vector<double> nll;
  for (std::size_t at = 0; at < ids.size(); at += kBlock) {
    const auto block = ids.subspan(at, std::min<std::size_t>(kBlock, ids.size() - at));
    model::ReadItem read = item(block);
    read.logits_from = 0;
    run(read, [&](std::int64_t token, std::span<const float> logits) {
      const std::size_t next = at + static_cast<std::size_t>(token) + 1;
      if (next < ids.size()) nll.push_back(engine::negative_log_likelihood(logits, ids[next]));
    });
  }
  rewind();
  return nll;
}

}  // namespace mplus::eval
