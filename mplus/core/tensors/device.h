// Where memory lies, and who computes with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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

// What is asked for: a device, or the best that is there.
struct DeviceChoice {
  bool automatic = false;
  Device device = {};
  bool operator==(const DeviceChoice&) const = default;
};

// "auto", "cpu", "cuda" (the first one) or "cuda:2".
std::optional<DeviceChoice> device_choice_from_name(std::string_view name);

}  // namespace mplus
