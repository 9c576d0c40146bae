#include "mplus/engine/files/session_file.h"
#include "tests/fuzz/accept.h"
#include "tests/fuzz/memory_files.h"

// A memory file, as `--memory FILE` loads it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mplus;
  engine::Engine& engine = engine::test::tiny_engine();
  const auto path = engine::test::write_with_checksums("memory", io::test::input_bytes(data, size));
  io::test::accept_errors([&] { engine::verify_session_file(io::Safetensors::open(path)); });
  std::optional<engine::Session> session;
  io::test::accept_errors([&] { session.emplace(engine::load_session_file(engine, path)); });
  // Keys and values are read when they are needed: what is no number is refused then.
  if (session) io::test::accept_errors([&] { engine::test::use(std::move(*session)); });
  return 0;
}
