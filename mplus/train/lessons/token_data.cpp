#include "mplus/train/lessons/token_data.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "mplus/core/error.h"
#include "mplus/core/thread_pool.h"
#include "mplus/io/text/hash.h"
#include "mplus/io/text/json_lines.h"
#include "mplus/train/lessons/token_cache.h"

namespace mplus::train {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBatchBytes = std::size_t{16} << 20;  // read ahead, then worked on by all threads
constexpr std::uint64_t kHeldOutOneIn = 100;

std::uint64_t hash_of(std::string_view text) { return io::xxh3(std::as_bytes(std::span(text))); }

// Lines of one file that could not be used.
class BadLines {
 public:
  BadLines(const fs::path& file, const DataOptions& options) : file_(file), options_(options) {}

  void add(const std::string& message) {  // "line: what"
    messages_.push_back(message);
    if (std::ssize(messages_) > options_.bad_lines)
      fail(ErrorCode::corrupt, "{}:{} (bad line number {}; at most {} are skipped)", file_.string(), message,
           messages_.size(), options_.bad_lines);
    if (options_.report) options_.report(fmt::format("{}:{}; line skipped", file_.string(), message));
  }
  std::vector<std::string> take() { return std::move(messages_); }

 private:
  const fs::path& file_;
  const DataOptions& options_;
  std::vector<std::string> messages_;
};

struct Line {
  std::int64_t number;
  std::string text;
};

std::vector<Line> next_batch(io::JsonLines& lines) {
  std::vector<Line> batch;
  std::size_t size = 0;
  for (std::string text; size < kBatchBytes && lines.next_line(text);) {
    size += text.size();
    batch.push_back({lines.line(), std::move(text)});
  }
  return batch;
}

// Calls make(fields) for every line, on all threads, and take(what it made) in the file's order.
template <class Make, class Take>
void for_each_line(const fs::path& file, ThreadPool& pool, BadLines& bad, const Make& make,
                   const Take& take) {
  struct Outcome {
    std::optional<std::invoke_result_t<Make, const io::JsonFields&>> made;
    std::exception_ptr error;
  };
  io::JsonLines lines(file);
  for (std::vector<Line> batch = next_batch(lines); !batch.empty(); batch = next_batch(lines)) {
    std::vector<Outcome> outcomes(batch.size());
    pool.run(std::ssize(batch), [&](std::int64_t i, int) {
      const Line& line = batch[static_cast<std::size_t>(i)];
      Outcome& outcome = outcomes[static_cast<std::size_t>(i)];
      try {
        const std::string where = fmt::format("{}", line.number);
        const io::Json json = io::parse_json(line.text, where);
        outcome.made = make(io::JsonFields(json, where));
      } catch (...) {
        outcome.error = std::current_exception();
      }
    });
    for (Outcome& outcome : outcomes) {
      try {
        if (outcome.error) std::rethrow_exception(outcome.error);
      } catch (const Error& e) {
        bad.add(e.what());
        continue;
      }
      take(std::move(*outcome.made));
    }
  }
}

bool blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

std::string required_text(const io::JsonFields& fields, std::string_view key) {
  std::optional<std::string> text = fields.string(key);
  if (!text || blank(*text))
    fail(ErrorCode::corrupt, "{}: expected a text, found {}", fields.label(key),
         text ? "an empty one" : "nothing");
  return std::move(*text);
}

std::string first_answer(const io::JsonFields& fields) {
  constexpr std::string_view kKey = "answers";
  const io::Json* answers = fields.find(kKey);
  if (answers && answers->is_array()) answers = answers->empty() ? nullptr : &answers->front();
  if (!answers || !answers->is_string() || blank(answers->get_ref<const std::string&>()))
    fail(ErrorCode::corrupt, "{}: expected a list of texts, found {}", fields.label(kKey),
         !answers               ? "nothing"
         : answers->is_string() ? "an empty one"
                                : answers->type_name());
  return answers->get<std::string>();
}

TextSet make_text(const fs::path& file, const io::Tokenizer& tokenizer, ThreadPool& pool, BadLines& bad) {
  struct Document {
    std::vector<io::TokenId> tokens;
    std::uint64_t hash;
  };
  TextSet set;
  set.starts.push_back(0);
  for_each_line(
      file, pool, bad,
      [&](const io::JsonFields& fields) {
        const std::string text = required_text(fields, "text");
        return Document{tokenizer.encode(text), hash_of(text)};
      },
      [&](Document&& document) {
        set.tokens.insert(set.tokens.end(), document.tokens.begin(), document.tokens.end());
        set.starts.push_back(std::ssize(set.tokens));
        set.hashes.push_back(document.hash);
      });
  if (set.hashes.empty())
    fail(ErrorCode::corrupt, "{}: expected texts, one JSON object a line; found none", file.string());
  return set;
}

// Contexts and titles to the numbers they have in the set.
class Passages {
 public:
  std::int32_t number(std::string&& context, const std::string& title, QuestionSet& set) {
    if (blank(context)) return -1;
    const auto [at, fresh] =
        numbers_.try_emplace(std::move(context), static_cast<std::int32_t>(texts_.size()));
    if (fresh) {
      texts_.push_back(&at->first);
      std::int32_t article = articles_;
      if (!title.empty()) article = titles_.try_emplace(title, articles_).first->second;
      if (article == articles_) ++articles_;
      set.passages.push_back({0, 0, article, hash_of(title.empty() ? at->first : title)});
    }
    return at->second;
  }

  void encode(const io::Tokenizer& tokenizer, ThreadPool& pool, QuestionSet& set) const {
    std::vector<std::vector<io::TokenId>> tokens(texts_.size());
    std::vector<std::exception_ptr> errors(texts_.size());
    pool.run(std::ssize(texts_), [&](std::int64_t i, int) {
      const auto at = static_cast<std::size_t>(i);
      try {
        tokens[at] = tokenizer.encode(*texts_[at]);
      } catch (...) {
        errors[at] = std::current_exception();
      }
    });
    const std::vector<io::TokenId> between = tokenizer.encode("\n\n");
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      if (errors[i]) std::rethrow_exception(errors[i]);
      if (i > 0) set.tokens.insert(set.tokens.end(), between.begin(), between.end());
      set.passages[i].start = std::ssize(set.tokens);
      set.passages[i].length = std::ssize(tokens[i]);
      set.tokens.insert(set.tokens.end(), tokens[i].begin(), tokens[i].end());
    }
  }

 private:
  std::unordered_map<std::string, std::int32_t> numbers_, titles_;
  std::vector<const std::string*> texts_;  // keys of numbers_, which stay where they are
  std::int32_t articles_ = 0;
};

QuestionSet make_questions(const fs::path& file, const io::Tokenizer& tokenizer, ThreadPool& pool,
                           BadLines& bad) {
  struct Asked {
    std::string title, context, question, answer;
  };
  QuestionSet set;
  Passages passages;
  for_each_line(
      file, pool, bad,
      [](const io::JsonFields& fields) {
        return Asked{fields.string("title").value_or(""), fields.string("context").value_or(""),
                     required_text(fields, "question"), first_answer(fields)};
      },
      [&](Asked&& asked) {
        const std::int32_t passage = passages.number(std::move(asked.context), asked.title, set);
        set.questions.push_back({passage, std::move(asked.question), std::move(asked.answer)});
      });
  if (set.questions.empty())
    fail(ErrorCode::corrupt, "{}: expected questions, one JSON object a line; found none", file.string());
  passages.encode(tokenizer, pool, set);
  return set;
}

bool is_held_out(std::uint64_t hash) { return hash % kHeldOutOneIn == 0; }

template <class Set>
Split<Set> named_alike(const Set& set) {
  Split<Set> parts;
  parts.trained.name = parts.held_out.name = set.name;
  parts.trained.sha256 = parts.held_out.sha256 = set.sha256;
  return parts;
}

[[noreturn]] void nothing_to_train(const std::string& name) {
  fail(ErrorCode::invalid_argument,
       "{}: all of it belongs to the one part in a hundred that is held out; give more", name);
}

std::string name_of(const fs::path& file) {
  const std::string name = file.filename().string();
  return name.substr(0, name.find('.', 1));
}

std::string size_of(const TextSet& set) { return fmt::format("{} documents", set.hashes.size()); }
std::string size_of(const QuestionSet& set) {
  return fmt::format("{} questions on {} passages", set.questions.size(), set.passages.size());
}

// From the cache, or made and put there.
template <class Set, class Make>
Set load(const fs::path& file, const io::Tokenizer& tokenizer, const DataOptions& options, const Make& make) {
  const auto started = std::chrono::steady_clock::now();
  const auto tell = [&](const std::string& text) {
    if (options.report) options.report(text);
  };
  const CacheKey key{name_of(file), io::sha256_hex(file), tokenizer.fingerprint()};
  BadLines bad(file, options);
  std::optional<Cached<Set>> found;
  if (!options.cache.empty()) found = read_cache<Set>(options.cache, key);
  const bool cached = found.has_value();
  if (cached) {
    for (const std::string& message : found->bad_lines) bad.add(message);
  } else {
    ThreadPool pool(options.threads > 0 ? options.threads : default_thread_count());
    found.emplace();
    found->set = make(file, tokenizer, pool, bad);
    found->set.name = key.name;
    found->set.sha256 = key.sha256;
    found->bad_lines = bad.take();
    try {
      if (!options.cache.empty()) write_cache(options.cache, key, *found);
    } catch (const Error& e) {
      tell(fmt::format("{}; tokens are not kept for the next time", e.what()));
    }
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;
  tell(fmt::format("{}: {}, {} tokens{} in {:.1f} s", file.string(), size_of(found->set),
                   found->set.tokens.size(), cached ? " from the cache" : ", tokenised", seconds.count()));
  return std::move(found->set);
}

}  // namespace

TextSet load_text(const fs::path& file, const io::Tokenizer& tokenizer, const DataOptions& options) {
  return load<TextSet>(file, tokenizer, options, make_text);
}

QuestionSet load_questions(const fs::path& file, const io::Tokenizer& tokenizer, const DataOptions& options) {
  return load<QuestionSet>(file, tokenizer, options, make_questions);
}

bool held_out(std::string_view text) { return is_held_out(hash_of(text)); }

Split<TextSet> split(TextSet set) {
  Split<TextSet> parts = named_alike(set);
  if (std::none_of(set.hashes.begin(), set.hashes.end(), is_held_out)) {
    parts.trained = std::move(set);
    return parts;
  }
  for (std::size_t d = 0; d < set.hashes.size(); ++d) {
    TextSet& part = is_held_out(set.hashes[d]) ? parts.held_out : parts.trained;
    part.starts.push_back(std::ssize(part.tokens));
    part.hashes.push_back(set.hashes[d]);
    part.tokens.insert(part.tokens.end(), set.tokens.begin() + set.starts[d],
                       set.tokens.begin() + set.starts[d + 1]);
  }
  for (TextSet* part : {&parts.trained, &parts.held_out}) part->starts.push_back(std::ssize(part->tokens));
  if (parts.trained.hashes.empty()) nothing_to_train(set.name);
  return parts;
}

Split<QuestionSet> split(QuestionSet set) {
  Split<QuestionSet> parts = named_alike(set);
  std::vector<std::int32_t> numbers;  // of each passage in its part
  std::int64_t end = 0;               // of the passage before
  for (const QuestionSet::Passage& passage : set.passages) {
    QuestionSet& part = is_held_out(passage.hash) ? parts.held_out : parts.trained;
    numbers.push_back(static_cast<std::int32_t>(part.passages.size()));
    const std::int64_t from = part.passages.empty() ? passage.start : end;  // with what stands between
    QuestionSet::Passage& moved = part.passages.emplace_back(passage);
    moved.start = std::ssize(part.tokens) + passage.start - from;
    end = passage.start + passage.length;
    part.tokens.insert(part.tokens.end(), set.tokens.begin() + from, set.tokens.begin() + end);
  }
  for (QuestionSet::Question& asked : set.questions) {
    const bool alone = asked.passage < 0;
    const auto passage = static_cast<std::size_t>(alone ? 0 : asked.passage);
    const std::uint64_t hash = alone ? hash_of(asked.question) : set.passages[passage].hash;
    if (!alone) asked.passage = numbers[passage];
    (is_held_out(hash) ? parts.held_out : parts.trained).questions.push_back(std::move(asked));
  }
  if (parts.trained.questions.empty()) nothing_to_train(set.name);
  return parts;
}

}  // namespace mplus::train
