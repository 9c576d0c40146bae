#include "mplus/core/files/file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>

#include "mplus/core/error.h"

namespace mplus {
namespace {

namespace fs = std::filesystem;

class FileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("mplus_file_test_" + std::to_string(::getpid()) + "_" +
                                           ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator{}));
  }
  fs::path folder_;
};

TEST_F(FileTest, AMappingIsKnownByItsAddressesWhileItLives) {
  std::vector<std::shared_ptr<const MappedFile>> maps;
  for (const char* name : {"a", "b", "c"}) {
    std::ofstream(folder_ / name) << std::string(5000, 'x');
    maps.push_back(MappedFile::open(folder_ / name));
  }
  const std::byte* begin = maps[1]->bytes().data();
  EXPECT_EQ(mapped_file_at(begin), (folder_ / "b").string());
  EXPECT_EQ(mapped_file_at(begin + 4999), (folder_ / "b").string());
  EXPECT_EQ(mapped_file_at(&maps), nullptr);
  maps.erase(maps.begin() + 1);
  EXPECT_EQ(mapped_file_at(begin), nullptr);
  EXPECT_EQ(mapped_file_at(maps[1]->bytes().data()), (folder_ / "c").string());
}

TEST_F(FileTest, AtomicFileReplacesOnlyOnCommit) {
  const fs::path path = folder_ / "a";
  std::ofstream(path) << "old";
  {
    AtomicFile file(path);
    file.write("new", 3);
  }
  EXPECT_EQ(read_text_file(path), "old");
  EXPECT_EQ(files(), 1u);
  AtomicFile file(path);
  file.write("new", 3);
  file.commit();
  EXPECT_EQ(read_text_file(path), "new");
  EXPECT_EQ(files(), 1u);
}

// A file-size limit stands in for a full disk: the write fails in the middle, the old file stays.
TEST_F(FileTest, FailedWriteLosesNothing) {
  const fs::path path = folder_ / "a";
  std::ofstream(path) << "old";
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 1 << 16;
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string big(1 << 20, 'x');
  ErrorCode code{};
  try {
    AtomicFile file(path);
    file.write(big.data(), big.size());
    file.commit();
  } catch (const Error& e) {
    code = e.code();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(code, ErrorCode::io);
  EXPECT_EQ(read_text_file(path), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(FileTest, MissingAndOddFiles) {
  try {
    MappedFile::open(folder_ / "missing");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::not_found);
  }
  try {
    MappedFile::open(folder_);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::io);
  }
  std::ofstream(folder_ / "empty").flush();
  EXPECT_TRUE(MappedFile::open(folder_ / "empty")->bytes().empty());
}

}  // namespace
}  // namespace mplus
