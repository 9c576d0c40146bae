// The copy of a memory's rows on a device follows the host's rows through every change. The processor's queue
// stands for the device: it allocates and copies like any other.
#include "mplus/memory/device/resident.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <random>

#include "mplus/core/numbers/float16.h"
#include "mplus/core/tensors/memory_budget.h"
#include "mplus/core/thread_pool.h"
#include "mplus/memory/memory.h"
#include "tests/memory/same_rows.h"

namespace mplus::memory {
namespace {

constexpr std::int64_t kKv = 6, kCapacity = 60;

Layout layout_of(DType dtype) {
  return {.layers = 1, .hidden = 4, .kv = kKv, .retriever = 2, .K = 8, .N = kCapacity, .dtype = dtype};
}

struct Values {
  explicit Values(std::int64_t n, float first) : k(static_cast<std::size_t>(n * kKv)), v(k), rest(k) {
    for (float& x : k) x = first++;
    for (float& x : v) x = -first++;
  }
  NewRows rows(std::int64_t n) const {
    return {.hidden = rest.data(), .k = k.data(), .v = v.data(), .key = rest.data(), .n = n};
  }
  std::vector<float> k, v, rest;
};

class ResidentTest : public ::testing::TestWithParam<DType> {
 protected:
  void expect_followed(const Rows& rows) {
    const RowsView view = rows.view();
    ResidentRows& there = rows.resident();
    ASSERT_TRUE(there.bring(queue, layout, view));
    for (std::int64_t r = 0; r < view.n; ++r) {
      const ConstTensor k = there.block().k.row(view.slot(r)), v = there.block().v.row(view.slot(r)),
                        key = there.keys().row(view.slot(r));
      ASSERT_EQ(std::memcmp(k.data, view.k_row(layout, r), layout.kv_bytes()), 0) << "row " << r;
      ASSERT_EQ(std::memcmp(v.data, view.v_row(layout, r), layout.kv_bytes()), 0) << "row " << r;
      ASSERT_EQ(std::memcmp(key.data, view.key_row(layout, r), layout.key_bytes()), 0) << "row " << r;
    }
  }

  Layout layout = layout_of(GetParam());
  ThreadPool pool{1};
  kernels::Queue queue{pool, kernels::Numerics::exact};
  std::mt19937 random{1};
};
INSTANTIATE_TEST_SUITE_P(Type, ResidentTest, ::testing::Values(DType::f32, DType::bf16));

// As much as the budget says, and again when something has been given back.
TEST_P(ResidentTest, TakesOnlyWhatCanBeSpared) {
  std::optional<Rows> rows(std::in_place, layout, kCapacity), more(std::in_place, layout, kCapacity);
  const std::size_t one = rows->resident().room(queue, layout);
  EXPECT_GT(one, 0u);
  device_budget().limit(3 * one);
  device_budget().keep(2 * one);
  EXPECT_TRUE(rows->resident().bring(queue, layout, rows->view()));
  EXPECT_EQ(rows->resident().room(queue, layout), 0u);
  EXPECT_EQ(device_budget().spare(), 0u);
  EXPECT_FALSE(more->resident().bring(queue, layout, more->view()));
  rows.reset();
  EXPECT_EQ(device_budget().spare(), one);
  EXPECT_TRUE(more->resident().bring(queue, layout, more->view()));
  more.reset();
  EXPECT_EQ(device_budget().spare_used(), 0u);
  device_budget().limit(0);
  device_budget().keep(0);
}

TEST_P(ResidentTest, FollowsEveryChange) {
  Rows rows(layout, kCapacity);
  float first = 1;
  for (int step = 0; step < 300; ++step) {
    const auto n = static_cast<std::int64_t>(random() % 9);
    if (rows.size() + n > kCapacity || random() % 3 == 0) {
      std::vector<std::int64_t> gone;
      for (std::int64_t r = 0; r < rows.size(); ++r)
        if (random() % 3 == 0) gone.push_back(r);
      rows.remove(gone.data(), std::ssize(gone));
    } else {
      rows.append(layout, Values(n, first).rows(n), 0);
      first += 2 * kKv * 9;
    }
    if (rows.size() > 0 && random() % 4 == 0) {
      Rows other(layout, 1);
      other.append(layout, Values(1, first++).rows(1), 0);
      rows.replace(layout, static_cast<std::int64_t>(random() % static_cast<unsigned>(rows.size())),
                   other.view(), 0);
    }
    if (random() % 2 == 0) expect_followed(rows);
  }
  expect_followed(rows);
  EXPECT_EQ(rows.resident().block().k.size(0), kCapacity) << "it does not grow";
}

TEST_P(ResidentTest, ACopySharesWhatIsThereAndGoesItsOwnWay) {
  Rows rows(layout, kCapacity);
  rows.append(layout, Values(20, 1).rows(20), 0);
  expect_followed(rows);
  const std::shared_ptr<Rows> copy = rows.copy(layout);
  EXPECT_EQ(copy->resident().block().k.data, rows.resident().block().k.data) << "brought once";
  const std::int64_t gone[] = {3, 4, 11};
  rows.remove(gone, 3);
  rows.append(layout, Values(5, 1000).rows(5), 20);
  copy->append(layout, Values(7, 5000).rows(7), 20);
  expect_followed(*copy);
  expect_followed(rows);
  EXPECT_NE(copy->resident().block().k.data, rows.resident().block().k.data);
}

// What a pass made there is not brought there once more.
TEST_P(ResidentTest, APassPutsItsRowsThereItself) {
  Rows rows(layout, kCapacity);
  rows.append(layout, Values(20, 1).rows(20), 0);
  expect_followed(rows);
  const std::int64_t gone[] = {3, 4, 5, 11};
  rows.remove(gone, 4);
  std::vector<std::byte> made(3 * layout.kv_bytes(), std::byte{7});
  NewRows fresh{.k = made.data(), .v = made.data(), .key = made.data(), .n = 3, .dtype = GetParam()};
  fresh.k_on_device = fresh.v_on_device = {made.data(), GetParam(), {3, kKv}};
  fresh.key_on_device = {made.data(), GetParam(), {3, 2}};
  const std::int64_t births[] = {20, 21, 22};
  const std::vector<std::int32_t> taken = rows.extend(births);
  std::vector<kernels::RowScatter> copies;
  rows.resident().put(queue, layout, taken, fresh, copies);
  kernels::scatter_rows(queue, copies);
  rows.put(layout, taken, fresh);
  const std::byte* there = static_cast<const std::byte*>(rows.resident().block().k.row(taken[1]).data);
  EXPECT_EQ(there[0], std::byte{7});
  expect_followed(rows);
  // Slots that a copy shares are not written to.
  const std::shared_ptr<Rows> copy = rows.copy(layout);
  copies.clear();
  copy->resident().put(queue, layout, taken, fresh, copies);
  EXPECT_NE(copy->resident().block().k.data, rows.resident().block().k.data);
  kernels::scatter_rows(queue, copies);
  expect_followed(*copy);
}

TEST_P(ResidentTest, KeysAreBroughtOnce) {
  std::vector<float> keys(40);
  std::vector<std::int64_t> births(20);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<float>(i);
  for (std::size_t i = 0; i < births.size(); ++i) births[i] = 7 * static_cast<std::int64_t>(i);
  ResidentKeys resident;
  const void* place = nullptr;
  for (const std::int64_t n : {3, 3, 8, 5, 20}) {
    const auto [there, born] = resident.bring(queue, {keys.data(), DType::f32, {n, 2}}, births.data(), 20);
    ASSERT_EQ(there.size(0), n);
    EXPECT_TRUE(std::equal(births.begin(), births.begin() + n, born.on_host<std::int64_t>()));
    EXPECT_TRUE(std::equal(keys.begin(), keys.begin() + 2 * n, there.on_host<float>()));
    if (!place) place = there.data;
    EXPECT_EQ(there.data, place);
    keys[0] = 0;  // what was brought is not looked at again
  }
}

TEST(DeviceTail, IsTheNewestUpdatesOrNone) {
  const Layout layout = layout_of(DType::f32);
  Memory memory(layout, 1);
  const Values values(4, 1);
  NewRows rows = values.rows(4);
  const auto owner = std::make_shared<std::vector<float>>(16, 7.0f);
  rows.hidden = nullptr;  // the processor stands for a device
  rows.hidden_on_device = {owner->data(), DType::f32, {4, 4}};
  rows.hidden_memory = owner;
  memory.update({&rows, 1});
  EXPECT_EQ(memory.tail_near({}, 0).data, owner->data());
  EXPECT_EQ(memory.tail_near({DeviceKind::cuda, 1}, 0).data, memory.tail(0).data()) << "not there";
  EXPECT_NE(memory.tail(0).data(), owner->data());
  EXPECT_TRUE(std::equal(owner->begin(), owner->end(), memory.tail(0).begin())) << "brought when asked for";
  const Memory fork = memory;
  const NewRows plain = values.rows(3);
  memory.update({&plain, 1});
  EXPECT_EQ(memory.tail_near({}, 0).data, memory.tail(0).data());
  EXPECT_EQ(memory.tail_near({}, 0).size(0), 3);
  EXPECT_EQ(fork.tail_near({}, 0).data, owner->data());
  EXPECT_EQ(owner.use_count(), 3) << "ours, the rows' and the fork's";
}

TEST(NewRowsOfAPass, AreKeptAsTheyCameOrRounded) {
  const Layout layout = layout_of(DType::bf16);
  const Values values(3, 1.001f);
  std::vector<std::uint16_t> k, v, rest;
  for (const float x : values.k) k.push_back(f32_to_bf16(x));
  for (const float x : values.v) v.push_back(f32_to_bf16(x));
  for (const float x : values.rest) rest.push_back(f32_to_bf16(x));
  const auto hidden = std::make_shared<std::vector<float>>(12, 5.0f);
  const NewRows plain = values.rows(3);
  const NewRows rounded{.hidden = hidden->data(),
                        .k = k.data(),
                        .v = v.data(),
                        .key = rest.data(),
                        .n = 3,
                        .dtype = DType::bf16,
                        .hidden_memory = hidden};
  Memory one(layout, 1), other(layout, 1);
  one.update({&plain, 1});
  other.update({&rounded, 1});
  const RowsView a = one.short_term(0), b = other.short_term(0);
  EXPECT_TRUE(same_rows(layout, a, b));
  EXPECT_EQ(other.tail(0).data(), hidden->data()) << "not copied";
  EXPECT_NE(one.tail(0).data(), values.rest.data()) << "copied: nobody keeps it";
  EXPECT_EQ(one.size_bytes(), other.size_bytes());
}

}  // namespace
}  // namespace mplus::memory
