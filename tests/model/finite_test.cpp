// A model with one weight that is NaN or infinite: nothing is said with it and nothing is written.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <limits>
#include <numeric>

#include "mplus/core/error.h"
#include "mplus/io/weights/safetensors.h"
#include "tests/model/tiny_model.h"

namespace mplus::model {
namespace {

namespace fs = std::filesystem;

class FiniteTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("mplus_finite_test_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
    fs::copy_file(kModel + "/config.json", folder_ / "config.json", fs::copy_options::overwrite_existing);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // The golden model with this value in the middle of one tensor.
  void spoil(const std::string& name, float value) {
    const auto file = io::Safetensors::open(kModel);
    std::vector<std::byte> bytes;
    std::vector<io::TensorData> tensors;
    for (const auto& [other, t] : file.tensors()) {
      io::TensorData copy{other, t.dtype, t.shape, t.bytes};
      if (other == name) {
        bytes.assign(t.bytes.begin(), t.bytes.end());
        std::memcpy(bytes.data() + bytes.size() / 8 * 4, &value, sizeof value);
        copy.bytes = bytes;
      }
      tensors.push_back(std::move(copy));
    }
    io::write_safetensors(folder_ / "model.safetensors", tensors, {});
  }

  // Loads, writes and reads, as a command does.
  void use() {
    const auto weights = load_weights({.model = folder_, .delta = {}});
    ThreadPool pool(1);
    kernels::Queue queue(pool, kernels::Numerics::fast);
    Workspace workspace(weights, queue);
    const memory::Layout layout = memory_layout(*weights, {.dtype = DType::bf16, .keep_hidden = false});
    memory::Memory memory = initial_memory(workspace, layout, 1);
    std::vector<TokenId> all(static_cast<std::size_t>(weights->config.vocab));  // so every embedding counts
    std::iota(all.begin(), all.end(), 0);
    const Injection injection{.chunk = all, .memory = &memory};
    const std::int64_t before = memory.updates();
    try {
      inject(workspace, {&injection, 1});
    } catch (const Error&) {
      EXPECT_EQ(memory.updates(), before);
      throw;
    }
    AttentionCache cache(weights->config.layers, workspace.kv_shape());
    memory::WindowRows rows(layout);
    const auto recall = memory::make_recall({RecallRule::per_layer});
    const ReadItem item{.tokens = std::span(all).first(9),
                        .cache = &cache,
                        .window = &rows,
                        .memory = &memory,
                        .recall = recall.get(),
                        .scouts_end = 9,
                        .logits_from = 8};
    read_pass(workspace, {&item, 1}, Adapter::read, [](std::size_t, std::int64_t, std::span<const float>) {});
  }

  inline static const std::string kModel = MPLUS_TEST_DATA "/golden/mplus_read/model";
  fs::path folder_;
};

TEST_F(FiniteTest, EveryTensorIsLookedAt) {
  spoil("", 0);
  EXPECT_NO_THROW(use()) << "the model as it is";
  const auto file = io::Safetensors::open(kModel);
  int spoilt = 0;
  for (const auto& [name, tensor] : file.tensors()) {
    // Training alone uses the first, and nothing the second.
    if (name.find("encoder_query_proj") != name.npos || name.starts_with("ltm_recall_frequencies")) continue;
    for (const float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity()}) {
      spoil(name, value);
      ++spoilt;
      try {
        use();
        ADD_FAILURE() << name << " with " << value << " was used";
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), ErrorCode::corrupt) << name;
        EXPECT_NE(std::string(e.what()).find(folder_.string()), std::string::npos) << e.what();
      }
    }
  }
  EXPECT_GT(spoilt, 400);
}

}  // namespace
}  // namespace mplus::model
