// The seeds of the fuzz targets html and archive, in every build: none does anything but be read or refused.
#include <gtest/gtest.h>

#include <filesystem>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "tests/fuzz/document_input.h"

namespace mplus::documents {
namespace {

TEST(FuzzSeeds, AllAreReadOrRefused) {
  int read = 0, refused = 0;
  for (const std::string target : {"html", "archive"})
    for (const auto& seed : std::filesystem::directory_iterator("tests/fuzz/corpus/" + target)) try {
        const std::string bytes = read_text_file(seed.path());
        const std::string text =
            target == "html" ? test::read_html_input(bytes) : test::read_archive_input(bytes);
        EXPECT_FALSE(text.empty()) << seed.path();
        ++read;
      } catch (const Error&) {
        ++refused;
      }
  EXPECT_GT(read, 10);
  EXPECT_GT(refused, 5);
}

}  // namespace
}  // namespace mplus::documents
