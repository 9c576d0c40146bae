#include "mplus/store/segments/segment_file.h"
#include "tests/fuzz/accept.h"
#include "tests/fuzz/memory_files.h"
#include "tests/fuzz/stored_files.h"

// A segment of a session store, under the state of the seeds.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mplus;
  const auto path = engine::test::write_with_checksums("segment", io::test::input_bytes(data, size));
  io::test::accept_errors([&] { store::verify_segment(path, store::test::expected_of(path)); });
  std::optional<engine::Session> session;
  io::test::accept_errors(
      [&] { session.emplace(store::test::load_state(store::test::seed_folder() / "state/state", path)); });
  // Keys and values are read when they are needed: what is no number is refused then.
  if (session) io::test::accept_errors([&] { engine::test::use(std::move(*session)); });
  return 0;
}
