#include "mplus/core/tensors/device.h"

#include <gtest/gtest.h>

namespace mplus {
namespace {

TEST(Device, ChoicesByName) {
  EXPECT_EQ(device_choice_from_name("auto"), DeviceChoice{.automatic = true});
  EXPECT_EQ(device_choice_from_name("cpu"), DeviceChoice{});
  EXPECT_EQ(device_choice_from_name("cuda"), (DeviceChoice{.device = {DeviceKind::cuda, 0}}));
  EXPECT_EQ(device_choice_from_name("cuda:12"), (DeviceChoice{.device = {DeviceKind::cuda, 12}}));
  for (const char* name : {"", "gpu", "cuda:", "cuda:-1", "cuda:1x", "cuda:128", "cuda0", "CUDA", "cpu:0"})
    EXPECT_EQ(device_choice_from_name(name), std::nullopt) << name;
}

TEST(Device, NamesAreReadBack) {
  for (const Device& device : {Device(), Device{DeviceKind::cuda, 0}, Device{DeviceKind::cuda, 3}})
    EXPECT_EQ(device_choice_from_name(device_name(device)), DeviceChoice{.device = device});
}

}  // namespace
}  // namespace mplus
