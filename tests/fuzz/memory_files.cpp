#include "tests/fuzz/memory_files.h"

#include <cstdlib>
#include <cstring>

#include "mplus/core/files/file.h"
#include "mplus/engine/files/session_file.h"
#include "mplus/io/text/hash.h"
#include "tests/fuzz/accept.h"
#include "tests/fuzz/scratch.h"

namespace mplus::engine::test {

using io::test::scratch;

Engine& tiny_engine() {
  static Engine engine = [] {
    ::setenv("MPLUS_HOME", (scratch().folder() / "home").c_str(), 1);
    const std::filesystem::path folder = "tests/fuzz/model";
    if (!std::filesystem::exists(folder))
      fail(ErrorCode::not_found, "{}: not here; run the target in the repository's root", folder.string());
    EngineOptions options;
    options.files.model = folder / "base";
    options.files.delta = folder / "delta.safetensors";
    options.threads = 1;
    return Engine(options);
  }();
  return engine;
}

std::filesystem::path write_with_checksums(const std::string& name, std::span<const std::byte> input) {
  std::string bytes(reinterpret_cast<const char*>(input.data()), input.size());
  io::test::accept_errors([&] {
    const io::SafetensorsContent content = io::parse_safetensors(input, name);
    for (const auto& [tensor, view] : content.tensors) {
      const std::string key = "\"checksum." + tensor + "\":\"";
      const std::string digits = fmt::format("{:016x}", io::xxh3(view.bytes));
      if (const std::size_t at = bytes.find(key); at != bytes.npos && at + key.size() + 16 <= bytes.size())
        bytes.replace(at + key.size(), digits.size(), digits);
    }
  });
  return scratch().write(name, bytes);
}

void use(Session session) {
  Engine& engine = session.engine();
  const auto path = scratch().folder() / "again.safetensors";
  save_session_file(session, path);
  Session again = load_session_file(engine, path);
  GenerateOptions options;
  options.max_tokens = 2;
  options.why = true;
  const std::vector<io::TokenId> question{72, 105, 63};
  MPLUS_CHECK(again.generate_ids(question, options).tokens == session.generate_ids(question, options).tokens,
              "saved and loaded, it says something else");
  const std::vector<io::TokenId> text(static_cast<std::size_t>(engine.chunk_tokens()), 65);
  session.remember_ids(text, "more");
  session.flush();
}

}  // namespace mplus::engine::test
