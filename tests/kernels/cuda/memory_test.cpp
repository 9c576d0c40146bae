// Memory, copies, notes and errors of a CUDA device.
#include "mplus/core/error.h"
#include "tests/kernels/cuda/device_fixture.h"

namespace mplus::kernels {
namespace {

class CudaMemory : public DeviceTest {};
MPLUS_FOR_BOTH_NUMERICS(CudaMemory);

TEST_P(CudaMemory, CopiesRoundAsTheProcessorDoes) {
  Random random(3);
  const std::int64_t rows = 37, cols = 61;
  const std::vector<float> x = random.values(rows * cols, 300.0f);
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    const Tensor from = put(x, {rows, cols}), half = room(type, {rows, cols + 3}),
                 to = room(DType::f32, {rows, cols});
    copy(queue(), half.part(1, 0, cols), from);  // rows that stand apart
    copy(queue(), to, half.part(1, 0, cols));
    const std::vector<float> found = back(to);
    for (std::int64_t i = 0; i < rows * cols; ++i)
      ASSERT_EQ(found[index(i)], rounded(type, x[index(i)])) << dtype_name(type);
    forget();
  }
}

// Larger than what is staged at once, and much of it under way at the same time.
TEST_P(CudaMemory, WhatGoesThereComesBack) {
  Random random(4);
  std::vector<float> x = random.values(1 << 20);
  std::vector<float> large;
  for (int i = 0; i < 11; ++i) large.insert(large.end(), x.begin(), x.end());
  const Tensor there = put(large, {std::ssize(large)});
  std::vector<std::vector<float>> found(4, std::vector<float>(large.size()));
  const Buffer pinned = queue().backend().allocate_host(large.size() * sizeof(float));
  for (std::vector<float>& copy_of : found) copy(queue(), floats(copy_of, {std::ssize(copy_of)}), there);
  copy(queue(), pinned.tensor(DType::f32, {std::ssize(large)}), there);
  queue().wait();
  for (const std::vector<float>& copy_of : found)
    ASSERT_TRUE(same_bits(copy_of.data(), large.data(), std::ssize(large)));
  ASSERT_TRUE(same_bits(pinned.tensor(DType::f32, {std::ssize(large)}).on_host<float>(), large.data(),
                        std::ssize(large)));
}

// Memory given back while work on it is queued is given out again only behind that work.
TEST_P(CudaMemory, MemoryMayGoWhileWorkIsQueued) {
  const std::int64_t n = 1 << 22;
  const Tensor to = room(DType::f32, {n});
  for (int i = 0; i < 20; ++i) {
    const Buffer passing = queue().backend().allocate(index(n) * sizeof(float));
    fill(queue(), passing.tensor(DType::f32, {n}), static_cast<float>(i));
    copy(queue(), to, passing.tensor(DType::f32, {n}));
  }
  const std::vector<float> found = back(to);
  for (std::int64_t i = 0; i < n; i += 1001) ASSERT_EQ(found[index(i)], 19.0f);
}

TEST_P(CudaMemory, TheSmallestNumberIsNoted) {
  const Tensor good = put(std::vector<float>(1000, 1.0f), {10, 100});
  std::vector<float> bad(1000, 1.0f);
  bad[999] = INFINITY;
  const Tensor infinite = put(bad, {10, 100});
  bad[999] = NAN;
  const Tensor none = put(bad, {10, 100});
  note_finite(queue(), good, 0);
  EXPECT_EQ(take_note(queue()), -1);
  note_finite(queue(), none, 7);
  note_finite(queue(), infinite, 3);
  note_finite(queue(), infinite, 5);
  note_finite(queue(), good, 1);
  EXPECT_EQ(take_note(queue()), 3);
  EXPECT_EQ(take_note(queue()), -1);
}

TEST_P(CudaMemory, TooMuchIsAnErrorThatNamesTheBytes) {
  try {
    queue().backend().allocate(std::size_t{1} << 46);
    FAIL() << "given";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_capacity);
    EXPECT_NE(std::string(error.what()).find("70368744177664"), std::string::npos) << error.what();
  }
  EXPECT_GT(queue().backend().free_bytes(), std::size_t{1} << 20);
  const Tensor x = put(std::vector<float>(10, 2.0f), {10});  // it goes on
  EXPECT_EQ(back(x)[9], 2.0f);
}

TEST_P(CudaMemory, ADeviceThatIsNotThereIsAnError) {
  try {
    cuda_backend({DeviceKind::cuda, 99});
    FAIL() << "given";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_NE(std::string(error.what()).find("cuda:99"), std::string::npos) << error.what();
  }
}

TEST_P(CudaMemory, TheIdNamesArchitectureAndNumerics) {
  const std::string id = numerics_id(GetParam(), kDevice);
  EXPECT_EQ(id.rfind("c5-sm", 0), 0u) << id;
  EXPECT_NE(id.find(exact() ? "-exact" : "-fast"), std::string::npos) << id;
  EXPECT_EQ(id.find("cublaslt") != std::string::npos, !exact()) << id;
}

}  // namespace
}  // namespace mplus::kernels
