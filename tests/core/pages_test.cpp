#include "mplus/core/tensors/pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vector>

namespace mplus {
namespace {

constexpr std::size_t kSize = std::size_t{5} << 20;

// Memory that nothing has been written to, and which of its pages are there.
class PagesTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(data_, MAP_FAILED);
    madvise(data_, kSize, MADV_NOHUGEPAGE);  // one would hold neighbours as well
  }
  void TearDown() override { munmap(data_, kSize); }
  std::byte* data() { return static_cast<std::byte*>(data_); }
  std::vector<unsigned char> there() {
    std::vector<unsigned char> pages(kSize / page_);
    EXPECT_EQ(mincore(data_, kSize, pages.data()), 0);
    return pages;
  }

  const std::size_t page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* data_ = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
};

TEST_F(PagesTest, AreMadeWithinTheirMemoryAlone) {
#if defined(MADV_POPULATE_WRITE)
  if (madvise(data_, page_, MADV_POPULATE_WRITE) != 0) GTEST_SKIP() << "the system makes no pages ahead";
#endif
  const std::size_t begin = 3 * page_ - 64, end = kSize / 4 + 64;
  make_pages(data() + begin, end - begin);
  const auto pages = there();
  for (std::size_t p = 1; p < pages.size(); ++p) {
    const bool inside = p * page_ >= begin && (p + 1) * page_ <= end;
    EXPECT_EQ((pages[p] & 1) != 0, inside) << "page " << p;
  }
}

TEST_F(PagesTest, WhatIsThereStays) {
  for (std::size_t i = 0; i < kSize; ++i) data()[i] = static_cast<std::byte>(i % 251);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, page_, kSize - 100}) {
    make_pages(data() + 33, size);
    ask_for_large_pages(data() + 33, size);
  }
  for (std::size_t i = 0; i < kSize; ++i) ASSERT_EQ(data()[i], static_cast<std::byte>(i % 251)) << i;
}

}  // namespace
}  // namespace mplus
