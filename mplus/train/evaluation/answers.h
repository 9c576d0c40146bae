// Questions that wait to be answered, and their answers. What stands in front of a question is a copy, so it
// may wait while its memory is written on, until enough questions have come together to be read in one pass.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "mplus/core/recall_policy.h"
#include "mplus/io/text/json.h"
#include "mplus/train/evaluation/plan.h"
#include "mplus/train/evaluation/reader.h"

namespace mplus::train {

using AnswerJson = nlohmann::ordered_json;

// A file of answers (docs/evaluation.md, "Plans"): written as they come, in place of an older one.
class AnswerFile {
 public:
  AnswerFile(const std::filesystem::path& file, const AnswerJson& head);
  void add(const AnswerJson& answer);
  std::int64_t answers() const { return answers_; }

 private:
  std::ofstream out_;
  std::int64_t answers_ = 0;
};

// One question in the way of one column.
struct Waiting {
  Ids window;
  std::size_t from = 0;  // score the tokens from here on; 0: answer
  AnswerJson answer;     // what is known of it already
  // Chunks are tried one after another: this is one of so many reads, of a chunk so far behind the best one;
  // the first that gives an answer counts.
  struct Attempt {
    std::int64_t number = 0, of = 1;
    double behind = 0;
    bool passed = false;  // no answer, whatever its words are
  };
  std::optional<Attempt> attempt = {};
};

class AnswerQueue {
 public:
  // `at_once`: questions read in one pass.
  AnswerQueue(const Reader& reader, const EvaluationPlan& plan, const io::Tokenizer& tokenizer,
              std::size_t at_once, AnswerFile& file)
      : reader_(reader),
        plan_(plan),
        tokenizer_(tokenizer),
        policy_(reader.model().memory.recall),
        device_(reader.model().device()),
        at_once_(at_once),
        file_(file) {}

  void add(const Fronts& fronts, std::vector<Waiting> questions);  // one row of the fronts each
  void finish();                                                   // answers what waits

 private:
  struct Group {
    std::vector<Fronts> fronts;
    std::vector<Waiting> questions;
  };
  void answer(Group& group);
  void score(const Fronts& fronts, std::vector<Waiting>& questions);
  void generate(const Fronts& fronts, std::vector<Waiting>& questions);
  // Of the first token's scores [Q, V]: what must not be said is barred (engine/answer/attempt_choice.h).
  Tensor settled(const Tensor& scores, std::vector<Waiting>& questions) const;
  void put(Waiting question);

  const Reader& reader_;
  const EvaluationPlan& plan_;
  const io::Tokenizer& tokenizer_;
  const RecallPolicy& policy_;
  torch::Device device_;
  std::size_t at_once_;
  AnswerFile& file_;
  // By key: questions with several attempts, not all of which are read.
  std::map<std::string, std::vector<Waiting>> tried_;
  std::map<int, Group> groups_;  // read together: windows of a kind (scored, short, long)
};

}  // namespace mplus::train
