#include "mplus/train/run/files/average.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <initializer_list>

#include "mplus/core/error.h"
#include "mplus/io/text/hash.h"
#include "mplus/io/weights/dequantise.h"
#include "mplus/io/weights/safetensors.h"
#include "tests/io/expect_error.h"

namespace mplus::train {
namespace {

namespace fs = std::filesystem;

class TrainAverage : public ::testing::Test {
 protected:
  TrainAverage() { fs::create_directories(folder_); }
  ~TrainAverage() override { fs::remove_all(folder_); }

  template <class T>
  static std::span<const std::byte> bytes(const std::vector<T>& values) {
    return std::as_bytes(std::span(values));
  }
  // A matrix of two rows as floats, and a vector.
  fs::path plain(const std::string& name, const std::vector<float>& matrix, const std::vector<float>& vector,
                 const std::string& rank = "2", const io::StringMap& more = {}) const {
    const io::TensorData tensors[] = {{"m", DType::f32, {2, 2}, bytes(matrix)},
                                      {"v", DType::f32, {std::ssize(vector)}, bytes(vector)}};
    io::StringMap metadata{{"r", rank}, {"name", name}};
    metadata.insert(more.begin(), more.end());
    io::write_safetensors(folder_ / name, tensors, metadata);
    return folder_ / name;
  }
  // The matrix as integers with a scale a row.
  fs::path packed(const std::string& name, const std::vector<std::int8_t>& matrix,
                  const std::vector<float>& scales, const std::vector<float>& vector) const {
    const io::TensorData tensors[] = {{"m", DType::i8, {2, 2}, bytes(matrix)},
                                      {"m_scale", DType::f32, {std::ssize(scales)}, bytes(scales)},
                                      {"v", DType::f32, {std::ssize(vector)}, bytes(vector)}};
    io::write_safetensors(folder_ / name, tensors, {{"r", "2"}, {"name", name}});
    return folder_ / name;
  }
  fs::path out() const { return folder_ / "out"; }
  void refused(ErrorCode code, std::initializer_list<std::string> parts, const std::vector<fs::path>& deltas,
               const std::vector<double>& weights = {}) const {
    io::test::expect_error(
        code, parts,
        [&] {
          average_deltas({deltas, weights, out()});
        },
        __FILE__, __LINE__);
    EXPECT_FALSE(fs::exists(out()));
  }

  const fs::path folder_ = fs::temp_directory_path() / fmt::format("mplus-average-{}", getpid());
};

TEST_F(TrainAverage, IsTheMeanOfEveryNumber) {
  const fs::path a = plain("a", {1, 2, 3, 4}, {10, 20}),
                 b = packed("b", {2, 4, 8, -8}, {0.5f, 0.25f}, {0, 40});
  average_deltas({{a, b}, {}, out()});
  const io::Safetensors made = io::Safetensors::open(out());
  EXPECT_EQ(made.tensors().size(), 2u);
  EXPECT_EQ(made.at("m").dtype, DType::bf16);  // as training makes it
  EXPECT_EQ(io::dequantise(made.at("m")), (std::vector<float>{1, 2, 2.5f, 1}));
  EXPECT_EQ(io::dequantise(made.at("v")), (std::vector<float>{5, 30}));
  EXPECT_EQ(made.metadata().at("name"), "b");
  EXPECT_EQ(made.metadata().at("average"),
            fmt::format("0.5 of {}, 0.5 of {}", io::sha256_hex(a), io::sha256_hex(b)));
  average_deltas({{b, a}, {1, 3}, out()});
  EXPECT_EQ(io::dequantise(io::Safetensors::open(out()).at("m")), (std::vector<float>{1, 2, 2.75f, 2.5f}));
}

TEST_F(TrainAverage, RefusesWhatDoesNotFitTogether) {
  const fs::path a = plain("a", {1, 2, 3, 4}, {10, 20});
  refused(ErrorCode::invalid_argument, {"two deltas"}, {a});
  refused(ErrorCode::invalid_argument, {"1 weights for 2"}, {a, a}, {1});
  refused(ErrorCode::invalid_argument, {"0"}, {a, a}, {0, 0});
  refused(ErrorCode::invalid_argument, {"-1"}, {a, a}, {-1, 2});
  refused(ErrorCode::model_mismatch, {"r = 3", "2"}, {a, plain("rank", {1, 2, 3, 4}, {1, 2}, "3")});
  refused(ErrorCode::model_mismatch, {"layers 1-2", "in all"},
          {a, plain("some", {1, 2, 3, 4}, {10, 20}, "2", {{"memory_layers", "1-2"}})});
  refused(ErrorCode::model_mismatch, {"\"v\"", "[1]", "[2]"}, {a, plain("short", {1, 2, 3, 4}, {1})});
  refused(ErrorCode::model_mismatch, {"m_scale", "2", "3"},
          {packed("p", {1, 2, 3, 4}, {1, 2, 3}, {1, 2}), a});
  refused(ErrorCode::not_found, {"none"}, {a, folder_ / "none"});
  const std::vector<float> one{1};
  const io::TensorData more[] = {{"w", DType::f32, {1}, bytes(one)}};
  io::write_safetensors(folder_ / "more", more, {});
  refused(ErrorCode::model_mismatch, {"has no tensor"}, {a, folder_ / "more"});
}

}  // namespace
}  // namespace mplus::train
