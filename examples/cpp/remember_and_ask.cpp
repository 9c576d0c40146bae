// Reads a text into a memory, asks about it, saves the memory, and asks again from the saved one.
//
//   remember_and_ask TEXT_FILE "question" [MEMORY_FILE]
#include <filesystem>
#include <iostream>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/engine/files/session_file.h"
#include "mplus/engine/locate.h"
#include "mplus/engine/session.h"

namespace {

int run(const std::filesystem::path& text_file, const std::string& question,
        const std::filesystem::path& memory_file) {
  // The default base model (`mplus model get` fetches it) with the delta of the installed tree.
  mplus::engine::EngineOptions options;
  options.files = mplus::engine::locate_model("", MPLUS_MODELS "/smollm2-135m-mplus.safetensors");
  mplus::engine::Engine engine(options);

  mplus::engine::Session session(engine);
  const auto written = session.remember(mplus::read_text_file(text_file), text_file.string());
  std::cout << written.tokens << " tokens in " << written.updates << " writes\n";

  mplus::engine::GenerateOptions how;
  how.max_tokens = 32;
  how.why = true;
  const mplus::engine::Answer answer = session.ask(question, how);
  std::cout << "answer:" << answer.text << '\n';
  for (const auto& chunk : answer.why)
    if (chunk.rows_recalled > 0)
      std::cout << "recalled: write " << chunk.chunk << ", vote " << chunk.vote << '\n';

  mplus::engine::save_session_file(session, memory_file);
  mplus::engine::Session later = mplus::engine::load_session_file(engine, memory_file);
  std::cout << "again:" << later.ask(question, how).text << '\n';
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: remember_and_ask TEXT_FILE \"question\" [MEMORY_FILE]\n";
    return 2;
  }
  try {
    return run(argv[1], argv[2], argc > 3 ? argv[3] : "memory.safetensors");
  } catch (const mplus::Error& error) {
    std::cerr << "remember_and_ask: " << error.what() << '\n';
    return 1;
  }
}
