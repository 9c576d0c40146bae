// A folder with everything `mplus-train` needs, small enough for a run of seconds: a random base model, a
// tokenizer of bytes, text, questions, and a recipe that begins a delta.
#pragma once

#include <filesystem>
#include <string>

#include "tests/train/tiny_model.h"

namespace mplus::train {

class TinyFiles {
 public:
  explicit TinyFiles(const std::string& name);
  ~TinyFiles();
  TinyFiles(const TinyFiles&) = delete;
  TinyFiles& operator=(const TinyFiles&) = delete;

  // Lessons of every kind on 4 streams, then a short retriever's stage.
  std::filesystem::path recipe(std::int64_t steps, const std::string& change = "") const;
  std::filesystem::path out(const std::string& run) const { return folder_ / run; }
  std::filesystem::path base() const { return folder_ / "base"; }
  // The same base as a GGUF: rows of q and k in its order, tokenizer and chat template in its metadata.
  std::filesystem::path base_as_gguf() const;

 private:
  std::filesystem::path folder_;
};

}  // namespace mplus::train
