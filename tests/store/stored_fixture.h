// A store in a folder of its own, on the tiny model of the engine's tests; and what makes two sessions equal.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <random>
#include <string>

#include "mplus/store/session/stored_session.h"

namespace mplus::store {

// The code, and the message, of the error that a call is to end with.
template <class F>
ErrorCode error_of(F&& f, std::string* message = nullptr) {
  try {
    f();
  } catch (const Error& error) {
    if (message) *message = error.what();
    return error.code();
  }
  ADD_FAILURE() << "no error";
  return ErrorCode{};
}

inline engine::EngineOptions tiny_options() {
  engine::EngineOptions options;
  options.files.model = MPLUS_TEST_DATA "/golden/mplus_read/model";
  options.threads = 1;
  return options;
}

inline std::vector<io::TokenId> random_ids(std::size_t n, unsigned seed, unsigned vocab = 300) {
  std::mt19937 random(seed);
  std::vector<io::TokenId> ids(n);
  for (auto& id : ids) id = static_cast<io::TokenId>(3 + random() % (vocab - 3));
  return ids;
}

inline void expect_same_rows(const memory::Layout& layout, const memory::RowsView& a, std::int64_t i,
                             const memory::RowsView& b, std::int64_t j) {
  ASSERT_EQ(a.birth[i], b.birth[j]);
  ASSERT_EQ(a.format, b.format);
  ASSERT_EQ(std::memcmp(a.k_row(layout, i), b.k_row(layout, j), layout.kv_bytes(a.format)), 0);
  ASSERT_EQ(std::memcmp(a.v_row(layout, i), b.v_row(layout, j), layout.kv_bytes(a.format)), 0);
}

// Bit for bit: memory, window and what was written from where.
inline void expect_same_session(const engine::Session& a, const engine::Session& b) {
  const memory::Layout& layout = a.memory().layout();
  ASSERT_EQ(a.memory().updates(), b.memory().updates());
  ASSERT_EQ(a.memory().tail_rows(), b.memory().tail_rows());
  for (std::int64_t l = 0; l < layout.layers; ++l) {
    const memory::RowsView x = a.memory().short_term(l), y = b.memory().short_term(l);
    ASSERT_EQ(x.n, y.n);
    for (std::int64_t r = 0; r < x.n; ++r) expect_same_rows(layout, x, r, y, r);
    std::vector<memory::RowId> rows;
    b.memory().long_term().for_each(l, [&](memory::RowId id, std::int64_t) { rows.push_back(id); });
    ASSERT_EQ(a.memory().long_term().size(l), static_cast<std::int64_t>(rows.size()));
    std::size_t i = 0;
    a.memory().long_term().for_each(l, [&](memory::RowId id, std::int64_t) {
      expect_same_rows(layout, a.memory().long_term().rows_of(l, id), id.row,
                       b.memory().long_term().rows_of(l, rows[i]), rows[i].row);
      ++i;
    });
    const auto tail = a.memory().tail(l), other = b.memory().tail(l);
    ASSERT_TRUE(std::equal(tail.begin(), tail.end(), other.begin(), other.end()));
  }
  ASSERT_EQ(a.window().size(), b.window().size());
  for (std::size_t i = 0; i < a.window().size(); ++i) ASSERT_EQ(a.window()[i].id, b.window()[i].id);
  ASSERT_EQ(a.turns(), b.turns());
  ASSERT_EQ(a.record().updates(), b.record().updates());
}

class StoreTest : public testing::Test {
 protected:
  StoreTest() : engine_(tiny_options()) {
    static int count = 0;
    folder_ = std::filesystem::temp_directory_path() /
              ("mplus_store_" + std::to_string(::getpid()) + "_" + std::to_string(count++));
  }
  ~StoreTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  static engine::Document document(const std::vector<io::TokenId>& ids, const std::string& name) {
    return {.source = name, .ids = ids};
  }

  std::size_t files(const char* part) const {
    std::size_t n = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_ / part)) ++n;
    return n;
  }

  engine::Engine engine_;
  std::filesystem::path folder_;
};

}  // namespace mplus::store
