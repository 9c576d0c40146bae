#include "mplus/core/files/private_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/core/files/new_file.h"

namespace mplus {
namespace {

namespace fs = std::filesystem;

class PrivateFileTest : public ::testing::Test {
 protected:
  PrivateFileTest() : umask_(::umask(0022)) {
    folder_ = fs::temp_directory_path() / ("mplus_private_" + std::to_string(::getpid()) + "_" +
                                           ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  ~PrivateFileTest() override {
    ::umask(umask_);
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  static unsigned mode(const fs::path& path) {
    struct stat info {};
    return ::lstat(path.c_str(), &info) == 0 ? info.st_mode & 07777u : 0;
  }
  void write(const fs::path& path, Readers readers) {
    AtomicFile file(path, readers);
    file.write("x", 1);
    file.commit();
  }
  static std::string refusal(const fs::path& file, bool replace) {
    try {
      const NewFile fresh(file, replace);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      return error.what();
    }
    return "";
  }
  fs::path folder_;
  mode_t umask_;
};

TEST_F(PrivateFileTest, WhateverTheUmask) {
  for (const mode_t mask : {0u, 0022u, 0777u}) {
    ::umask(mask);
    const fs::path place = folder_ / std::to_string(mask);
    make_private_folders(place / "deep" / "er");
    write(place / "atomic", Readers::owner);
    ::close(open_private(place / "opened", O_RDWR | O_CREAT));
    for (const char* name : {"", "deep", "deep/er"}) EXPECT_EQ(mode(place / name), 0700u) << name;
    for (const char* name : {"atomic", "opened"}) EXPECT_EQ(mode(place / name), 0600u) << name;
  }
}

TEST_F(PrivateFileTest, OtherFilesFollowTheUmaskOrTheFileTheyReplace) {
  ::umask(0027);
  write(folder_ / "report", Readers::by_umask);
  EXPECT_EQ(mode(folder_ / "report"), 0640u);
  ::chmod((folder_ / "report").c_str(), 0664);
  write(folder_ / "report", Readers::by_umask);
  EXPECT_EQ(mode(folder_ / "report"), 0664u);
  write(folder_ / "report", Readers::owner);
  EXPECT_EQ(mode(folder_ / "report"), 0600u);
}

TEST_F(PrivateFileTest, WhatOthersCanReadIsClosedToThem) {
  fs::create_directories(folder_ / "a" / "b");
  std::ofstream(folder_ / "a" / "b" / "file") << "x";
  std::ofstream(folder_ / "outside") << "x";
  fs::create_symlink(folder_ / "outside", folder_ / "a" / "link");
  ::chmod((folder_ / "a" / "b" / "file").c_str(), 0755);
  make_all_private(folder_ / "a");
  EXPECT_EQ(mode(folder_ / "a"), 0700u);
  EXPECT_EQ(mode(folder_ / "a" / "b"), 0700u);
  EXPECT_EQ(mode(folder_ / "a" / "b" / "file"), 0600u);
  EXPECT_EQ(mode(folder_ / "outside"), 0644u) << "a link was followed";
}

TEST_F(PrivateFileTest, ANewFileReplacesNothingUnlessAsked) {
  const fs::path kept = folder_ / "kept", link = folder_ / "link", pipe = folder_ / "pipe";
  write_text_file(kept, "old");
  fs::create_symlink(kept, link);
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_NE(refusal(kept, false).find("--force"), std::string::npos);
  for (const fs::path& path : {link, pipe, folder_}) {
    EXPECT_NE(refusal(path, false), "");
    EXPECT_NE(refusal(path, true), "");
  }
  NewFile fresh(kept, true);
  write_text_file(fresh.path(), "new");
  EXPECT_EQ(read_text_file(kept), "old");
  fresh.commit();
  EXPECT_EQ(read_text_file(kept), "new");
}

TEST_F(PrivateFileTest, WhatComesMeanwhileIsNotReplacedEither) {
  const fs::path file = folder_ / "file";
  {
    NewFile fresh(file, false);
    write_text_file(fresh.path(), "ours");
    write_text_file(file, "theirs");
    EXPECT_THROW(fresh.commit(), Error);
  }
  EXPECT_EQ(read_text_file(file), "theirs");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator{}), 1);
}

}  // namespace
}  // namespace mplus
