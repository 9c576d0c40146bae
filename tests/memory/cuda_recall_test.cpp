// Recall on the first CUDA device against the processor's, and the copies of rows that it keeps there. Runs
// where there is a device (label gpu).
#include <gtest/gtest.h>

#include <deque>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "mplus/core/thread_pool.h"
#include "mplus/kernels/backend.h"
#include "mplus/kernels/rows/rows.h"
#include "mplus/kernels/rows/transfer.h"
#include "mplus/memory/device/resident_store.h"
#include "mplus/memory/recall/recall.h"
#include "mplus/memory/window.h"

namespace mplus::memory {
namespace {

constexpr std::int64_t kLayers = 3, kWidth = 16, kKv = 8, kK = 4, kT = 5;

class CudaRecall : public testing::TestWithParam<RowFormat> {
 protected:
  void SetUp() override {
    ASSERT_GT(kernels::cuda_devices(), 0) << "no CUDA device";
    there_.emplace(pool_, kernels::Numerics::exact, Device{DeviceKind::cuda, 0});
  }

  std::vector<float> values(std::int64_t n) {
    std::vector<float> made(static_cast<std::size_t>(n));
    for (float& x : made) x = normal_(random_);
    return made;
  }
  Layout layout() const {
    return {.layers = kLayers,
            .hidden = 2,
            .kv = kKv,
            .retriever = kWidth,
            .K = kK,
            .N = 12,
            .K0 = 6,
            .M = 50,  // so that rows expire
            .dtype = DType::f32,
            .long_term = GetParam()};
  }
  void write(Memory& memory) {
    std::vector<std::vector<float>> kept;
    std::vector<NewRows> layers;
    for (std::int64_t l = 0; l < kLayers; ++l) {
      for (const std::int64_t width : {std::int64_t{2}, kKv, kKv, kWidth}) kept.push_back(values(kK * width));
      const auto* last = &kept.back();
      layers.push_back({.hidden = last[-3].data(),
                        .k = last[-2].data(),
                        .v = last[-1].data(),
                        .key = last->data(),
                        .n = kK});
    }
    memory.update(layers);
  }
  std::vector<LayerQueries> scout() {
    std::vector<LayerQueries> asked;
    for (std::int64_t l = 0; l < kLayers; ++l)
      asked.push_back({.T = kT, .retriever = queries_.emplace_back(values(kT * kWidth)).data()});
    return asked;
  }
  template <class T>
  std::vector<T> back(const ConstTensor& x) {
    std::vector<T> here(static_cast<std::size_t>(x.elements()));
    kernels::copy(*there_, Tensor(here.data(), x.dtype, {x.elements()}), x.as_shape({x.elements()}));
    there_->wait();
    return here;
  }

  ThreadPool pool_{3};
  kernels::Queue here_{pool_, kernels::Numerics::exact};
  std::optional<kernels::Queue> there_;
  std::mt19937 random_{3};
  std::normal_distribution<float> normal_;
  std::deque<std::vector<float>> queries_;
};
INSTANTIATE_TEST_SUITE_P(Rows, CudaRecall, testing::Values(RowFormat::plain, RowFormat::int8),
                         [](const auto& format) { return std::string(row_format_name(format.param)); });

TEST_P(CudaRecall, TakesTheRowsThatTheProcessorTakes) {
  Memory memory(layout(), 9);
  for (int update = 0; update < 30; ++update) {
    write(memory);
    const std::vector<LayerQueries> asked = scout();
    for (const RecallRule rule : {RecallRule::consensus, RecallRule::per_layer})
      for (const std::int64_t top : {0, 2})
        for (const bool everything : {false, true}) {
          const RecallPolicy policy{.rule = rule, .vote_top = top, .over_everything = everything};
          const auto one = make_recall(policy), other = make_recall(policy);
          if (one->wants_scout()) {
            one->plan(here_, memory, asked, nullptr);
            other->plan(*there_, memory, asked, nullptr);
            const Votes &a = one->found()->votes, &b = other->found()->votes;
            ASSERT_EQ(a.chunks, b.chunks);
            ASSERT_EQ(a.held, b.held);
            for (std::size_t c = 0; c < a.votes.size(); ++c) ASSERT_NEAR(a.votes[c], b.votes[c], 1e-3);
          }
          for (std::int64_t l = 0; l < kLayers; ++l) {
            const LayerQueries& queries = asked[static_cast<std::size_t>(l)];
            const kernels::OnDevice brought(*there_, queries.retriever_rows(kWidth));
            LayerQueries near = queries;
            if (other->asks_on_device()) near = {.T = kT, .there = brought.tensor()};
            const LayerRecall a = one->rows(here_, memory, l, queries),
                              b = other->rows(*there_, memory, l, near);
            ASSERT_EQ(a.rows.size(), b.rows.size()) << "update " << update << ", layer " << l;
            for (std::size_t r = 0; r < a.rows.size(); ++r) {
              ASSERT_EQ(a.rows[r].id, b.rows[r].id) << "update " << update << ", layer " << l;
              ASSERT_EQ(a.rows[r].birth, b.rows[r].birth);
              ASSERT_NEAR(a.rows[r].score, b.rows[r].score, 1e-5);
            }
          }
        }
  }
}

TEST_P(CudaRecall, TheStoreIsBroughtByAndBy) {
  Memory memory(layout(), 1);
  for (int update = 0; update < 8; ++update) write(memory);
  std::size_t all = 0;
  for (std::size_t part = 1; part > 0; all += part)
    part = bring_long_term(*there_, memory, std::numeric_limits<std::size_t>::max());
  ASSERT_GT(all, 0u);
  write(memory);  // what is added later comes later
  EXPECT_EQ(bring_long_term(*there_, memory, 1), 0u) << "no more than was asked for";
  EXPECT_GT(bring_long_term(*there_, memory, std::numeric_limits<std::size_t>::max()), 0u);
  for (const SegmentUse& use : memory.long_term().segments())
    for (std::int64_t l = 0; l < kLayers; ++l) {
      const kernels::RowBlock rows = columns_of(use.rows(l), memory.layout());
      const kernels::RowBlock near = use.segment->resident_columns(l).near(*there_, rows);
      ASSERT_EQ(near.k.device, there_->device());
      const std::size_t size = row_bytes(rows.k.dtype, rows.k.elements());
      const auto *k = static_cast<const std::byte*>(rows.k.data),
                 *v = static_cast<const std::byte*>(rows.v.data);
      const auto copied = [&](const ConstTensor& x) {
        const ConstTensor bytes(x.data, DType::i8, {static_cast<std::int64_t>(size)}, x.device);
        return back<std::byte>(bytes);
      };
      EXPECT_EQ(copied(near.k), std::vector<std::byte>(k, k + size));
      EXPECT_EQ(copied(near.v), std::vector<std::byte>(v, v + size));
    }
}

// Windows that were copied share what is on the device, and none sees another's rows.
TEST_P(CudaRecall, AWindowIsWhatTheHostHolds) {
  const auto expect_same = [&](const WindowRows& window) {
    for (std::int64_t l = 0; l < kLayers; ++l) {
      const kernels::RowBlock near = window.near(*there_, l);
      ASSERT_EQ(near.k.size(0), window.size());
      if (window.size() == 0) continue;
      ASSERT_EQ(near.k.device, there_->device());
      const auto *k = reinterpret_cast<const float*>(window.k(l)),
                 *v = reinterpret_cast<const float*>(window.v(l));
      const std::int64_t n = window.size() * kKv;
      EXPECT_EQ(back<float>(near.k), std::vector<float>(k, k + n));
      EXPECT_EQ(back<float>(near.v), std::vector<float>(v, v + n));
    }
  };
  const auto grow = [&](WindowRows& window, std::int64_t rows) {
    const std::vector<float> k = values(rows * kKv), v = values(rows * kKv);
    for (std::int64_t l = 0; l < kLayers; ++l)
      window.append(l, ConstTensor(k.data(), DType::f32, {rows, kKv}),
                    ConstTensor(v.data(), DType::f32, {rows, kKv}));
    window.commit(rows);
  };
  WindowRows window(layout());
  expect_same(window);
  grow(window, 5);
  WindowRows first = window, second = window;
  expect_same(first);
  grow(first, 3);
  grow(second, 4);
  expect_same(second);
  expect_same(first);
  expect_same(window);
  EXPECT_EQ(first.near(*there_, 0).k.size(0), 8);
  window = std::move(first);
  grow(window, 700);  // more than there was room for
  expect_same(window);
  window.erase(0, 3);
  grow(window, 2);
  expect_same(window);
  window.truncate(4);
  grow(window, 3);
  expect_same(window);
  expect_same(second);
}

}  // namespace
}  // namespace mplus::memory
