// Checkpoints made small: moments within the errors that are promised, pieces within their sizes, and
// whatever is missing or damaged named.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/core/numbers/float16.h"
#include "mplus/io/weights/safetensors.h"
#include "mplus/train/lessons/random.h"
#include "mplus/train/run/files/packed_moments.h"
#include "mplus/train/run/files/travel.h"

namespace mplus::train {
namespace {

namespace fs = std::filesystem;

// Moments over several orders of magnitude, some of them 0.
struct RandomMoments {
  explicit RandomMoments(std::size_t n) : first(n), second(n) {
    Random draw(7, {});
    for (std::size_t i = 0; i < n; ++i) {
      if (draw.chance(0.05)) continue;
      const double root = std::exp2(-30 * draw.uniform());
      second[i] = static_cast<float>(root * root);
      first[i] = static_cast<float>(root * (2 * draw.uniform() - 1));
    }
  }
  std::vector<float> first, second;
};

TEST(TrainTravel, MomentsKeepTheirSteps) {
  for (const int bits : {8, 4}) {
    const double octaves = bits == 8 ? 254. / 16 : 14. / 2, root_error = bits == 8 ? 1. / 32 : 1. / 4,
                 ratio_error = bits == 8 ? 0.5 / 127 : 0.5 / 7;
    for (const std::size_t n : {0u, 1u, 255u, 256u, 257u, 3000u}) {
      const RandomMoments m(n);
      const PackedMoments packed = pack_moments(m.first, m.second, bits);
      EXPECT_EQ(packed.root.size(), packed_codes(n, bits));
      EXPECT_EQ(packed.ratio_scale.size(), packed_blocks(n));
      std::vector<float> first(n), second(n);
      unpack_moments({packed.root, packed.ratio, packed.root_scale, packed.ratio_scale}, bits, first, second);
      for (std::size_t i = 0; i < n; ++i) {
        if (m.second[i] == 0) {
          EXPECT_EQ(second[i], 0);
          EXPECT_EQ(first[i], 0);
          continue;
        }
        const double least = packed.root_scale[i / 256] * std::exp2(-octaves);
        const double root = std::max(std::sqrt(static_cast<double>(m.second[i])), least);
        const double found = std::sqrt(static_cast<double>(second[i]));
        EXPECT_LE(std::abs(std::log2(found / root)), root_error + 1e-4) << bits << " bits, " << i;
        const double largest = packed.ratio_scale[i / 256];
        EXPECT_LE(std::abs(first[i] / found - m.first[i] / found), ratio_error * largest * 1.001) << i;
      }
    }
  }
  EXPECT_THROW(pack_moments(std::vector{NAN}, std::vector{1.f}, 8), Error);
}

class Travel : public testing::Test {
 protected:
  Travel() : folder_(fs::path(testing::TempDir()) / fmt::format("travel-{}", getpid())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~Travel() override { fs::remove_all(folder_); }

  // A checkpoint of one large tensor with moments and a small one without, at this step.
  void write_checkpoint(int step) {
    io::write_safetensors(
        checkpoint(),
        std::vector<io::TensorData>{data("large.{}.weight", large_, {300, 1000}),
                                    data("large.{}.weight.first_moment", moments_.first, {300, 1000}),
                                    data("large.{}.weight.second_moment", moments_.second, {300, 1000}),
                                    data("large.{}.weight.steps", steps_, {}), data("small", small_, {3})},
        {{"format", "x"}, {"stage", "0"}, {"step", fmt::format("{}", step)}});
  }
  static io::TensorData data(const char* name, const std::vector<float>& values,
                             std::vector<std::int64_t> shape) {
    return {name, DType::f32, std::move(shape), std::as_bytes(std::span(values))};
  }
  static std::vector<float> values(const io::Safetensors& file, const std::string& name) {
    const io::Tensor& t = file.at(name);
    const auto* begin = reinterpret_cast<const float*>(t.bytes.data());
    return {begin, begin + t.elements()};
  }
  std::vector<fs::path> pieces() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(packed()))
      if (entry.path().extension() == ".safetensors") found.push_back(entry.path());
    return found;
  }
  ErrorCode error_of_unpacking() const {
    try {
      unpack_checkpoint(packed(), folder_ / "again.safetensors");
    } catch (const Error& e) {
      return e.code();
    }
    return ErrorCode::cancelled;
  }
  fs::path checkpoint() const { return folder_ / "checkpoint.safetensors"; }
  fs::path packed() const { return folder_ / "packed"; }

  fs::path folder_;
  RandomMoments moments_{300'000};
  std::vector<float> large_ = moments_.first, small_ = {1.0000001f, -2, 3e-7f}, steps_ = {12};
};

TEST_F(Travel, WeightsArriveRoundedAndSmallTensorsWhole) {
  write_checkpoint(12);
  const TravelSize size =
      pack_checkpoint(checkpoint(), packed(), {.piece_bytes = 200'000, .all_bytes = 2'000'000});
  EXPECT_EQ(size.moment_bits, 8);
  EXPECT_GE(size.pieces, 6);
  EXPECT_EQ(pieces().size(), static_cast<std::size_t>(size.pieces));
  std::int64_t sum = static_cast<std::int64_t>(fs::file_size(packed() / "travel.json"));
  for (const fs::path& piece : pieces()) {
    EXPECT_LE(fs::file_size(piece), 200'000u);
    sum += static_cast<std::int64_t>(fs::file_size(piece));
  }
  EXPECT_EQ(sum, size.bytes);
  EXPECT_LE(sum, 2'000'000);
  unpack_checkpoint(packed(), folder_ / "again.safetensors");
  const io::Safetensors was = io::Safetensors::open(checkpoint()),
                        is = io::Safetensors::open(folder_ / "again.safetensors");
  EXPECT_EQ(was.metadata(), is.metadata());
  ASSERT_EQ(was.tensors().size(), is.tensors().size());
  for (const auto& [name, tensor] : was.tensors()) EXPECT_EQ(tensor.shape, is.at(name).shape) << name;
  EXPECT_EQ(values(is, "small"), small_);
  EXPECT_EQ(values(is, "large.{}.weight.steps"), steps_);
  std::vector<float> rounded;
  for (const float x : large_) rounded.push_back(bf16_to_f32(f32_to_bf16(x)));
  EXPECT_EQ(values(is, "large.{}.weight"), rounded);
}

TEST_F(Travel, WhatDoesNotFitIsMadeSmallerThenLeftOut) {
  write_checkpoint(12);
  EXPECT_EQ(pack_checkpoint(checkpoint(), packed(), {.all_bytes = 1'000'000}).moment_bits, 4);
  unpack_checkpoint(packed(), folder_ / "again.safetensors");
  EXPECT_EQ(values(io::Safetensors::open(folder_ / "again.safetensors"), "large.{}.weight.steps"), steps_);
  const TravelSize size = pack_checkpoint(checkpoint(), packed(), {.all_bytes = 700'000});
  EXPECT_EQ(size.moment_bits, 0);
  EXPECT_LE(size.bytes, 700'000);
  unpack_checkpoint(packed(), folder_ / "again.safetensors");
  const io::Safetensors is = io::Safetensors::open(folder_ / "again.safetensors");
  EXPECT_EQ(is.metadata().at("warm_up_from"), "12");
  EXPECT_EQ(values(is, "large.{}.weight.second_moment"), std::vector<float>(300'000, 0));
  EXPECT_EQ(values(is, "large.{}.weight.steps"), std::vector<float>{0});
}

TEST_F(Travel, AnotherStateReplacesTheLastAndNothingElse) {
  write_checkpoint(12);
  pack_checkpoint(checkpoint(), packed());
  std::ofstream(packed() / "mine.safetensors") << "not a piece";
  write_checkpoint(13);
  const TravelSize size = pack_checkpoint(checkpoint(), packed());
  EXPECT_EQ(pieces().size(), static_cast<std::size_t>(size.pieces) + 1);
  EXPECT_TRUE(fs::exists(packed() / "mine.safetensors"));
  unpack_checkpoint(packed(), folder_ / "again.safetensors");
  EXPECT_EQ(io::Safetensors::open(folder_ / "again.safetensors").metadata().at("step"), "13");
}

TEST_F(Travel, MissingAndDamagedPiecesAreNamed) {
  write_checkpoint(12);
  pack_checkpoint(checkpoint(), packed(), {.piece_bytes = 300'000});
  const fs::path piece = pieces().at(1);
  std::fstream(piece, std::ios::in | std::ios::out | std::ios::binary).seekp(100'000).put('!').put('?');
  EXPECT_EQ(error_of_unpacking(), ErrorCode::corrupt);
  fs::remove(piece);
  EXPECT_EQ(error_of_unpacking(), ErrorCode::not_found);
  EXPECT_FALSE(fs::exists(folder_ / "again.safetensors"));
  std::ofstream(packed() / "travel.json") << "{}";
  EXPECT_EQ(error_of_unpacking(), ErrorCode::corrupt);
  std::ofstream(packed() / "travel.json") << R"({"format": "mplus-travel-9"})";
  EXPECT_EQ(error_of_unpacking(), ErrorCode::unsupported);
}

}  // namespace
}  // namespace mplus::train
