// What can go wrong on a GPU, and sessions that move between it and the processor. Only run (label gpu) where
// there is one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "mplus/core/error.h"
#include "mplus/core/tensors/memory_budget.h"
#include "mplus/engine/files/session_file.h"
#include "mplus/kernels/backend.h"
#include "mplus/model/device_room.h"
#include "mplus/model/placement.h"
#include "tests/engine/on_the_gpu.h"

namespace mplus::engine {
namespace {

namespace fs = std::filesystem;

class CudaFaults : public ::testing::Test {
 protected:
  void TearDown() override {
    device_budget().limit(0);
    device_budget().keep(0);
  }
};

// Wherever in a write the device's memory ends: an error, the session as it was, and room again later.
TEST_F(CudaFaults, MemoryThatEndsInAWriteLeavesTheSessionSound) {
  const auto first = random_ids(1500, 1), second = random_ids(1200, 2);
  int failures = 0;
  for (const std::size_t room : {0, 10'000, 100'000, 300'000, 1'000'000, 3'000'000, 10'000'000, 30'000'000}) {
    Engine undisturbed_engine(on_the_gpu()), engine(on_the_gpu());
    Session undisturbed(undisturbed_engine, 3), session(engine, 3);
    undisturbed.remember_ids(first, "text");
    session.remember_ids(first, "text");
    Session failing = session.fork();
    device_budget().limit(device_budget().used() + room);
    try {
      failing.remember_ids(second, "text");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::out_of_capacity) << error.what();
      EXPECT_NE(std::string(error.what()).find("--device-memory"), std::string::npos) << error.what();
      ++failures;
    }
    device_budget().limit(0);
    expect_same_memory(session.memory(), undisturbed.memory());
    session.remember_ids(second, "text");
    undisturbed.remember_ids(second, "text");
    expect_same_memory(session.memory(), undisturbed.memory());
    failing.remember_ids(second, "text");
    EXPECT_FALSE(next_tokens(failing).empty());
  }
  EXPECT_GT(failures, 0);
}

TEST_F(CudaFaults, WeightsOverTheBudgetAreRefusedAndTheProcessorGoesOn) {
  device_budget().limit(device_budget().used() + 1000);
  EXPECT_THROW(Engine engine(on_the_gpu()), Error);
  EngineOptions any = tiny_options(4);
  any.device = {.automatic = true, .device = {}};
  Engine engine(any);
  EXPECT_TRUE(engine.device().is_cpu());
  Session session(engine, 3);
  session.remember_ids(random_ids(1500, 1), "text");
  EXPECT_FALSE(next_tokens(session).empty());
}

// A device with room for weights and passes alone: the embedding and the memory's rows stay on the host.
TEST_F(CudaFaults, WithoutRoomToSpareTheSameIsWrittenAndRead) {
  EngineOptions options = on_the_gpu();
  options.numerics = kernels::Numerics::exact;
  const auto text = random_ids(6000, 1);
  Engine plenty(options);
  Session there(plenty, 3);
  there.remember_ids(text, "text");
  const std::vector<io::TokenId> expected = next_tokens(there);
  const std::size_t spare_before = device_budget().spare_used();
  EXPECT_GT(spare_before, 0u);
  const model::Weights& weights = plenty.weights();
  device_budget().limit(device_budget().used() +
                        model::placed_bytes(weights, options.numerics, plenty.device()) +
                        model::device_room(weights, plenty.queue().backend(), options.numerics).passes);
  Engine small(options);
  EXPECT_TRUE(small.workspace().weights().embedding.device.is_cpu());
  EXPECT_FALSE(plenty.workspace().weights().embedding.device.is_cpu());
  device_budget().keep(device_budget().limit());
  Session here(small, 3);
  here.remember_ids(text, "text");
  expect_same_memory(here.memory(), there.memory());
  EXPECT_EQ(next_tokens(here), expected);
  EXPECT_EQ(device_budget().spare_used(), spare_before);
}

TEST_F(CudaFaults, ASessionGoesFromOneToTheOther) {
  const fs::path folder =
      fs::temp_directory_path() / ("mplus_cuda_faults_test_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  Engine gpu(on_the_gpu()), cpu(tiny_options(4));
  EXPECT_NE(gpu.numerics_id(), cpu.numerics_id());
  for (const auto& [from, to] : {std::pair(&gpu, &cpu), std::pair(&cpu, &gpu)}) {
    Session written(*from, 3);
    written.remember_ids(random_ids(6000, 1), "text");
    save_session_file(written, folder / "memory.safetensors");
    Session opened = load_session_file(*to, folder / "memory.safetensors");
    expect_same_memory(opened.memory(), written.memory());
    EXPECT_FALSE(next_tokens(opened).empty());
    opened.remember_ids(random_ids(2000, 2), "text");
    written.remember_ids(random_ids(2000, 2), "text");
    EXPECT_EQ(opened.memory().updates(), written.memory().updates());
    for (std::int64_t l = 0; l < cpu.layout().layers; ++l) {
      const memory::RowsView a = opened.memory().short_term(l), b = written.memory().short_term(l);
      EXPECT_TRUE(std::equal(a.birth, a.birth + a.n, b.birth, b.birth + b.n)) << "the same rows are dropped";
    }
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace mplus::engine
