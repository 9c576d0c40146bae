// The devices of this machine, as parameters of tests that hold each of them to the same meaning.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "mplus/kernels/backend.h"

namespace mplus::kernels::test {

inline std::vector<Device> devices() {
  std::vector<Device> all{Device()};
  for (int i = 0; i < cuda_devices(); ++i) all.push_back({DeviceKind::cuda, static_cast<std::int8_t>(i)});
  return all;
}

inline std::string device_name(const testing::TestParamInfo<Device>& device) {
  return device.param.is_cpu() ? "cpu" : "cuda" + std::to_string(device.param.index);
}

}  // namespace mplus::kernels::test
