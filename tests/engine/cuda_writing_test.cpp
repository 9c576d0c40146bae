// Writing on a GPU: the device holds what the host holds, whoever writes beside, and the host gets everything
// that somebody asks for. Only run (label gpu) where there is one.
#include <gtest/gtest.h>

#include <cstring>

#include "mplus/engine/generation.h"
#include "mplus/engine/ingestion.h"
#include "mplus/engine/run/runner.h"
#include "mplus/kernels/backend.h"
#include "tests/engine/on_the_gpu.h"

namespace mplus::engine {
namespace {

std::vector<std::byte> brought(const ConstTensor& row) {
  std::vector<std::byte> bytes(row_bytes(row.dtype, row.elements()));
  kernels::backend_of(row.device).bring(bytes.data(), row);
  return bytes;
}

void expect_device_has_the_rows(Session& session) {
  Engine& engine = session.engine();
  const memory::Layout& layout = engine.layout();
  for (std::int64_t l = 0; l < layout.layers; ++l) {
    const memory::RowsView rows = session.memory().short_term(l);
    memory::ResidentRows& there = session.memory().resident(l);
    ASSERT_TRUE(there.bring(engine.queue(), layout, rows));
    for (std::int64_t r = 0; r < rows.n; ++r) {
      const std::int64_t slot = rows.slot(r);
      ASSERT_EQ(
          std::memcmp(brought(there.block().k.row(slot)).data(), rows.k_row(layout, r), layout.kv_bytes()),
          0);
      ASSERT_EQ(
          std::memcmp(brought(there.block().v.row(slot)).data(), rows.v_row(layout, r), layout.kv_bytes()),
          0);
      ASSERT_EQ(
          std::memcmp(brought(there.keys().row(slot)).data(), rows.key_row(layout, r), layout.key_bytes()),
          0);
    }
    const std::span<const float> tail = session.memory().tail(l);
    const ConstTensor near = session.memory().tail_near(engine.device(), l);
    ASSERT_EQ(near.device, engine.device());
    ASSERT_EQ(std::memcmp(brought(near).data(), tail.data(), tail.size_bytes()), 0);
  }
}

TEST(CudaWriting, TheDeviceHasWhatTheHostHas) {
  Engine engine(on_the_gpu());
  Session session(engine, 3);
  for (unsigned i = 0; i < 8; ++i) {
    session.remember_ids(random_ids(200 + 700 * (i % 3), i), "text");
    Session fork = session.fork();
    ASSERT_NO_FATAL_FAILURE(expect_device_has_the_rows(session));
    fork.remember_ids(random_ids(600, 100 + i), "text");
    ASSERT_NO_FATAL_FAILURE(expect_device_has_the_rows(fork));
    ASSERT_NO_FATAL_FAILURE(expect_device_has_the_rows(session)) << "a fork changes nothing of it";
  }
}

TEST(CudaWriting, NeighboursChangeNothing) {
  Engine engine(on_the_gpu());
  Session alone(engine, 1);
  const auto text = random_ids(4000, 1);
  alone.remember_ids(text, "text");
  for (const std::uint64_t count : {2, 16}) {
    std::vector<Session> sessions;
    std::vector<std::vector<io::TokenId>> texts;
    for (std::uint64_t i = 0; i < count; ++i) {
      sessions.emplace_back(engine, i + 1);
      texts.push_back(i == 0 ? text : random_ids(4000 - 90 * i, static_cast<unsigned>(i)));
    }
    std::vector<Ingestion> writes;
    for (std::size_t i = 0; i < count; ++i)
      writes.emplace_back(sessions[i], Document{.source = "text", .ids = texts[i]});
    run_together<Ingestion>(engine.runner(), writes);
    expect_same_memory(sessions[0].memory(), alone.memory());
  }
}

// Nine writers are two passes, one of which is always under way between steps.
TEST(CudaWriting, SomebodyReadsWhileAPassIsUnderWay) {
  Engine engine(on_the_gpu());
  const auto text = random_ids(2600, 1), prompt = random_ids(20, 2);
  Session alone(engine, 1), reader(engine, 50);
  alone.remember_ids(text, "text");
  reader.remember_ids(random_ids(1500, 3), "text");
  Session other = reader.fork();
  GenerateOptions options;
  options.max_tokens = 12;
  Generation first = Generation::generate_ids(reader, prompt, options);
  run_alone(engine.runner(), first);
  std::vector<Session> sessions;
  std::vector<Ingestion> writes;
  for (std::uint64_t i = 0; i < 9; ++i) sessions.emplace_back(engine, i + 1);
  for (Session& session : sessions) writes.emplace_back(session, Document{.source = "text", .ids = text});
  Generation second = Generation::generate_ids(other, prompt, options);
  for (bool more = true; more;) {
    std::vector<WorkItem> items;
    std::vector<Ingestion*> whose;
    for (Ingestion& write : writes)
      if (Work* work = write.next_work()) {
        items.push_back({work});
        whose.push_back(&write);
      }
    Work* token = second.next_work();
    if (token) items.push_back({token});
    more = !items.empty();
    engine.runner().step(items);
    for (std::size_t i = 0; i < whose.size(); ++i) whose[i]->take(std::move(items[i].result));
    if (token) second.take(std::move(items.back().result));
  }
  EXPECT_EQ(second.answer().tokens, first.answer().tokens);
  expect_same_memory(sessions[0].memory(), alone.memory());
}

TEST(CudaWriting, KeptHiddenStatesAreOnTheHost) {
  EngineOptions options = on_the_gpu();
  options.memory.keep_hidden = true;
  Engine engine(options);
  Session session(engine, 3);
  session.remember_ids(random_ids(3000, 1), "text");
  const memory::Layout& layout = engine.layout();
  for (std::int64_t l = 0; l < layout.layers; ++l) {
    const memory::RowsView rows = session.memory().short_term(l);
    const std::span<const float> tail = session.memory().tail(l);
    ASSERT_EQ(std::memcmp(rows.hidden_row(layout, rows.n - 1),
                          tail.last(static_cast<std::size_t>(layout.hidden)).data(), layout.hidden_bytes()),
              0);
  }
}

}  // namespace
}  // namespace mplus::engine
