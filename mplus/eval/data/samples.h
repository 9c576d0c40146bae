// What the data files hold (docs/evaluation.md, "Data"). A reader checks every line; what is wrong is named
// with file and line. Fields that are not known are passed over.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "mplus/io/text/chat_template.h"

namespace mplus::eval {

// A question; with `context`, the passage that answers it.
struct Question {
  std::string id;       // of the file, or its name and line
  std::string article;  // its title; empty: it stands alone
  std::string passage;
  std::string question;
  std::vector<std::string> answers;  // any of them is right; none for what cannot be known
  std::int64_t line = 0;
};

struct Text {
  std::string title;
  std::string text;
  std::int64_t line = 0;
};

struct Turn {
  io::Role role = io::Role::user;
  std::string content;
};
struct Conversation {
  Question question;  // without passage
  std::vector<Turn> turns;
};

// A fact written twice with different values: the second is right.
struct TwiceTold {
  Question question;
  std::string first, second;     // chunks of text
  std::vector<std::string> old;  // answers that were right before
};

// A question over two facts that are told apart. One that is not told is empty.
struct Chain {
  Question question;
  std::array<std::string, 2> told;  // texts: the one that leads on, then the one with the answer
};

enum class PassageNeed { required, optional };
std::vector<Question> read_questions(const std::filesystem::path& file, PassageNeed need);
std::vector<Text> read_texts(const std::filesystem::path& file);
std::vector<Text> read_fillers(const std::filesystem::path& file);  // texts, or the passages of questions
std::vector<Conversation> read_conversations(const std::filesystem::path& file);
std::vector<TwiceTold> read_twice_told(const std::filesystem::path& file);
std::vector<Chain> read_chains(const std::filesystem::path& file);

}  // namespace mplus::eval
