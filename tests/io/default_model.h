// Where the default base model is: $MPLUS_MODEL, else where scripts/fetch_model.sh puts it. Without it a test
// of label `model` says so and is skipped; with CI=true that is a failure.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace mplus::io::test {

inline std::filesystem::path default_model_path() {
  const auto from = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (!from("MPLUS_MODEL").empty()) return from("MPLUS_MODEL");
  std::filesystem::path home = from("MPLUS_HOME");
  if (home.empty() && !from("XDG_DATA_HOME").empty())
    home = std::filesystem::path(from("XDG_DATA_HOME")) / "mplus";
  if (home.empty()) home = std::filesystem::path(from("HOME")) / ".local/share/mplus";
  return home / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf";
}

}  // namespace mplus::io::test

#define MPLUS_NEED_DEFAULT_MODEL()                                                           \
  do {                                                                                       \
    const auto model_path = ::mplus::io::test::default_model_path();                         \
    const char* ci = std::getenv("CI");                                                      \
    if (std::filesystem::exists(model_path)) break;                                          \
    if (ci != nullptr && std::string(ci) == "true") FAIL() << "no model at " << model_path;  \
    GTEST_SKIP() << "SKIPPED: no model at " << model_path << "; run scripts/fetch_model.sh"; \
  } while (false)
