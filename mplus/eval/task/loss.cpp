#include "mplus/eval/task/loss.h"

#include <algorithm>
#include <numeric>

#include "mplus/core/error.h"
#include "mplus/eval/data/chunks.h"
#include "mplus/eval/data/samples.h"
#include "mplus/eval/run/asker.h"
#include "mplus/eval/task/sample.h"

namespace mplus::eval {
namespace {

// The first tokens of a scored chunk ask what to recall, and are not counted: what is counted cannot have
// helped to find itself. The same tokens are counted in every column.
std::int64_t scouts(std::int64_t C) { return std::min<std::int64_t>(32, C / 2); }

double mean_from(const std::vector<double>& nll, std::int64_t first_token) {  // nll[i] is of token i + 1
  const auto from = nll.begin() + std::max<std::int64_t>(0, first_token - 1);
  return std::accumulate(from, nll.end(), 0.0) / static_cast<double>(nll.end() - from);
}

std::vector<io::TokenId> tokens_of_middle(const io::Tokenizer& tokenizer, const std::string& text,
                                          std::int64_t wanted) {
  const std::size_t bytes = static_cast<std::size_t>(wanted) * 8;
  std::size_t begin =
      text.size() > bytes ? text.find(' ', std::min(text.size() / 20, text.size() - bytes)) : 0;
  if (begin == std::string::npos) begin = 0;
  return tokenizer.encode(std::string_view(text).substr(begin, bytes));
}

// Writes each text chunk by chunk; after some chunks the next one is scored, and at the last point earlier
// ones again.
class LmLoss final : public Task {
 public:
  RunIdentity prepare(TaskRun& run) override {
    require_memory(run.engine, "lm-loss");
    options_ = run.options;
    columns_ = task_columns(options_, {"closed-book", "window", "full", "stm", "mplus"});
    if (options_.distances.empty()) options_.distances = {1, 4, 8, 16, 32};
    if (options_.lengths.empty()) options_.lengths = {2048};
    std::vector<Text> texts = read_texts(options_.data);
    if (options_.samples > 0 && options_.samples < static_cast<std::int64_t>(texts.size()))
      texts.resize(static_cast<std::size_t>(options_.samples));
    const std::int64_t C = run.engine.chunk_tokens(), chunks = options_.distances.back() + 1;
    if (options_.distances.front() < 1)
      fail(ErrorCode::invalid_argument, "lm-loss: --distances are chunks written before scoring, 1 or more");
    if (options_.lengths.back() + C > run.engine.weights().config.context)
      fail(ErrorCode::out_of_capacity,
           "lm-loss: --lengths: {} tokens of context and a chunk of {} do not fit the model's context of {}",
           options_.lengths.back(), C, run.engine.weights().config.context);
    for (Text& text : texts) {
      Book book{text.title.empty() ? fmt::format("line {}", text.line) : text.title,
                tokens_of_middle(run.engine.tokenizer(), text.text, chunks * C)};
      if (static_cast<std::int64_t>(book.ids.size()) < chunks * C)
        fail(ErrorCode::not_found,
             "{}:{}: {} tokens are needed, found {}; use smaller --distances or longer texts",
             options_.data.string(), text.line, chunks * C, book.ids.size());
      books_.push_back(std::move(book));
    }
    Json fields{{"task", "lm-loss"}, {"data", file_identity(options_.data)}, {"texts", books_.size()}};
    fields["distances"] = options_.distances;
    fields["lengths"] = options_.lengths;
    fields["scouts"] = scouts(run.engine.chunk_tokens());
    fields["seed"] = options_.seed;
    fields["model"] = model_identity(run.engine);
    fields["ids"] = Json::array();
    for (const Book& book : books_) fields["ids"].push_back(book.id);
    return {fmt::format("lm-loss-{}", data_stem(options_.data)), fields};
  }

  bool work(TaskRun& run, RunLog& log) override {
    run_ = &run;
    log_ = &log;
    asker_.emplace(run.engine, nullptr, 1);
    if (wants_base(columns_)) base_.emplace(run.base());
    delta_.emplace(run.engine);
    const auto per_book = options_.distances.back() +
                          static_cast<std::int64_t>(2 * options_.distances.size() * columns_.size());
    steps_.emplace(run.progress, static_cast<std::int64_t>(books_.size()) * per_book);
    for (const Book& book : books_)
      if (!run_book(book)) return false;
    return steps_->go("done");
  }

 private:
  struct Book {
    std::string id;
    std::vector<io::TokenId> ids;
    std::span<const io::TokenId> part(std::int64_t begin, std::int64_t end) const {
      return std::span(ids).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
    }
  };

  static std::string key(const Book& book, std::string_view column, std::int64_t written, std::int64_t chunk,
                         std::int64_t context) {
    return fmt::format("{}/{}/{}/{}/{}", book.id, column, written, chunk, context);
  }

  std::vector<std::int64_t> contexts(const Column& column, std::int64_t written) const {
    const std::int64_t before = written * run_->engine.chunk_tokens();
    if (column.sees == Sees::window) return {std::min(before, run_->engine.window_tokens())};
    if (column.sees != Sees::full) return {0};
    std::vector<std::int64_t> result;
    for (std::int64_t length : options_.lengths)
      if (result.empty() || result.back() < before) result.push_back(std::min(length, before));
    return result;
  }

  bool run_book(const Book& book) {
    engine::Session session(run_->engine, options_.seed);
    WrittenText text;
    Scene scene{&session, &text, std::nullopt};
    asker_->begin_scene(scene);
    for (std::int64_t point : options_.distances) {
      while (static_cast<std::int64_t>(text.updates.size()) < point) {
        if (!steps_->go(fmt::format("writing {}", book.id))) return false;
        const auto n = static_cast<std::int64_t>(text.updates.size()), C = run_->engine.chunk_tokens();
        const std::int64_t before = session.memory().updates();
        session.remember_ids(book.part(n * C, (n + 1) * C), book.id);
        text.updates.push_back({before});
        MPLUS_CHECK(session.memory().updates() == before + 1, "{} updates",
                    session.memory().updates() - before);
        steps_->did(1);
      }
      if (!score_chunk(book, scene, point, point)) return false;
      if (point == options_.distances.back())  // what was written is told again
        for (std::int64_t earlier : options_.distances)
          if (!score_chunk(book, scene, point, point - earlier)) return false;
    }
    return true;
  }

  bool score_chunk(const Book& book, Scene& scene, std::int64_t written, std::int64_t chunk) {
    const std::int64_t C = run_->engine.chunk_tokens(), asking = scouts(C);
    const auto ids = book.part(chunk * C, (chunk + 1) * C);
    for (const Column& column : columns_) {
      for (std::int64_t context : contexts(column, written)) {
        const std::string name = key(book, column.name, written, chunk, context);
        if (log_->has(name)) continue;
        if (!steps_->go(fmt::format("scoring {}", column.name))) return false;
        Json sample{{"id", book.id}, {"column", column.name}, {"written", written}};
        if (context > 0) sample["context"] = context;
        sample["repeat"] = chunk < written;
        if (chunk < written) sample["distance"] = written - 1 - chunk;
        if (column.sees == Sees::memory) {
          Observation seen;
          if (chunk < written) seen.gold = scene.text->updates[static_cast<std::size_t>(chunk)];
          engine::ScoreOptions options{
              .scouts_end = asking,
              .read = asker_->read_options(
                  column, run_->engine.tokenizer().decode(ids.first(static_cast<std::size_t>(asking))),
                  ReadOver::everything, seen)};
          sample["nll"] = mean_from(scene.session->score(ids, options).nll, asking);
          if (!seen.gold.empty()) sample["recalled"] = seen.recalled_mean();
        } else {
          ContextReader& reader = column.base_model() ? *base_ : *delta_;
          reader.clear();
          if (context > 0) reader.read(book.part(written * C - context, written * C));
          sample["nll"] = mean_from(reader.score(ids), asking);
        }
        log_->add(name, sample);
      }
      steps_->did(1);
    }
    return true;
  }

  TaskOptions options_;
  std::vector<Column> columns_;
  std::vector<Book> books_;
  TaskRun* run_ = nullptr;
  RunLog* log_ = nullptr;
  std::optional<Asker> asker_;
  std::optional<ContextReader> base_, delta_;
  std::optional<Steps> steps_;
};

// The untouched base beside the trained read adapter, both without memory and context: the price of the
// memory.
class Base final : public Task {
 public:
  RunIdentity prepare(TaskRun& run) override {
    require_memory(run.engine, "base");
    options_ = run.options;
    if (options_.samples == 0) options_.samples = 48;
    const std::int64_t length = options_.lengths.empty() ? 512 : options_.lengths.back();
    if (length > run.engine.weights().config.context)
      fail(ErrorCode::out_of_capacity, "base: --lengths: {} tokens do not fit the model's context of {}",
           length, run.engine.weights().config.context);
    const std::vector<Text> texts = read_texts(options_.data);
    const auto each = (options_.samples + static_cast<std::int64_t>(texts.size()) - 1) /
                      static_cast<std::int64_t>(texts.size());
    for (const Text& text : texts) {
      const auto ids = tokens_of_middle(run.engine.tokenizer(), text.text, each * length);
      for (std::int64_t n = 0; n < each && static_cast<std::int64_t>(pieces_.size()) < options_.samples; ++n)
        if (static_cast<std::int64_t>(ids.size()) >= (n + 1) * length)
          pieces_.push_back({fmt::format("{}#{}", text.line, n),
                             {ids.begin() + n * length, ids.begin() + (n + 1) * length}});
    }
    if (pieces_.empty())
      fail(ErrorCode::not_found, "{}: no text of {} tokens", options_.data.string(), length);
    Json fields{{"task", "base"},
                {"data", file_identity(options_.data)},
                {"length", length},
                {"samples", pieces_.size()}};
    fields["seed"] = options_.seed;
    fields["model"] = model_identity(run.engine);
    fields["ids"] = Json::array();
    for (const TextPiece& piece : pieces_) fields["ids"].push_back(piece.id);
    return {fmt::format("base-{}", data_stem(options_.data)), fields};
  }

  bool work(TaskRun& run, RunLog& log) override {
    ContextReader base(run.base()), delta(run.engine);
    Steps steps(run.progress, static_cast<std::int64_t>(2 * pieces_.size()));
    for (const TextPiece& piece : pieces_)
      for (const auto& [column, reader] : {std::pair{"base", &base}, std::pair{"delta", &delta}}) {
        if (!steps.go(column)) return false;
        const std::string key = fmt::format("{}/{}", piece.id, column);
        if (!log.has(key)) {
          reader->clear();
          log.add(key,
                  {{"id", piece.id}, {"column", column}, {"nll", mean_from(reader->score(piece.ids), 0)}});
        }
        steps.did(1);
      }
    return true;
  }

 private:
  struct TextPiece {
    std::string id;
    std::vector<io::TokenId> ids;
  };
  TaskOptions options_;
  std::vector<TextPiece> pieces_;
};

}  // namespace

std::unique_ptr<Task> make_lm_loss() { return std::make_unique<LmLoss>(); }
std::unique_ptr<Task> make_base() { return std::make_unique<Base>(); }

}  // namespace mplus::eval
