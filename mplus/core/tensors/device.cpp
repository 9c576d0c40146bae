#include "mplus/core/tensors/device.h"

#include <charconv>

namespace mplus {

std::optional<DeviceChoice> device_choice_from_name(std::string_view name) {
  if (name == "auto") return DeviceChoice{.automatic = true};
  if (name == "cpu") return DeviceChoice{};
  if (name == "cuda") return DeviceChoice{.device = {DeviceKind::cuda, 0}};
  if (!name.starts_with("cuda:")) return std::nullopt;
  const char *begin = name.data() + 5, *end = name.data() + name.size();
  std::int8_t index = -1;
  const auto [stopped, error] = std::from_chars(begin, end, index);
  if (error != std::errc() || stopped != end || index < 0) return std::nullopt;
  return DeviceChoice{.device = {DeviceKind::cuda, index}};
}

}  // namespace mplus
