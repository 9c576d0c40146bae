#include "mplus/train/lessons/token_data.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "mplus/core/files/file.h"
#include "mplus/io/text/hash.h"
#include "mplus/io/text/json.h"
#include "tests/io/expect_error.h"
#include "tests/io/file_bytes.h"
#include "tests/io/text/packed.h"
#include "tests/io/tokenizer/tokenizer_fixtures.h"

namespace mplus::train {
namespace {

namespace fs = std::filesystem;
using io::test::mixed_text;
using io::test::smollm2;
using io::test::TemporaryFolder;
using Texts = std::vector<std::string>;

std::string line_of(const io::Json& json) { return json.dump() + "\n"; }

std::string text_lines(const Texts& texts) {
  std::string lines;
  for (const std::string& text : texts)
    lines += line_of({{"source", "test"}, {"title", "t"}, {"text", text}});
  return lines;
}

// Documents of several scripts, lengths from a few bytes to some kilobytes.
Texts some_texts(std::size_t count) {
  Texts texts;
  for (std::size_t i = 0; i < count; ++i) texts.push_back(mixed_text(1 + i * i % 5000, i));
  return texts;
}

std::string question_line(const io::Json& title, const io::Json& context, std::string_view question,
                          const io::Json& answers = {"yes", "no"}) {
  return line_of({{"title", title}, {"context", context}, {"question", question}, {"answers", answers}});
}

std::string document(const TextSet& set, std::size_t i) {
  const auto from = set.tokens.begin() + set.starts[i], to = set.tokens.begin() + set.starts[i + 1];
  return smollm2().decode(std::vector<std::int32_t>(from, to), false);
}

void expect_same(const TextSet& a, const TextSet& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.sha256, b.sha256);
  EXPECT_EQ(a.tokens, b.tokens);
  EXPECT_EQ(a.starts, b.starts);
  EXPECT_EQ(a.hashes, b.hashes);
}

void expect_same(const QuestionSet& a, const QuestionSet& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.sha256, b.sha256);
  EXPECT_EQ(a.tokens, b.tokens);
  ASSERT_EQ(a.passages.size(), b.passages.size());
  for (std::size_t i = 0; i < a.passages.size(); ++i) {
    EXPECT_EQ(a.passages[i].start, b.passages[i].start);
    EXPECT_EQ(a.passages[i].length, b.passages[i].length);
    EXPECT_EQ(a.passages[i].article, b.passages[i].article);
    EXPECT_EQ(a.passages[i].hash, b.passages[i].hash);
  }
  ASSERT_EQ(a.questions.size(), b.questions.size());
  for (std::size_t i = 0; i < a.questions.size(); ++i) {
    EXPECT_EQ(a.questions[i].passage, b.questions[i].passage);
    EXPECT_EQ(a.questions[i].question, b.questions[i].question);
    EXPECT_EQ(a.questions[i].answer, b.questions[i].answer);
  }
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  return files;
}

// Options that keep what is reported.
struct Reported {
  Texts lines;
  DataOptions options;
  Reported() {
    options.report = [this](const std::string& line) { lines.push_back(line); };
  }
  bool says(std::string_view part) const {
    return std::any_of(lines.begin(), lines.end(),
                       [&](const std::string& line) { return line.find(part) != std::string::npos; });
  }
};

TEST(TextData, DocumentsComeBackOneByOne) {
  const TemporaryFolder folder;
  const Texts texts = some_texts(40);
  const std::string lines = text_lines(texts);
  const TextSet set = load_text(folder.write("some.texts.jsonl", lines), smollm2(), {});
  EXPECT_EQ(set.name, "some");
  EXPECT_EQ(set.sha256, io::sha256_hex(std::as_bytes(std::span(lines))));
  ASSERT_EQ(set.starts.size(), texts.size() + 1);
  EXPECT_EQ(set.starts.front(), 0);
  EXPECT_EQ(set.starts.back(), std::ssize(set.tokens));
  std::vector<std::int32_t> expected;
  for (const std::string& text : texts)
    for (const std::int32_t id : smollm2().encode(text)) expected.push_back(id);
  EXPECT_EQ(set.tokens, expected);
  for (std::size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(document(set, i), texts[i]);
}

TEST(TextData, SpecialTokensAreText) {
  const TemporaryFolder folder;
  const TextSet set = load_text(folder.write("a", text_lines({"<|im_end|>"})), smollm2(), {});
  EXPECT_GT(set.tokens.size(), 1u);
  for (const std::int32_t id : set.tokens) EXPECT_FALSE(smollm2().is_special(id));
}

TEST(TextData, PackedFilesGiveTheSame) {
  const TemporaryFolder folder;
  const std::string lines = text_lines(some_texts(10));
  const TextSet plain = load_text(folder.write("a.jsonl", lines), smollm2(), {});
  for (const auto& [name, bytes] : {std::pair{"a.jsonl.xz", io::test::packed_xz(lines)},
                                    std::pair{"a.jsonl.zst", io::test::packed_zstd(lines)}}) {
    TextSet packed = load_text(folder.write(name, bytes), smollm2(), {});
    EXPECT_NE(packed.sha256, plain.sha256);
    packed.sha256 = plain.sha256;
    expect_same(packed, plain);
  }
}

TEST(TextData, ThreadsDoNotMatter) {
  const TemporaryFolder folder;
  std::string lines = text_lines(some_texts(200));
  lines.insert(lines.find('\n') + 1, "{bad\n");
  const auto file = folder.write("a", lines);
  Reported one, several;
  one.options.threads = 1;
  several.options.threads = 3;
  expect_same(load_text(file, smollm2(), one.options), load_text(file, smollm2(), several.options));
  ASSERT_EQ(one.lines.size(), 2u);
  EXPECT_EQ(one.lines[0], several.lines.at(0));
}

TEST(TextData, MoreThanOneBatchIsInOrder) {
  const TemporaryFolder folder;
  const std::string long_text = mixed_text(std::size_t{6} << 20, 1);
  const Texts texts{"first", long_text, "second", long_text, "third", long_text, "last"};
  const TextSet set = load_text(folder.write("a", text_lines(texts)), smollm2(), {});
  ASSERT_EQ(set.hashes.size(), texts.size());
  for (const std::size_t i : {0u, 2u, 4u, 6u}) EXPECT_EQ(document(set, i), texts[i]);
}

TEST(TextCache, HitEqualsMiss) {
  const TemporaryFolder folder;
  const auto file = folder.write("a.jsonl", text_lines(some_texts(20)) + "{}\n");
  const TextSet plain = load_text(file, smollm2(), {});
  Reported miss, hit;
  miss.options.cache = hit.options.cache = folder.path() / "deep" / "cache";
  expect_same(load_text(file, smollm2(), miss.options), plain);
  expect_same(load_text(file, smollm2(), hit.options), plain);
  EXPECT_FALSE(miss.says("from the cache"));
  EXPECT_TRUE(hit.says("from the cache"));
  EXPECT_TRUE(miss.says("a.jsonl:21: text"));
  EXPECT_TRUE(hit.says("a.jsonl:21: text"));  // a bad line is told every time
  EXPECT_EQ(files_in(hit.options.cache).size(), 1u);
  hit.options.bad_lines = 0;
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("a.jsonl:21"), load_text(file, smollm2(), hit.options));
}

TEST(TextCache, DamageIsMadeGood) {
  const TemporaryFolder folder;
  const auto file = folder.write("a.jsonl", text_lines(some_texts(3)));
  Reported reported;
  reported.options.cache = folder.path() / "cache";
  const TextSet set = load_text(file, smollm2(), reported.options);
  const fs::path cache = files_in(reported.options.cache).at(0);
  const std::string sound = read_text_file(cache);
  std::vector<std::string> damaged{"", sound.substr(0, 10), sound.substr(0, sound.size() - 1), sound + "x"};
  for (std::size_t at = 0; at < sound.size(); at += 1 + sound.size() / 50) {
    damaged.push_back(sound);
    damaged.back()[at] = static_cast<char>(sound[at] ^ 0x10);
  }
  for (const std::string& bytes : damaged) {
    reported.lines.clear();
    folder.write("cache/" + cache.filename().string(), bytes);
    expect_same(load_text(file, smollm2(), reported.options), set);
    EXPECT_FALSE(reported.says("from the cache"));
    EXPECT_EQ(read_text_file(cache), sound);
  }
  EXPECT_EQ(files_in(reported.options.cache).size(), 1u);
}

TEST(TextCache, AnotherTokenizerOrFileOrKindHasItsOwn) {
  const TemporaryFolder folder;
  const std::string lines = line_of({{"text", "abab"}, {"question", "q"}, {"answers", {"a"}}});
  const auto file = folder.write("a.jsonl", lines);
  DataOptions options;
  options.cache = folder.path() / "cache";
  const TextSet first = load_text(file, smollm2(), options);
  const io::Tokenizer tiny = io::test::TinyTokenizer{}.load();
  const TextSet second = load_text(file, tiny, options);
  EXPECT_EQ(second.tokens, tiny.encode("abab"));
  EXPECT_EQ(first.hashes, second.hashes);  // what is held out does not depend on the tokenizer
  EXPECT_EQ(files_in(options.cache).size(), 2u);
  load_questions(file, smollm2(), options);
  EXPECT_EQ(files_in(options.cache).size(), 3u);
  folder.write("a.jsonl", lines + text_lines({"more"}));
  EXPECT_EQ(load_text(file, smollm2(), options).hashes.size(), 2u);
  EXPECT_EQ(files_in(options.cache).size(), 4u);
}

TEST(TextCache, AFolderThatCannotBeWrittenIsOnlyTold) {
  const TemporaryFolder folder;
  const auto file = folder.write("a.jsonl", text_lines({"text"}));
  Reported reported;
  reported.options.cache = file / "cache";  // below a file
  EXPECT_EQ(load_text(file, smollm2(), reported.options).hashes.size(), 1u);
  EXPECT_TRUE(reported.says("not kept"));
}

TEST(BadLines, AreToldWithTheirNumberAndSkipped) {
  const TemporaryFolder folder;
  const std::string lines = text_lines({"good"}) + "{\"text\": \n" + "\n" +  // an empty line is none
                            "[1]\n" + "{\"title\": \"t\"}\n" + "{\"text\": 5}\n" + "{\"text\": \" \\n\"}\n" +
                            "{\"text\": \"\xff\"}\n" + text_lines({"good too"});
  Reported reported;
  const TextSet set = load_text(folder.write("a.jsonl", lines), smollm2(), reported.options);
  ASSERT_EQ(set.hashes.size(), 2u);
  EXPECT_EQ(document(set, 1), "good too");
  ASSERT_EQ(reported.lines.size(), 7u);
  const Texts expected{"a.jsonl:2: JSON",      "a.jsonl:4: expected an object", "a.jsonl:5: text: expected",
                       "a.jsonl:6: text: exp", "a.jsonl:7: text: expected",     "a.jsonl:8: JSON"};
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NE(reported.lines[i].find(expected[i]), std::string::npos) << reported.lines[i];
}

TEST(BadLines, TooManyAreAnError) {
  const TemporaryFolder folder;
  const auto file = folder.write("a.jsonl", text_lines({"good"}) + "{}\n{}\n{}\n");
  DataOptions options;
  options.bad_lines = 3;
  EXPECT_EQ(load_text(file, smollm2(), options).hashes.size(), 1u);
  options.bad_lines = 2;
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("a.jsonl:4", "2"), load_text(file, smollm2(), options));
  options.bad_lines = 0;
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("a.jsonl:2"), load_text(file, smollm2(), options));
}

TEST(BadLines, DamagedOrEmptyFilesAreErrors) {
  const TemporaryFolder folder;
  DataOptions options;
  options.cache = folder.path() / "cache";
  EXPECT_MPLUS_ERROR(ErrorCode::not_found, ("nosuch"),
                     load_text(folder.path() / "nosuch", smollm2(), options));
  const auto empty = folder.write("empty.jsonl", "\n{}\n");
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("empty.jsonl", "none"), load_text(empty, smollm2(), options));
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("empty.jsonl", "none"), load_questions(empty, smollm2(), options));
  const std::string whole = io::test::packed_xz(text_lines(some_texts(5)));
  const auto cut = folder.write("cut.xz", whole.substr(0, whole.size() / 2));
  options.bad_lines = 1000;  // half a file is not some bad lines
  EXPECT_MPLUS_ERROR(ErrorCode::corrupt, ("cut.xz"), load_text(cut, smollm2(), options));
  EXPECT_FALSE(fs::exists(options.cache));
}

std::string some_questions() {
  return question_line("north", "The first passage.", "1?") +  //
         question_line("south", "The second one.", "2?") +     //
         question_line("north", "The first passage.", "3?", {"third"}) +
         question_line("north", "One more about the north.", "4?") +
         question_line(nullptr, "No title.", "5?", "a plain text") +
         question_line(nullptr, "No title either.", "6?") +  //
         question_line(nullptr, nullptr, "7?");
}

TEST(QuestionData, PassagesStandOnceAndInOrder) {
  const TemporaryFolder folder;
  const auto file = folder.write("qa_some.jsonl.xz", io::test::packed_xz(some_questions()));
  const QuestionSet set = load_questions(file, smollm2(), {});
  EXPECT_EQ(set.name, "qa_some");
  const Texts passages{"The first passage.", "The second one.", "One more about the north.", "No title.",
                       "No title either."};
  const std::vector<std::int32_t> articles{0, 1, 0, 2, 3};
  ASSERT_EQ(set.passages.size(), passages.size());
  std::string all;
  for (std::size_t i = 0; i < passages.size(); ++i) {
    const QuestionSet::Passage& passage = set.passages[i];
    const std::span<const std::int32_t> tokens(set.tokens.data() + passage.start,
                                               static_cast<std::size_t>(passage.length));
    EXPECT_EQ(std::vector(tokens.begin(), tokens.end()), smollm2().encode(passages[i]));
    EXPECT_EQ(passage.article, articles[i]);
    all += (i > 0 ? "\n\n" : "") + passages[i];
  }
  EXPECT_EQ(smollm2().decode(set.tokens), all);
  const std::vector<std::int32_t> asked{0, 1, 0, 2, 3, 4, -1};
  const Texts answers{"yes", "yes", "third", "yes", "a plain text", "yes", "yes"};
  ASSERT_EQ(set.questions.size(), asked.size());
  for (std::size_t i = 0; i < asked.size(); ++i) {
    EXPECT_EQ(set.questions[i].passage, asked[i]);
    EXPECT_EQ(set.questions[i].question, fmt::format("{}?", i + 1));
    EXPECT_EQ(set.questions[i].answer, answers[i]);
  }
}

TEST(QuestionData, CacheAndThreadsDoNotMatter) {
  const TemporaryFolder folder;
  std::string lines = some_questions();
  for (std::size_t i = 0; i < 100; ++i)
    lines += question_line(fmt::format("t{}", i % 7), mixed_text(1 + i * 31 % 2000, i / 3), "q");
  const auto file = folder.write("a.jsonl", lines);
  Reported miss, hit;
  miss.options.cache = hit.options.cache = folder.path() / "cache";
  miss.options.threads = 2;
  DataOptions alone;
  alone.threads = 1;
  const QuestionSet set = load_questions(file, smollm2(), alone);
  expect_same(load_questions(file, smollm2(), miss.options), set);
  expect_same(load_questions(file, smollm2(), hit.options), set);
  EXPECT_TRUE(hit.says("from the cache"));
}

TEST(QuestionData, BadQuestionsAreSkipped) {
  const TemporaryFolder folder;
  const std::string lines = question_line("t", "c", "good?") + question_line("t", "c", "") +
                            question_line("t", "c", "q", io::Json::array()) +
                            question_line("t", "c", "q", {1, 2}) + question_line("t", 7, "q") +
                            line_of({{"context", "c"}, {"answers", {"a"}}});
  Reported reported;
  const QuestionSet set = load_questions(folder.write("a", lines), smollm2(), reported.options);
  EXPECT_EQ(set.questions.size(), 1u);
  ASSERT_EQ(reported.lines.size(), 6u);
  const Texts expected{"a:2: question", "a:3: answers", "a:4: answers", "a:5: context", "a:6: question"};
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NE(reported.lines[i].find(expected[i]), std::string::npos) << reported.lines[i];
}

Texts documents(const TextSet& set) {
  Texts texts;
  for (std::size_t i = 0; i + 1 < set.starts.size(); ++i) texts.push_back(document(set, i));
  return texts;
}

TEST(HeldOut, IsAboutOneInAHundredAndGoesByTheText) {
  const TemporaryFolder folder;
  Texts texts;
  for (int i = 0; i < 5000; ++i) texts.push_back(fmt::format("Document {}.", i));
  const Split<TextSet> parts = split(load_text(folder.write("a", text_lines(texts)), smollm2(), {}));
  std::reverse(texts.begin(), texts.end());
  const Split<TextSet> other = split(load_text(folder.write("b", text_lines(texts)), smollm2(), {}));
  for (const auto part : {&Split<TextSet>::trained, &Split<TextSet>::held_out}) {
    Texts expected = documents(other.*part);
    std::reverse(expected.begin(), expected.end());
    EXPECT_EQ(documents(parts.*part), expected);
    for (const std::string& text : expected) EXPECT_EQ(held_out(text), part == &Split<TextSet>::held_out);
    EXPECT_EQ((parts.*part).name, "a");
    EXPECT_FALSE((parts.*part).sha256.empty());
  }
  const auto count = static_cast<int>(parts.held_out.hashes.size());
  EXPECT_EQ(parts.trained.hashes.size(), 5000u - parts.held_out.hashes.size());
  EXPECT_GT(count, 50 - 5 * 7);  // five standard deviations of a binomial count
  EXPECT_LT(count, 50 + 5 * 7);
}

// Passages, questions, and whatever stands around a passage: nothing of an article is in both parts.
TEST(HeldOut, AnArticleIsInOnePartWithAllThatBelongsToIt) {
  const TemporaryFolder folder;
  std::string lines;
  for (int i = 0; i < 3000; ++i)
    lines += question_line(fmt::format("title {}", i % 1000), fmt::format("passage of {}.", i),
                           fmt::format("question on {}", i));
  for (int i = 0; i < 3000; ++i) lines += question_line(nullptr, nullptr, fmt::format("question {}", i));
  const Split<QuestionSet> parts = split(load_questions(folder.write("a", lines), smollm2(), {}));
  std::size_t passages = 0, questions = 0;
  for (const auto part : {&Split<QuestionSet>::trained, &Split<QuestionSet>::held_out}) {
    const QuestionSet& set = parts.*part;
    const bool held = part == &Split<QuestionSet>::held_out;
    std::string all;
    for (const QuestionSet::Question& asked : set.questions) {
      if (asked.passage < 0) {
        EXPECT_EQ(held_out(asked.question), held);
        continue;
      }
      const QuestionSet::Passage& passage = set.passages.at(static_cast<std::size_t>(asked.passage));
      const auto from = set.tokens.begin() + passage.start;
      const std::string text =
          smollm2().decode(std::vector<std::int32_t>(from, from + passage.length), false);
      const int number = std::stoi(asked.question.substr(std::string("question on ").size()));
      EXPECT_EQ(text, fmt::format("passage of {}.", number));
      EXPECT_EQ(held_out(fmt::format("title {}", number % 1000)), held);
      all += fmt::format("{}{}", all.empty() ? "" : "\n\n", text);
    }
    EXPECT_EQ(smollm2().decode(set.tokens, false), all) << "and nothing else";
    passages += set.passages.size();
    questions += set.questions.size();
  }
  EXPECT_EQ(passages, 3000u);
  EXPECT_EQ(questions, 6000u);
  EXPECT_GT(parts.held_out.passages.size(), 0u);
  EXPECT_LT(parts.held_out.passages.size(), 3 * (10u + 5 * 3));
}

TEST(HeldOut, MayBeNothingAndMustNotBeEverything) {
  const TemporaryFolder folder;
  std::string kept = "kept", held = "held";
  while (held_out(kept)) kept += '.';
  while (!held_out(held)) held += '.';
  const TextSet few = load_text(folder.write("few", text_lines({kept})), smollm2(), {});
  const Split<TextSet> parts = split(few);
  expect_same(parts.trained, few);
  EXPECT_TRUE(parts.held_out.tokens.empty());
  EXPECT_TRUE(parts.held_out.hashes.empty());
  const TextSet all = load_text(folder.write("all", text_lines({held, held})), smollm2(), {});
  EXPECT_MPLUS_ERROR(ErrorCode::invalid_argument, ("all", "held out"), split(all));
  const QuestionSet asked =
      load_questions(folder.write("asked", question_line(held, "p", "q")), smollm2(), {});
  EXPECT_MPLUS_ERROR(ErrorCode::invalid_argument, ("asked", "held out"), split(asked));
}

}  // namespace
}  // namespace mplus::train
