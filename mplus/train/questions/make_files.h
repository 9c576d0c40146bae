// Questions made up on files of texts, for the program: loads the model, cuts passages, writes the questions
// as training reads them.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "mplus/train/questions/question_maker.h"

namespace mplus::train {

struct MakeQuestionsOptions {
  std::vector<std::filesystem::path> texts;
  std::filesystem::path model, delta, out;
  std::int64_t passages = 10000;  // of each file, at most
  std::int64_t at_once = 0;       // passages; 0: as suits the device
  std::uint64_t seed = 1;
  std::string device = "auto";  // "cpu", "cuda"
  PoseOptions pose;
  const std::atomic<bool>* stop = nullptr;
};

// Lines come as they are made; when told to stop, those made so far stay. Throws cancelled then.
void make_questions(const MakeQuestionsOptions& options);

}  // namespace mplus::train
