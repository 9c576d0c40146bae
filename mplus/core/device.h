// Where memory lies, and who computes with it.
#pragma once

#include <cstdint>
#include <string>

namespace mplus {

enum class DeviceKind : std::uint8_t { cpu, cuda };

struct Device {
  DeviceKind kind = DeviceKind::cpu;
  std::int8_t index = 0;

  bool is_cpu() const { return kind == DeviceKind::cpu; }
  bool operator==(const Device&) const = default;
};

inline std::string device_name(const Device& device) {
  return device.is_cpu() ? "cpu" : "cuda:" + std::to_string(device.index);
}

}  // namespace mplus
