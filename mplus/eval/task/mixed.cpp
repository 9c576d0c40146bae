// Passages of several sets in one stream: made-up facts, questions on articles, passages of books to go on
// with, conversations, facts told twice; among each other and among other text. Each is asked at exact
// distances from its own chunk.
#include <algorithm>
#include <map>
#include <set>

#include "mplus/core/error.h"
#include "mplus/eval/data/order.h"
#include "mplus/eval/metric/words.h"
#include "mplus/eval/task/retention/retention_plan.h"
#include "mplus/eval/task/script.h"
#include "mplus/io/text/json_lines.h"

namespace mplus::eval {
namespace {

constexpr std::int64_t kLeastOfASet = 60;     // passages of a set in a stream, if there are that many
constexpr std::int64_t kAroundPassages = 64;  // chunks of other text in which a short passage stands

// Of a passage that is gone on with: where the tokens begin that are given, how many these are, and how many
// are scored behind them. 100, 24 and 104 of 256; less of shorter chunks.
struct GoingOn {
  std::int64_t at, given, then;
  explicit GoingOn(std::int64_t C)
      : at(100 * C / 256), given(std::clamp<std::int64_t>(24 * C / 256, 4, 24)), then(104 * C / 256) {}
  std::int64_t end() const { return at + given + then; }
};

enum class DataKind { questions, texts, conversations, twice_told };

DataKind kind_of(const std::filesystem::path& file) {
  io::JsonLines lines(file);
  io::Json line;
  if (!lines.next(line)) fail(ErrorCode::corrupt, "{}: the file is empty", file.string());
  if (line.contains("turns")) return DataKind::conversations;
  if (line.contains("second")) return DataKind::twice_told;
  return line.contains("question") ? DataKind::questions : DataKind::texts;
}

// A passage that will be written, and what is asked about it.
struct Passage {
  std::string text;
  ScriptAsk ask = {};
  std::string gold_text = {};    // must stand in no other chunk; empty: may
  std::vector<Turn> turns = {};  // a conversation is written, in the model's template
  std::string earlier = {};      // what was told before it, and is no longer so
};

class Mixed final : public ScriptTask {
 protected:
  const char* name() const override { return "mixed"; }
  std::vector<std::string> default_columns() const override {
    return {"closed-book", "context", "stm", "mplus", "words-recall", "hybrid", "reread", "oracle-recall"};
  }

  void build(engine::Engine& engine, Json& fields) override {
    if (options_.samples == 0) options_.samples = 504;
    if (options_.distances.empty()) options_.distances = {0, 78, 625};
    if (options_.lengths.empty()) options_.lengths = {80'000};
    fields["samples"] = options_.samples;
    fields["distances"] = options_.distances;
    fields["lengths"] = options_.lengths;
    fields["most_answer_tokens"] = options_.most_answer_tokens;
    const std::int64_t streams = std::max<std::int64_t>(1, options_.samples / kLeastOfASet);
    per_stream_ = (options_.samples + streams - 1) / streams;
    const Chunker chunker(engine.tokenizer(), engine.chunk_tokens());
    const memory::Layout& layout = engine.layout();
    before_ = 2 * layout.N / layout.K;
    spread_ = options_.lengths.back() / chunker.size();
    length_ = before_ + spread_ + options_.distances.back();
    const Fillers fillers(options_.distractors, chunker, std::max(2 * length_, kAroundPassages), layout.K);
    std::vector<std::vector<Passage>> passages(static_cast<std::size_t>(streams));
    for (const auto& file : options_.sets) {
      const DataKind kind = kind_of(file);
      if (kind == DataKind::questions) add_questions(file, chunker, fillers, passages);
      if (kind == DataKind::texts) add_texts(file, engine, chunker, passages);
      if (kind == DataKind::conversations) {
        if (!engine.chat_template())
          fail(ErrorCode::unsupported, "{}: conversations, and this model's files name no chat template",
               file.string());
        fields["asked_in"] = options_.ask_in_conversation ? "conversation" : "prompt";
        add_conversations(file, passages);
      }
      if (kind == DataKind::twice_told) add_twice_told(file, chunker, passages);
    }
    for (std::size_t m = 0; m < passages.size(); ++m)
      scripts_.push_back(stream(std::move(passages[m]), fillers, static_cast<std::uint32_t>(m)));
    fields["left_out"] = left_out_;
  }

  void judge(Json& sample, const Asked& asked, const ScriptAsk& ask) const override {
    if (!asked.applicable) {
      sample["applicable"] = false;
      return;
    }
    if (!ask.then.empty()) {
      sample["nll"] = asked.nll.value();
      return;
    }
    put_answer(sample, asked, ask.question.answers);
    if (const auto old = old_.find(ask.question.id); old != old_.end())
      sample["old"] = contains_gold(first_line(asked.output), old->second);
  }

 private:
  void add_questions(const std::filesystem::path& file, const Chunker& chunker, const Fillers& fillers,
                     std::vector<std::vector<Passage>>& passages) {
    const Groups groups = select_questions(read_questions(file, PassageNeed::required), chunker,
                                           fillers.list(kAroundPassages, options_.seed, 1u << 30),
                                           {.samples = options_.samples,
                                            .most_answer_tokens = options_.most_answer_tokens,
                                            .seed = options_.seed,
                                            .answers_inside_words = true,
                                            .share_articles = true},
                                           per_stream_);
    if (groups.memories.size() > passages.size())
      fail(ErrorCode::not_found, "{}: {} questions do not fit into {} streams", file.string(),
           options_.samples, passages.size());
    for (std::size_t m = 0; m < groups.memories.size(); ++m)
      for (const Asking& asking : groups.memories[m]) {
        Passage& passage = passages[m].emplace_back();
        passage.text = asking.chunk.text;
        passage.gold_text = asking.gold_text;
        ask_about(passage, file, asking.question);
      }
  }

  static void ask_about(Passage& passage, const std::filesystem::path& file, const Question& question) {
    passage.ask.question = question;
    passage.ask.question.id = fmt::format("{}/{}", data_stem(file), question.id);
    passage.ask.extra = {{"set", data_stem(file)}};
  }

  // As many as are wanted of those whose question does not hold the answer, in an order by seed.
  template <class T>
  std::vector<const T*> chosen(const std::vector<T>& all, const std::filesystem::path& file) const {
    std::vector<const T*> taken;
    for (const std::size_t i : random_order(all.size(), options_.seed, Choice::question))
      if (std::ssize(taken) < options_.samples &&
          !contains_gold(all[i].question.question, all[i].question.answers))
        taken.push_back(&all[i]);
    if (std::ssize(taken) < options_.samples)
      fail(ErrorCode::not_found, "{}: {} wanted, {} of {} are fit", file.string(), options_.samples,
           taken.size(), all.size());
    return taken;
  }

  void add_conversations(const std::filesystem::path& file, std::vector<std::vector<Passage>>& passages) {
    const std::vector<Conversation> all = read_conversations(file);
    const auto taken = chosen(all, file);
    for (std::size_t i = 0; i < taken.size(); ++i) {
      Passage& passage = passages[i % passages.size()].emplace_back();
      passage.turns = taken[i]->turns;
      for (const Turn& turn : passage.turns)  // for those who read it as text
        passage.text +=
            fmt::format("{}: {}\n", turn.role == io::Role::user ? "User" : "Assistant", turn.content);
      ask_about(passage, file, taken[i]->question);
      if (options_.ask_in_conversation) passage.ask.form = Form::turn;
    }
  }

  void add_twice_told(const std::filesystem::path& file, const Chunker& chunker,
                      std::vector<std::vector<Passage>>& passages) {
    const std::vector<TwiceTold> all = read_twice_told(file);
    const auto taken = chosen(all, file);
    for (std::size_t i = 0; i < taken.size(); ++i) {
      const TwiceTold& told = *taken[i];
      const auto chunk = [&](const std::string& text, const Golds& golds) {
        std::string_view answer;
        for (const std::string& gold : golds)
          if (answer.empty() && text.find(gold) != std::string::npos) answer = gold;
        return fill_chunk(chunker, {}, text, {}, answer).text;
      };
      Passage& passage = passages[i % passages.size()].emplace_back();
      passage.text = chunk(told.second, told.question.answers);
      passage.earlier = chunk(told.first, told.old);
      ask_about(passage, file, told.question);
      old_[passage.ask.question.id] = told.old;
    }
  }

  void add_texts(const std::filesystem::path& file, engine::Engine& engine, const Chunker& chunker,
                 std::vector<std::vector<Passage>>& passages) {
    const std::vector<Text> texts = read_texts(file);
    const GoingOn part(chunker.size());
    for (std::size_t i = 0; i < static_cast<std::size_t>(options_.samples); ++i) {
      Passage& passage = passages[i % passages.size()].emplace_back();
      passage.text = piece(texts[i % texts.size()].text, i / texts.size(), texts.size(), chunker);
      if (chunker.count(passage.text) < part.end())
        fail(ErrorCode::not_found, "{}: too little text for {} passages", file.string(), options_.samples);
      const std::vector<io::TokenId> ids = engine.tokenizer().encode(passage.text);
      const auto given = ids.begin() + part.at, then = given + part.given;
      ScriptAsk& ask = passage.ask;
      ask.given.assign(given, then);
      ask.then.assign(then, then + part.then);
      ask.question.id = fmt::format("{}/{}", data_stem(file), i);
      ask.question.question = engine.tokenizer().decode(ask.given, false);
      ask.extra = {{"set", data_stem(file)}};
    }
  }

  // One of the pieces that lie evenly over a text, from the beginning of a word.
  std::string piece(std::string_view text, std::size_t number, std::size_t texts,
                    const Chunker& chunker) const {
    const std::size_t pieces = static_cast<std::size_t>(options_.samples) / texts + 1;
    const std::size_t begin = text.find(' ', text.size() * (number + 1) / (pieces + 2));
    if (begin == std::string_view::npos) return {};
    const std::string_view rest = text.substr(begin + 1);
    return std::string(rest.substr(0, chunker.first(rest).bytes));
  }

  // Other text until memory is full, then the passages at random places among other text, then other text.
  Script stream(std::vector<Passage> passages, const Fillers& fillers, std::uint32_t number) {
    const std::int64_t chunks =
        std::ssize(passages) +
        std::count_if(passages.begin(), passages.end(), [](const Passage& p) { return !p.earlier.empty(); });
    if (chunks > spread_)
      fail(ErrorCode::invalid_argument, "--lengths: {} chunks of passages in a stream, room for {}", chunks,
           spread_);
    Script script;
    for (const FillerChunk* filler : fillers.list(length_, options_.seed, number))
      script.writes.push_back({.text = filler->text, .turns = {}, .origin = filler->origin});
    const auto places = random_order(static_cast<std::size_t>(spread_), options_.seed, Choice::place, number);
    std::size_t next = 0;
    const auto place = [&] { return before_ + static_cast<std::int64_t>(places[next++]); };
    for (Passage& passage : passages) {
      ScriptAsk& ask = passage.ask;
      ask.gold = place();
      if (!passage.earlier.empty()) {
        const std::int64_t other = place();
        script.writes[static_cast<std::size_t>(std::min(ask.gold, other))] = {
            .text = passage.earlier, .turns = {}, .origin = ask.question.id};
        ask.gold = std::max(ask.gold, other);
      }
      script.writes[static_cast<std::size_t>(ask.gold)] = {
          .text = passage.text, .turns = passage.turns, .origin = ask.question.id};
      for (const std::int64_t distance : options_.distances) ask.points.push_back(ask.gold + 1 + distance);
    }
    std::vector<std::string> plain;
    for (const ScriptWrite& write : script.writes) plain.push_back(plain_words(write.text));
    std::set<std::int64_t> points;
    for (Passage& passage : passages) {
      if (told_elsewhere(passage, plain)) {  // then it is just one more text
        ++left_out_["its words stand in another chunk too"];
        continue;
      }
      points.insert(passage.ask.points.begin(), passage.ask.points.end());
      script.asks.push_back(std::move(passage.ask));
    }
    script.points.assign(points.begin(), points.end());
    return script;
  }

  static bool told_elsewhere(const Passage& passage, const std::vector<std::string>& plain) {
    if (passage.gold_text.empty()) return false;
    for (std::size_t c = 0; c < plain.size(); ++c)
      if (static_cast<std::int64_t>(c) != passage.ask.gold && has_words(plain[c], passage.gold_text))
        return true;
    return false;
  }

  std::int64_t per_stream_ = 0;
  std::int64_t before_ = 0, spread_ = 0, length_ = 0;  // chunks
  std::map<std::string, std::int64_t> left_out_;
  std::map<std::string, Golds> old_;  // by question: what was right before
};

}  // namespace

std::unique_ptr<Task> make_mixed() { return std::make_unique<Mixed>(); }

}  // namespace mplus::eval
