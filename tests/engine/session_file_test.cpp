// Saving, loading, and files that lie.
#include "mplus/engine/files/session_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/engine/session.h"
#include "mplus/io/text/hash.h"
#include "tests/engine/tiny_engine.h"
#include "tests/memory/same_rows.h"

namespace mplus::engine {
namespace {

namespace fs = std::filesystem;

class SessionFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("mplus_session_file_test_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
    ::setenv("MPLUS_HOME", (folder_ / "home").c_str(), 1);
    path_ = folder_ / "memory.safetensors";
  }
  void TearDown() override { fs::remove_all(folder_); }

  ErrorCode load_code(Engine& engine) {
    try {
      load_session_file(engine, path_);
    } catch (const Error& e) {
      return e.code();
    }
    ADD_FAILURE() << "loaded";
    return {};
  }
  int session_file_version(const Session& session) {
    save_session_file(session, path_);
    return session_file_info(io::Safetensors::open(path_)).version;
  }
  void overwrite(const std::string& bytes) { std::ofstream(path_, std::ios::binary) << bytes; }

  fs::path folder_, path_;
};

// Saving and loading at any point changes no later token, whatever comes after.
TEST_F(SessionFileTest, SaveAndLoadAtAnyPointChangesNothing) {
  for (const auto& [dtype, format] : {MemoryType{},
                                      {DType::f32, RowFormat::plain},
                                      {DType::bf16, RowFormat::int8},
                                      {DType::bf16, RowFormat::int4}}) {
    EngineOptions options = tiny_options(1, dtype);
    options.memory.long_term = format;
    Engine engine(options);
    EngineOptions capped_options = options;
    capped_options.memory.long_term_capacity = 60;
    Engine capped(capped_options);
    for (Engine* e : {&engine, &capped}) {
      Session straight(*e, 11), interrupted(*e, 11);
      const std::size_t sizes[] = {3, 700, 40, 4, 1500, 12};
      for (unsigned step = 0; step < std::size(sizes); ++step) {
        straight.remember_ids(random_ids(sizes[step], step), "text");
        interrupted.remember_ids(random_ids(sizes[step], step), "text");
        save_session_file(interrupted, path_);
        interrupted = load_session_file(*e, path_);
        ASSERT_EQ(next_tokens(straight), next_tokens(interrupted)) << "step " << step;
      }
      for (std::int64_t l = 0; l < 4; ++l) {
        const auto x = straight.memory().short_term(l), y = interrupted.memory().short_term(l);
        ASSERT_TRUE(memory::same_rows(e->layout(), x, y));
        EXPECT_EQ(straight.memory().long_term().size(l), interrupted.memory().long_term().size(l));
      }
      verify_session_file(io::Safetensors::open(path_));
    }
  }
}

// Rows that were dropped before and after it was decided to keep them in few bits, in one file.
TEST_F(SessionFileTest, PlainAndSmallRowsInOneFile) {
  Engine engine(tiny_options());
  Session plain(engine, 3);
  plain.remember_ids(random_ids(3000, 1), "text");
  ASSERT_EQ(session_file_version(plain), 1);
  EngineOptions options = tiny_options();
  options.memory.long_term = RowFormat::int8;
  Engine small_engine(options);
  Session session(small_engine, 3);  // what the checkpoint brought is plain
  session.remember_ids(random_ids(3000, 1), "text");
  ASSERT_EQ(session_file_version(session), 2);
  const SessionFileInfo info = session_file_info(io::Safetensors::open(path_));
  EXPECT_EQ(info.type, (MemoryType{DType::bf16, RowFormat::int8}));
  EXPECT_EQ(info.long_term, (std::vector{RowFormat::plain, RowFormat::int8}));
  Session again = load_session_file(engine, path_);  // whatever the engine's own sessions do
  EXPECT_EQ(next_tokens(again), next_tokens(session));
  again.remember_ids(random_ids(2000, 2), "more");
  session.remember_ids(random_ids(2000, 2), "more");
  EXPECT_EQ(next_tokens(again), next_tokens(session));
  EXPECT_EQ(again.numerics_id(), session.numerics_id());
  EXPECT_NE(again.numerics_id(), plain.numerics_id());
}

// A column begins at a multiple of its element, wherever the one before it ends: an odd number of keys of
// four bytes leaves the values behind them between two multiples of eight.
TEST_F(SessionFileTest, RowsOfOddWidthsAreReadAgain) {
  EngineOptions small;
  small.files.model = "tests/fuzz/model/base";
  small.files.delta = "tests/fuzz/model/delta.safetensors";
  small.threads = 1;
  small.memory.long_term = RowFormat::plain;
  for (const std::int64_t capacity : {3, 5, 6, 7}) {
    SCOPED_TRACE(capacity);
    small.memory.long_term_capacity = capacity;
    Engine engine(small);
    ASSERT_EQ(engine.layout().key_bytes(), 4u);
    Session session(engine, 3);
    session.remember_ids(random_ids(100, 1, 256), "text");
    save_session_file(session, path_);
    const auto file = io::Safetensors::open(path_);
    const bool between = std::any_of(file.tensors().begin(), file.tensors().end(), [](const auto& entry) {
      return entry.second.dtype == DType::bf16 &&
             reinterpret_cast<std::uintptr_t>(entry.second.bytes.data()) % 8 != 0;
    });
    EXPECT_EQ(between, capacity % 2 == 1);
    verify_session_file(file);
    Session again = load_session_file(engine, path_);
    for (const std::int64_t l : {1, 2}) {
      EXPECT_TRUE(
          memory::same_rows(engine.layout(), session.memory().short_term(l), again.memory().short_term(l)));
      ASSERT_EQ(again.memory().long_term().size(l), capacity);
    }
    GenerateOptions options;
    options.max_tokens = 12;
    const std::vector<io::TokenId> question = random_ids(9, 5, 256);
    EXPECT_EQ(again.generate_ids(question, options).tokens, session.generate_ids(question, options).tokens);
  }
}

TEST_F(SessionFileTest, InfoIsReadableWithoutAModel) {
  Engine engine(tiny_options());
  Session session(engine, 77);
  session.remember_ids(random_ids(1100, 1), "notes");
  save_session_file(session, path_);
  const SessionFileInfo info = session_file_info(io::Safetensors::open(path_));
  EXPECT_EQ(info.seed, 77u);
  EXPECT_EQ(info.updates, session.memory().updates());
  EXPECT_EQ(info.sources, 1);
  EXPECT_EQ(info.short_term_rows, 30);
  EXPECT_EQ(info.shape_id, engine.shape_id());
}

TEST_F(SessionFileTest, WrongModelIsRefused) {
  Engine engine(tiny_options());
  save_session_file(Session(engine), path_);
  EngineOptions other = tiny_options();
  other.files.model = MPLUS_TEST_DATA "/golden/mplus_sequence/model";
  Engine another(other);
  EXPECT_EQ(load_code(another), ErrorCode::model_mismatch);
  Engine f32(tiny_options(1, DType::f32));
  EXPECT_EQ(load_code(f32), ErrorCode::model_mismatch);
  // Same shape, other weights.
  fs::copy(MPLUS_TEST_DATA "/golden/mplus_read/model", folder_ / "changed");
  std::string bytes = read_text_file(folder_ / "changed/model.safetensors");
  bytes[bytes.size() - 2] = static_cast<char>(bytes[bytes.size() - 2] ^ 1);
  std::ofstream(folder_ / "changed/model.safetensors", std::ios::binary) << bytes;
  other.files.model = folder_ / "changed";
  Engine changed(other);
  EXPECT_EQ(load_code(changed), ErrorCode::model_mismatch);
}

TEST_F(SessionFileTest, NewerAndForeignFilesAreRefused) {
  Engine engine(tiny_options());
  save_session_file(Session(engine), path_);
  const auto file = io::Safetensors::open(path_);
  std::vector<io::TensorData> tensors;
  for (const auto& [name, t] : file.tensors()) tensors.push_back({name, t.dtype, t.shape, t.bytes});
  io::StringMap metadata = file.metadata();
  metadata["version"] = "3";
  io::write_safetensors(path_, tensors, metadata);
  EXPECT_EQ(load_code(engine), ErrorCode::unsupported);
  metadata["format"] = "else";
  io::write_safetensors(path_, tensors, metadata);
  EXPECT_EQ(load_code(engine), ErrorCode::corrupt);
  fs::remove(path_);
  EXPECT_EQ(load_code(engine), ErrorCode::not_found);
}

// Cut at any length or with any byte changed, a file is refused or, where the byte means nothing, loads as it
// was.
TEST_F(SessionFileTest, TruncatedFilesAreRefused) {
  Engine engine(tiny_options());
  Session session(engine);
  session.remember_ids(random_ids(30, 1), "text");
  save_session_file(session, path_);
  const std::string whole = read_text_file(path_);
  for (std::size_t n = 0; n < whole.size(); n += 1 + whole.size() / 97) {
    overwrite(whole.substr(0, n));
    EXPECT_EQ(load_code(engine), ErrorCode::corrupt) << n << " of " << whole.size();
  }
}

TEST_F(SessionFileTest, ChangedBytesAreNoticed) {
  Engine engine(tiny_options());
  Session session(engine);
  session.remember_ids(random_ids(30, 1), "text");
  save_session_file(session, path_);
  const std::string whole = read_text_file(path_);
  int refused = 0, tried = 0;
  for (std::size_t at = 0; at < whole.size(); at += 1 + whole.size() / 211) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x20);
    overwrite(bytes);
    ++tried;
    try {
      verify_session_file(io::Safetensors::open(path_));
      load_session_file(engine, path_);
    } catch (const Error& e) {
      EXPECT_TRUE(e.code() == ErrorCode::corrupt || e.code() == ErrorCode::model_mismatch ||
                  e.code() == ErrorCode::not_found || e.code() == ErrorCode::unsupported)
          << e.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, tried * 9 / 10) << "only padding and free text may change unnoticed";
}

// Checksums made right again: values that make no sense are still refused.
TEST_F(SessionFileTest, LiesWithGoodChecksumsAreRefused) {
  Engine engine(tiny_options());
  Session session(engine);
  session.remember_ids(random_ids(30, 1), "text");
  session.remember_ids(random_ids(3, 2), "waits");
  save_session_file(session, path_);
  const auto file = io::Safetensors::open(path_);
  const auto with = [&](const std::string& tensor, std::size_t place, std::int64_t value) {
    std::vector<io::TensorData> tensors;
    std::vector<std::byte> changed;
    io::StringMap metadata = file.metadata();
    for (const auto& [name, t] : file.tensors()) {
      tensors.push_back({name, t.dtype, t.shape, t.bytes});
      if (name != tensor) continue;
      changed.assign(t.bytes.begin(), t.bytes.end());
      ASSERT_LE((place + 1) * 8, changed.size()) << tensor;
      std::memcpy(changed.data() + place * 8, &value, 8);
      tensors.back().bytes = changed;
      metadata["checksum." + name] = fmt::format("{:016x}", io::xxh3(changed));
    }
    const fs::path lying = folder_ / "lying.safetensors";
    io::write_safetensors(lying, tensors, metadata);
    try {
      load_session_file(engine, lying);
      ADD_FAILURE() << tensor << " place " << place << " value " << value;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::corrupt) << e.what();
    }
  };
  with("sources", 0, 1 << 20);
  with("sources", 0, -1);
  with("sources", 2, 9);
  with("update.spans", 0, 5);
  with("update.spans", 2, 1 << 20);
  with("update.spans", 3, -1);
  with("update.spans", 4, std::numeric_limits<std::int64_t>::max());
  with("update.ends", 0, 77);
  with("window.tokens", 0, 300);
  with("window.tokens", 0, -1);
  with("window.tokens", 1, 2);
  with("window.tokens", 2, -1);
  with("window.tokens", 2, std::numeric_limits<std::int64_t>::max());
  with("expiry", 0, std::numeric_limits<std::int64_t>::max());
  with("short_term.0.birth", 0, 1'000'000);
  with("long_term.1.birth", 0, std::numeric_limits<std::int64_t>::min());
}

TEST_F(SessionFileTest, FailedSaveKeepsTheOldFile) {
  Engine engine(tiny_options());
  Session session(engine);
  save_session_file(session, path_);
  const std::string before = read_text_file(path_);
  EXPECT_THROW(save_session_file(session, folder_ / "no_such_folder" / "m.safetensors"), Error);
  EXPECT_EQ(read_text_file(path_), before);
}

// Hidden states are kept when asked for, and come back.
TEST_F(SessionFileTest, HiddenStatesAreAnOption) {
  EngineOptions options = tiny_options();
  options.memory.keep_hidden = true;
  Engine engine(options);
  Session session(engine);
  session.remember_ids(random_ids(600, 1), "text");
  save_session_file(session, path_);
  const Session back = load_session_file(engine, path_);
  const auto x = session.memory().short_term(2), y = back.memory().short_term(2);
  ASSERT_NE(y.hidden, nullptr);
  EXPECT_TRUE(memory::same_rows(engine.layout(), x, y));
}

}  // namespace
}  // namespace mplus::engine
