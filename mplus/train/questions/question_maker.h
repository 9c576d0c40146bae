// Makes up questions on passages, many passages at a time: a model that was trained to pose questions (recipe
// key `pose`) asks and answers; what it drew by chance for an answer is kept only where it is also the
// likeliest, with the passage and the questions that can be used in its window.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mplus/io/tokenizer/tokenizer.h"
#include "mplus/train/evaluation/reader.h"
#include "mplus/train/lessons/posed.h"

namespace mplus::train {

struct PoseOptions {
  std::int64_t tokens = 160;  // made up on each passage
  double temperature = 0.7;   // 0: the likeliest always
};

struct PosedOnPassage {
  std::vector<PosedQuestion> kept;
  std::int64_t usable = 0;  // before the check
};

class QuestionMaker {
 public:
  QuestionMaker(const Model& model, const io::Tokenizer& tokenizer, const PoseOptions& options)
      : model_(model), tokenizer_(tokenizer), options_(options), reader_(model) {}

  // By the default generator of the device: seed it for the same questions again.
  std::vector<PosedOnPassage> make(std::span<const std::string> passages) const;

 private:
  std::vector<std::string> pose(std::span<const std::string> passages) const;
  // Leaves out what the model itself answers otherwise.
  void check(std::span<const std::string> passages, std::vector<PosedOnPassage>& posed) const;

  const Model& model_;
  const io::Tokenizer& tokenizer_;
  PoseOptions options_;
  Reader reader_;
};

}  // namespace mplus::train
