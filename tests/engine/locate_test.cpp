#include "mplus/engine/locate.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "mplus/core/error.h"

namespace mplus::engine {
namespace {

namespace fs = std::filesystem;

class LocateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    home_ = fs::temp_directory_path() / ("mplus_locate_test_" + std::to_string(::getpid()));
    fs::create_directories(home_ / "models");
    ::setenv("MPLUS_HOME", home_.c_str(), 1);
    ::unsetenv("MPLUS_MODEL");
    ::unsetenv("MPLUS_DELTA");
  }
  void TearDown() override { fs::remove_all(home_); }
  fs::path add(const std::string& name) {
    std::ofstream(home_ / "models" / name) << "x";
    return home_ / "models" / name;
  }
  fs::path home_;
};

TEST_F(LocateTest, HomeFolderFollowsTheEnvironment) {
  EXPECT_EQ(home_folder(), home_);
  ::unsetenv("MPLUS_HOME");
  ::setenv("XDG_DATA_HOME", "/data", 1);
  EXPECT_EQ(home_folder(), "/data/mplus");
  ::unsetenv("XDG_DATA_HOME");
}

TEST_F(LocateTest, OptionThenEnvironmentThenDefault) {
  const fs::path standard = add(kDefaultModelFile), other = add("other.gguf"), third = add("third.gguf");
  EXPECT_EQ(locate_model("", "").model, standard);
  EXPECT_EQ(locate_model("", "").delta->filename(), kDefaultDeltaFile);
  ::setenv("MPLUS_MODEL", "other.gguf", 1);
  EXPECT_EQ(locate_model("", "none").model, other);
  EXPECT_EQ(locate_model(third.string(), "none").model, third);
  EXPECT_FALSE(locate_model("", "none").delta);
  EXPECT_FALSE(locate_model("", "").delta) << "the default delta belongs to the default model alone";
  EXPECT_FALSE(locate_model(standard.string(), "", false).delta);
}

TEST_F(LocateTest, TheLargerModelByNameWithItsDelta) {
  const fs::path model = add(kQwenCoderFile), delta = add(kQwenCoderDelta);
  EXPECT_EQ(locate_model(kQwenCoderName, "").model, model);
  EXPECT_EQ(locate_model(kQwenCoderName, "").delta, delta);
  EXPECT_EQ(locate_model(model.string(), "").delta, delta);
  EXPECT_FALSE(locate_model(kQwenCoderName, "none").delta);
  EXPECT_FALSE(locate_model(kQwenCoderName, "", false).delta);
}

TEST_F(LocateTest, WhatIsMissingIsNamedWithThePlacesSearched) {
  try {
    locate_model("nothing.gguf", "");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::not_found);
    EXPECT_NE(std::string(e.what()).find((home_ / "models" / "nothing.gguf").string()), std::string::npos);
  }
  try {
    locate_model("", "");
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("mplus model get"), std::string::npos);
  }
}

}  // namespace
}  // namespace mplus::engine
