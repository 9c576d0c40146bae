// The seeds of the fuzz targets for a memory's files are what they claim to be: else the fuzzers would start
// behind the first check.
#include <gtest/gtest.h>

#include "mplus/core/files/file.h"
#include "mplus/engine/files/session_file.h"
#include "tests/fuzz/stored_files.h"

namespace mplus::store {
namespace {

std::filesystem::path signed_seed(const std::filesystem::path& seed) {
  return engine::test::write_with_checksums("seed", MappedFile::open(test::seed_folder() / seed)->bytes());
}

TEST(StoreFuzzSeeds, AreSound) {
  engine::Engine& engine = engine::test::tiny_engine();
  for (const char* seed : {"memory/plain", "memory/exported"}) {
    const engine::Session session = engine::load_session_file(engine, signed_seed(seed));
    EXPECT_GT(session.memory().updates(), 0) << seed;
    EXPECT_GT(session.record().sources(), 0) << seed;
    engine::test::use(session.fork());
  }
  const auto state = test::seed_folder() / "state/state", segment = test::seed_folder() / "segment/segment";
  const engine::Session session = test::load_state(state, segment);
  EXPECT_GT(session.memory().long_term().size(1), 0);
  EXPECT_GT(session.turns(), 0);
  engine::test::use(session.fork());
  verify_segment(segment, test::expected_of(segment));
}

}  // namespace
}  // namespace mplus::store
