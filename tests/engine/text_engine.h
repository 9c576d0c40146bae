// The tiny model with a tokenizer of single bytes and a chat template, for conversations; and all there is to
// a session, as bytes.
#pragma once

#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "mplus/engine/files/session_file.h"
#include "tests/engine/tiny_engine.h"
#include "tests/io/tokenizer/tokenizer_fixtures.h"

namespace mplus::engine {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    static int count = 0;
    path_ = std::filesystem::temp_directory_path() / fmt::format("mplus_engine_{}_{}", ::getpid(), count++);
    std::filesystem::create_directories(path_);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline EngineOptions text_options(const TemporaryFolder& folder) {
  EngineOptions options = tiny_options();
  const std::filesystem::path model = folder.path() / "model";
  std::filesystem::copy(options.files.model, model, std::filesystem::copy_options::recursive);
  io::test::TinyTokenizer tokenizer;
  tokenizer.added = R"({"id":297,"content":"<|im_start|>","special":true,"normalized":false},)"
                    R"({"id":298,"content":"<|im_end|>","special":true,"normalized":false})";
  std::ofstream(model / "tokenizer.json") << tokenizer.json();
  options.files.model = model;
  return options;
}

// Memory, window with its keys and values, texts, counters: equal bytes are equal sessions.
inline std::string state_of(const Session& session) {
  static const TemporaryFolder kFolder;
  const std::filesystem::path file = kFolder.path() / "session.safetensors";
  save_session_file(session, file);
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace mplus::engine
