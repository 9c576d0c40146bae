#include "mplus/store/segments/segment_file.h"
#include "tests/fuzz/accept.h"
#include "tests/fuzz/memory_files.h"
#include "tests/fuzz/stored_files.h"

// A state of a session store, with the segment of the seeds.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mplus;
  const auto path = engine::test::write_with_checksums("state", io::test::input_bytes(data, size));
  std::optional<engine::Session> session;
  io::test::accept_errors([&] {
    session.emplace(store::test::load_state(path, store::test::seed_folder() / "segment/segment"));
  });
  // Keys and values are read when they are needed: what is no number is refused then.
  if (session) io::test::accept_errors([&] { engine::test::use(std::move(*session)); });
  return 0;
}
