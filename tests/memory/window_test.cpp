#include "mplus/memory/window.h"

#include <gtest/gtest.h>

#include <cstring>

#include "mplus/core/numbers/float16.h"

namespace mplus::memory {
namespace {

TEST(WindowRows, AppendEraseTruncate) {
  const Layout layout{.layers = 2, .hidden = 4, .kv = 2, .dtype = DType::bf16};
  WindowRows rows(layout);
  for (float value : {1.0f, 2.0f, 3.0f, 4.0f}) {
    const std::uint16_t k[] = {f32_to_bf16(value), f32_to_bf16(-value)}, v[] = {f32_to_bf16(10 * value), 0};
    for (std::int64_t l = 0; l < 2; ++l) rows.append(l, {k, DType::bf16, {1, 2}}, {v, DType::bf16, {1, 2}});
    rows.commit(1);
  }
  rows.erase(1, 2);
  ASSERT_EQ(rows.size(), 2);
  const auto at = [&](const std::byte* column, std::size_t i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, column + 2 * i, 2);
    return bf16_to_f32(bits);
  };
  EXPECT_EQ(at(rows.k(1), 0), 1.0f);
  EXPECT_EQ(at(rows.k(1), 3), -4.0f);
  EXPECT_EQ(at(rows.v(0), 2), 40.0f);
  const WindowRows first(rows, 1);
  rows.truncate(1);
  EXPECT_EQ(rows.size(), 1);
  ASSERT_EQ(first.size(), 1);
  EXPECT_EQ(at(first.k(1), 0), 1.0f);
  EXPECT_EQ(at(first.v(0), 0), 10.0f);
  EXPECT_EQ(first.token_size_bytes(), 16u);
}

}  // namespace
}  // namespace mplus::memory
