// A little of everything that lessons are made from.
#pragma once

#include <string>

#include "mplus/train/lessons/chunk_maker.h"
#include "tests/io/tokenizer/tokenizer_fixtures.h"

namespace mplus::train {

inline Material material() {
  Material m{.tokenizer = io::test::smollm2(),
             .chat = {},
             .texts = {},
             .text_weights = {1},
             .questions = {},
             .question_weights = {1}};
  m.chat = io::ChatTemplate::pick(m.tokenizer, "");
  TextSet text{.name = "text", .sha256 = "", .tokens = {}, .starts = {0}, .hashes = {}};
  for (int document = 0; document < 3; ++document) {
    std::string words;
    for (int i = 0; i < 900; ++i) words += " word" + std::to_string(document * 1000 + i);
    const auto tokens = m.tokenizer.encode(words);
    text.tokens.insert(text.tokens.end(), tokens.begin(), tokens.end());
    text.starts.push_back(static_cast<std::int64_t>(text.tokens.size()));
    text.hashes.push_back(static_cast<std::uint64_t>(document) + 1);
  }
  m.texts.push_back(text);
  QuestionSet set;
  for (int p = 0; p < 8; ++p) {
    const std::string context =
        "Passage " + std::to_string(p) + " says that the colour is shade" + std::to_string(p) + ".";
    const auto tokens = m.tokenizer.encode(context);
    set.passages.push_back(
        {static_cast<std::int64_t>(set.tokens.size()), static_cast<std::int64_t>(tokens.size()), p, 7});
    set.tokens.insert(set.tokens.end(), tokens.begin(), tokens.end());
    const auto gap = m.tokenizer.encode("\n\n");
    set.tokens.insert(set.tokens.end(), gap.begin(), gap.end());
    set.questions.push_back(
        {p, "Which colour does passage " + std::to_string(p) + " name?", "shade" + std::to_string(p)});
  }
  m.questions.push_back(set);
  return m;
}

inline const Material& shared() {
  static const Material m = material();
  return m;
}

inline std::string text_of(const std::vector<std::int32_t>& tokens) {
  return shared().tokenizer.decode(tokens, false);
}

// The tokens of a window whose weight as a target is 1.
inline std::string answer_of(const Window& w) {
  std::vector<std::int32_t> said;
  for (std::size_t i = 0; i < w.tokens.size(); ++i)
    if (w.weight[i] == 1) said.push_back(w.tokens[i]);
  return text_of(said);
}

inline ChunkOptions of_kind(ChunkKind kind) {
  ChunkOptions options;
  options.length = 128;
  options.kinds.assign(kKinds, 0);
  options.kinds[static_cast<std::size_t>(kind)] = 1;
  return options;
}

}  // namespace mplus::train
