#include "mplus/train/evaluation/evaluate.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <span>

#include "mplus/core/error.h"
#include "mplus/train/evaluation/attempts.h"
#include "mplus/train/evaluation/batch.h"
#include "mplus/train/evaluation/planned_streams.h"
#include "mplus/train/gpu/upload.h"
#include "mplus/train/model/recall.h"

namespace mplus::train {
namespace {

constexpr std::ptrdiff_t kSearched = 32;  // questions whose scores are held at a time

std::string key(std::size_t memory, const std::string& column, std::int64_t written, const std::string& id) {
  return fmt::format("{}/{}/{}/{}", memory, column, written, id);
}

// One way of keeping long-term rows: who reads them so, and who answers.
struct Keeping {
  RowFormat rows;
  const Reader& reader;
  AnswerQueue& queue;
};

bool keeps_small(const std::vector<Keeping>& keepings) {
  return std::any_of(keepings.begin(), keepings.end(),
                     [](const Keeping& keeping) { return keeping.rows != RowFormat::plain; });
}

// Memories that are written side by side, once for all ways of keeping their rows: writing does not see them.
class StreamGroup {
 public:
  StreamGroup(const Model& model, const EvaluationPlan& plan, std::size_t first, std::size_t count,
              const std::vector<std::string>& columns, const std::vector<Keeping>& keepings)
      : model_(model),
        columns_(columns),
        first_(first),
        memories_(std::span(plan.memories).subspan(first, count)),
        plan_(plan),
        keepings_(keepings),
        streams_(model, memories_, keeps_small(keepings)) {
    for (std::size_t m = 0; m < count; ++m)
      for (const PlannedAsk& ask : memories_[m].asks)
        due_[ask.updates].push_back({static_cast<std::int64_t>(m), first + m, &memories_[m], &ask});
  }

  std::int64_t updates() const { return due_.empty() ? 0 : due_.rbegin()->first; }

  // Columns that depend on nothing that is written.
  void ask_fixed() {
    for (std::size_t m = 0; m < memories_.size(); ++m) {
      std::vector<Waiting> plain, behind_text;
      for (const PlannedQuestion& question : memories_[m].questions) {
        const std::size_t from = question.scored_from;
        if (wants("closed-book"))
          plain.push_back({question.prompt, from, {{"key", key(first_ + m, "closed-book", 0, question.id)}}});
        if (wants("context") && !question.context.empty())
          behind_text.push_back(
              {question.context,
               question.goes_on() ? question.context.size() - question.prompt.size() + from : 0,
               {{"key", key(first_ + m, "context", 0, question.id)}}});
      }
      for (std::vector<Waiting>* questions : {&plain, &behind_text}) {
        if (questions->empty()) continue;
        for (const Keeping& keeping : keepings_)
          keeping.queue.add(keeping.reader.plain_fronts(std::ssize(*questions)), *questions);
      }
    }
  }

  void write(std::int64_t u) { streams_.write(u); }

  void ask(std::int64_t u) {
    const auto at = due_.find(u);
    if (at == due_.end() || !asks_memory()) return;
    const ProjectedSlots slots = keepings_.front().reader.slots(memory());
    std::vector<Due>& due = at->second;
    const auto asks =
        std::stable_partition(due.begin(), due.end(), [](const Due& d) { return d.question().goes_on(); });
    const auto ask_all = [&](auto begin, auto end, ReadOver over) {
      while (begin != end) {
        const auto next = begin + std::min(end - begin, kSearched);
        ask_batch(make_batch({begin, next}, memory().updates(), device()), slots, over);
        begin = next;
      }
    };
    ask_all(due.begin(), asks, ReadOver::everything);
    ask_all(asks, due.end(), model_.memory.recall.read_over);
  }

 private:
  torch::Device device() const { return model_.device(); }
  const StreamMemory& memory() const { return streams_.memory(); }
  bool wants(std::string_view column) const {
    return std::find(columns_.begin(), columns_.end(), column) != columns_.end();
  }
  bool asks_memory() const {
    return std::any_of(columns_.begin(), columns_.end(),
                       [](const std::string& c) { return c != "closed-book" && c != "context"; });
  }
  // Questions that are asked together, and what is known of all their chunks.
  struct AskedBatch {
    const Keeping& keeping;
    const Batch& batch;
    const ProjectedSlots& slots;
    ReadOver over;
    const ChunkSearch& search;
    Shares shares;
  };
  // Chunks in order [Q, n], and how many of them may be recalled [Q].
  struct ChunkOrder {
    Tensor order, chosen, behind, ranking;
    bool by_score = true;  // of the last chunk the rows that score best, else the oldest
  };

  void add_attempts(const AskedBatch& asked, const std::string& column, const ChunkOrder& chunks) {
    const Batch& b = asked.batch;
    std::vector<std::int64_t> given;
    for (const Due& due : b.due)
      given.push_back(column == "oracle-recall" ? std::ssize(due.question().gold) : 0);
    const Attempts attempts =
        attempts_of(chunks.order, chunks.chosen, chunks.behind, given, model_.memory.recall.attempts);
    for (std::size_t i = 0; i < attempts.most; ++i) {
      const TakenRows taken = asked.search.take(attempts.at(i, device()), torch::ones_like(chunks.chosen),
                                                chunks.by_score, ChunkSearch::From::everything);
      add(asked, column, asked.keeping.reader.chosen_fronts(memory(), b.streams, taken), chunks.ranking, i,
          &attempts);
    }
  }

  void add_by_order(const AskedBatch& asked, const std::string& column, const ChunkOrder& chunks) {
    if (!wants(column)) return;
    using From = ChunkSearch::From;
    if (asked.over == ReadOver::attempts && column != "reread" && asked.search.has_choice())
      return add_attempts(asked, column, chunks);
    const bool alone = asked.over != ReadOver::everything && memory().stored() > 0;
    const Batch& b = asked.batch;
    const TakenRows taken = asked.search.take(chunks.order, chunks.chosen, chunks.by_score,
                                              alone ? From::everything : From::store);
    const auto rows = [&](std::int64_t l, const Tensor&) { return taken[static_cast<std::size_t>(l)]; };
    const Reader& reader = asked.keeping.reader;
    add(asked, column,
        alone && !taken.empty() ? reader.chosen_fronts(memory(), b.streams, taken)
                                : reader.recall_fronts(memory(), asked.slots, b.streams, rows, nullptr),
        chunks.ranking);
  }

  void add_by_rows(const AskedBatch& asked, const std::string& column, const ChooseRows& choose,
                   const Windows* windows) {
    if (!wants(column)) return;
    const Tensor& streams = asked.batch.streams;
    add(asked, column, asked.keeping.reader.recall_fronts(memory(), asked.slots, streams, choose, windows),
        {});
  }

  void ask_batch(const Batch& b, const ProjectedSlots& slots, ReadOver over) {
    const Reader& reader = keepings_.front().reader;
    const Fronts short_term = reader.memory_fronts(slots, b.streams);
    std::vector<Tensor> normed;
    reader.read(short_term, b.asking.tokens, &normed);
    for (const bool small : {false, true}) {  // small rows of any kind have the same keys
      std::optional<ChunkSearch> search;
      for (const Keeping& keeping : keepings_) {
        if ((keeping.rows != RowFormat::plain) != small) continue;
        if (!search) search.emplace(model_, memory(), normed, b.askers, b.streams, keeping.rows);
        const AskedBatch asked{keeping, b, slots, over, *search, right_shares(model_, b, *search)};
        if (wants("stm")) add(asked, "stm", {short_term, {}}, {});
        ask_columns(asked);
      }
    }
  }

  void ask_columns(const AskedBatch& asked) {
    const Batch& b = asked.batch;
    const ChunkSearch& search = asked.search;
    const double margin = model_.memory.recall.margin;
    const auto by_votes = [&](const std::string& column, const ChunkVotes& votes, const Tensor& ranking,
                              bool by_score) {
      add_by_order(asked, column,
                   {votes.order(), votes.leaders(margin).sum(1), votes.behind(), ranking, by_score});
    };
    const ChunkVotes& votes = search.competing();
    const ChunkVotes& all = search.everything();
    const auto words_alone = [&](const ChunkVotes& v) {
      return with_words({torch::zeros_like(v.votes), v.held}, b.words);
    };
    const Tensor total = with_words(all, b.words).order();
    const ChunkVotes both = with_words(votes, b.words);
    if (model_.memory.recall.rule == RecallRule::consensus) by_votes("mplus", votes, all.order(), true);
    else add_by_rows(asked, "mplus", per_layer(asked), &b.asking);
    by_votes("words-recall", words_alone(votes), words_alone(all).order(), false);
    by_votes("hybrid", both, total, true);
    by_votes("reread", both, total, true);
    add_by_order(asked, "oracle-recall",
                 {ChunkVotes{votes.votes + b.gold, votes.held}.order(),
                  votes.leaders(margin).logical_or(b.gold > 0).sum(1),
                  votes.behind(),
                  {}});
    add_by_rows(asked, "per-layer", per_layer(asked), &b.asking);
    const auto drawn = [&](std::int64_t, const Tensor&) { return ChosenRows{random_rows(b)}; };
    add_by_rows(asked, "random-recall", drawn, nullptr);
  }

  // The paper's rule: each layer the rows its own queries score best.
  ChooseRows per_layer(const AskedBatch& asked) const {
    return [&](std::int64_t l, const Tensor& normed) {
      const Batch& b = asked.batch;
      const Tensor queries = project(model_.query, l, normed).to(torch::kFloat32);
      const Tensor scores = stored_scores(memory(), l, asked.keeping.rows, queries, b.askers, b.streams);
      const Tensor births = memory().long_term(l).birth.view().index_select(0, b.streams);
      return ChosenRows{best_rows(scores, births, model_.memory.K0)};
    };
  }

  // By torch's own generator: chance, but not the engine's.
  Tensor random_rows(const Batch& b) const {
    const Tensor lots = torch::rand({std::ssize(b.due), memory().stored()}, torch::TensorOptions(device()));
    return std::get<1>(lots.topk(std::min(model_.memory.K0, memory().stored()), -1));
  }

  // With `attempts` it is one of several reads, of those questions that have so many.
  void add(const AskedBatch& asked, const std::string& column, const RecallFronts& read,
           const Tensor& ranking, std::size_t attempt = 0, const Attempts* attempts = nullptr) {
    const Batch& b = asked.batch;
    const Shares& shares = asked.shares;
    const Fronts& fronts = read.fronts;
    const Tensor recalled =
        read.recalled_births.empty() ? Tensor() : recalled_shares(model_, b, read.recalled_births);
    const Tensor order = ranking.defined() ? ranking.to(torch::kCPU).contiguous() : Tensor();
    std::vector<Waiting> waiting;
    std::vector<std::int64_t> rows;  // of the fronts
    for (std::int64_t q = 0; q < std::ssize(b.due); ++q) {
      const Due& due = b.due[static_cast<std::size_t>(q)];
      const PlannedQuestion& question = due.question();
      if (column == "oracle-recall" && question.gold.empty()) continue;  // nothing is right
      if (column == "reread" && question.goes_on()) continue;
      const std::size_t of = attempts ? attempts->chunks[static_cast<std::size_t>(q)].size() : 1;
      if (attempt >= of) continue;
      std::span<const std::int64_t> best;
      if (order.defined())
        best = {order.data_ptr<std::int64_t>() + q * order.size(1), static_cast<std::size_t>(order.size(1))};
      AnswerJson answer{{"key", key(due.memory, column, due.ask->written, question.id)}};
      if (!question.gold.empty()) {
        answer["short_term"] = shares.short_term[q].item<double>();
        answer["long_term"] = shares.long_term[q].item<double>();
        std::vector<double> layers(static_cast<std::size_t>(model_.memory_layers()), 0.0);
        for (std::size_t l = 0; l < layers.size() && recalled.defined(); ++l)
          layers[l] = recalled[q][static_cast<std::int64_t>(l)].item<double>();
        answer["recalled"] = layers;
        if (!best.empty() && column != "reread") answer["rank"] = rank_of(question.gold, best);
      }
      Ids window = question.prompt;
      if (column == "reread") window = with_text(*due.planned, best, question);
      Waiting read_once{std::move(window), question.scored_from, std::move(answer)};
      if (attempts)
        read_once.attempt = {static_cast<std::int64_t>(attempt), static_cast<std::int64_t>(of),
                             attempts->behind[static_cast<std::size_t>(q)][attempt]};
      waiting.push_back(std::move(read_once));
      rows.push_back(q);
    }
    if (waiting.empty()) return;
    AnswerQueue& queue = asked.keeping.queue;
    if (rows.size() == b.due.size()) return queue.add(fronts, std::move(waiting));
    queue.add(select(fronts, upload(rows, {std::ssize(rows)}, torch::kInt64, device())), std::move(waiting));
  }

  // The best chunk's text in front of what asks, if the window has room for it.
  Ids with_text(const PlannedMemory& memory, std::span<const std::int64_t> best,
                const PlannedQuestion& question) const {
    Ids window = question.prompt;
    const std::int64_t room =
        plan_.window - std::ssize(window) - std::min(plan_.max_tokens, plan_.window / 4);
    for (const std::int64_t chunk : best) {
      const Ids& text = memory.again[static_cast<std::size_t>(chunk)];
      if (text.empty() || std::ssize(text) > room) continue;
      window.insert(window.begin() + static_cast<std::ptrdiff_t>(question.asks_from), text.begin(),
                    text.end());
      break;
    }
    return window;
  }

  const Model& model_;
  const std::vector<std::string>& columns_;
  std::size_t first_;
  std::span<const PlannedMemory> memories_;
  const EvaluationPlan& plan_;
  const std::vector<Keeping>& keepings_;
  PlannedStreams streams_;
  std::map<std::int64_t, std::vector<Due>> due_;  // by updates done
};

}  // namespace

const std::vector<std::string>& evaluation_columns() {
  static const std::vector<std::string> kColumns{"closed-book",   "context",      "stm",    "mplus",
                                                 "per-layer",     "words-recall", "hybrid", "reread",
                                                 "random-recall", "oracle-recall"};
  return kColumns;
}

void evaluate(const Model& model, const EvaluationPlan& plan, const io::Tokenizer& tokenizer,
              const EvaluateOptions& options, std::vector<AnswerFile>& answers) {
  const torch::NoGradGuard constant;
  at::manual_seed(0);  // of random recall
  if (model.memory.K != plan.K || !model.memory.has_retriever)
    fail(ErrorCode::model_mismatch, "the plan is for K = {} and a retriever, the model has K = {}", plan.K,
         model.memory.K);
  const std::vector<std::string>& columns = options.columns.empty() ? evaluation_columns() : options.columns;
  const std::int64_t at_once = options.at_once > 0 ? options.at_once : model.device().is_cuda() ? 192 : 16;
  MPLUS_CHECK(!answers.empty() && answers.size() == options.rows.size(), "{} files for {} kinds of rows",
              answers.size(), options.rows.size());
  std::deque<Reader> readers{Reader(model)};
  std::deque<AnswerQueue> queues;
  std::vector<Keeping> keepings;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const Reader& reader = readers.emplace_back(readers.front().with_rows(options.rows[i]));
    queues.emplace_back(reader, plan, tokenizer, static_cast<std::size_t>(at_once), answers[i]);
    keepings.push_back({options.rows[i], reader, queues.back()});
  }
  const auto start = std::chrono::steady_clock::now();
  const auto share = [&](std::int64_t part) {
    return plan.memories.size() * static_cast<std::size_t>(part) / static_cast<std::size_t>(options.parts);
  };
  const std::size_t end = share(options.part);
  for (std::size_t first = share(options.part - 1); first < end;
       first += static_cast<std::size_t>(options.streams)) {
    const std::size_t count = std::min(end - first, static_cast<std::size_t>(options.streams));
    StreamGroup group(model, plan, first, count, columns, keepings);
    group.ask_fixed();
    for (std::int64_t u = 0; u < group.updates(); ++u) {
      if (options.stop && options.stop->load())
        fail(ErrorCode::cancelled, "stopped behind {} answers", answers.front().answers());
      group.write(u);
      group.ask(u + 1);
      if ((u + 1) % 50 == 0)
        fmt::print(stderr, "{}: memories {} to {} of {}, update {} of {}, {} answers, {:.0f} s\n", plan.name,
                   first + 1, first + count, plan.memories.size(), u + 1, group.updates(),
                   answers.front().answers(),
                   std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    for (AnswerQueue& queue : queues) queue.finish();
  }
}

}  // namespace mplus::train
