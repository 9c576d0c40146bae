// Segments of rows of every width: what is written can be read.
#include "mplus/store/segments/segment_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

namespace mplus::store {
namespace {

namespace fs = std::filesystem;

// n rows of bytes that tell where they stand.
memory::Rows numbered_rows(const memory::Layout& layout, std::int64_t n) {
  memory::Rows rows(layout, n);
  const auto column = [n](std::int64_t width, std::uint16_t first) {
    std::vector<std::uint16_t> values(static_cast<std::size_t>(n * width));
    for (std::uint16_t& value : values) value = first++;
    return values;
  };
  const auto k = column(layout.kv, 0x3f00), v = column(layout.kv, 0x4000),
             key = column(layout.retriever, 0x4100);
  const std::vector<float> hidden(static_cast<std::size_t>(n * layout.hidden));
  rows.append(layout,
              {.hidden = hidden.data(),
               .k = k.data(),
               .v = v.data(),
               .key = key.data(),
               .n = n,
               .dtype = layout.dtype},
              0);
  return rows;
}

// A column begins at a multiple of its element, wherever the one before it ends.
TEST(SegmentFile, RowsOfAnyWidthAreReadAgain) {
  const fs::path folder = fs::temp_directory_path() / ("mplus_segment_" + std::to_string(getpid()));
  fs::create_directories(folder);
  for (const std::int64_t width : {1, 3, 6, 8})
    for (const std::int64_t n : {1, 3, 5}) {
      const memory::Layout layout{.layers = 2, .hidden = 2, .kv = width, .retriever = 5, .K = 8};
      std::vector<memory::Rows> rows;
      for (std::int64_t l = 0; l < layout.layers; ++l) rows.push_back(numbered_rows(layout, n + l));
      const fs::path path = folder / ("rows_" + std::to_string(width) + "_" + std::to_string(n));
      const SegmentFile file = write_segment(path, layout, rows);
      verify_segment(path, file);
      const memory::LongTermStore::Replacement opened = open_segment(path, layout, file);
      for (std::int64_t l = 0; l < layout.layers; ++l) {
        opened.segment->touch(l, memory::SegmentPart::keys_and_values);
        opened.segment->touch(l, memory::SegmentPart::retriever_keys);
        const memory::RowsView expected = rows[static_cast<std::size_t>(l)].view(),
                               found = opened.segment->rows(l);
        ASSERT_EQ(found.n, expected.n);
        for (std::int64_t r = 0; r < found.n; ++r) {
          EXPECT_EQ(found.birth[r], expected.birth[r]);
          EXPECT_EQ(std::memcmp(found.k_row(layout, r), expected.k_row(layout, r), layout.kv_bytes()), 0);
          EXPECT_EQ(std::memcmp(found.v_row(layout, r), expected.v_row(layout, r), layout.kv_bytes()), 0);
          EXPECT_EQ(std::memcmp(found.key_row(layout, r), expected.key_row(layout, r), layout.key_bytes()),
                    0);
        }
      }
    }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace mplus::store
