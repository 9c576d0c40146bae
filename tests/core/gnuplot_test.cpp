// gnuplot as a child: what it is told, and what becomes of a script that is wrong, hangs or meets no gnuplot.
#include "mplus/core/gnuplot.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace mplus {
namespace {

namespace fs = std::filesystem;

// A folder whose `gnuplot` is all that can be found.
class OtherGnuplot {
 public:
  explicit OtherGnuplot(const std::string& program)
      : folder_(fs::path(testing::TempDir()) / ("gnuplot-" + std::to_string(::getpid()))),
        path_(std::getenv("PATH")) {
    fs::create_directories(folder_);
    if (!program.empty()) {
      std::ofstream(folder_ / "gnuplot") << "#!/bin/sh\n" << program;
      fs::permissions(folder_ / "gnuplot", fs::perms::owner_all);
    }
    ::setenv("PATH", folder_.c_str(), 1);
  }
  ~OtherGnuplot() {
    ::setenv("PATH", path_.c_str(), 1);
    fs::remove_all(folder_);
  }
  OtherGnuplot(const OtherGnuplot&) = delete;
  OtherGnuplot& operator=(const OtherGnuplot&) = delete;

 private:
  fs::path folder_;
  std::string path_;
};

TEST(Gnuplot, TextIsQuoted) { EXPECT_EQ(gnuplot_text("it's"), "'it''s'"); }

TEST(Gnuplot, ReadsTheWholeScript) {
  const OtherGnuplot program(
      "[ \"$(/bin/cat | /usr/bin/wc -c)\" = 200000 ] || { echo short >&2; exit 3; }\n");
  EXPECT_EQ(run_gnuplot(std::string(200'000, 'x')), "");
  EXPECT_EQ(run_gnuplot("x"), "gnuplot failed: short");
}

TEST(Gnuplot, OneThatHangsIsEnded) {
  const OtherGnuplot program("exec /bin/sleep 100\n");
  EXPECT_NE(run_gnuplot("plot x", 0.1).find("ended"), std::string::npos);
}

TEST(Gnuplot, OneThatReadsNothingDoesNotEndTheProgram) {
  const OtherGnuplot program("exit 0\n");
  EXPECT_EQ(run_gnuplot(std::string(1'000'000, '#')), "");
}

TEST(Gnuplot, NoneIsSaid) {
  const OtherGnuplot none("");
  EXPECT_NE(run_gnuplot("plot x").find("cannot be started"), std::string::npos);
}

}  // namespace
}  // namespace mplus
