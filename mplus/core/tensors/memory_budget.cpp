#include "mplus/core/tensors/memory_budget.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "mplus/core/error.h"

namespace mplus {
namespace {

constexpr std::string_view kUnits = "kMGT";

std::optional<double> unit_from_text(std::string_view text) {
  if (text.empty() || text == "B") return 1;
  const std::size_t power = kUnits.find(text.front() == 'K' ? 'k' : text.front());
  if (power == std::string_view::npos) return std::nullopt;
  text.remove_prefix(1);
  const bool binary = !text.empty() && text.front() == 'i';
  if (binary) text.remove_prefix(1);
  if (!text.empty() && text != "B") return std::nullopt;
  return std::pow(binary ? 1024.0 : 1000.0, static_cast<double>(power + 1));
}

}  // namespace

std::optional<std::size_t> bytes_from_text(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number) || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  const std::optional<double> unit = unit_from_text(text);
  if (!unit || number * *unit >= 1e18) return std::nullopt;
  return static_cast<std::size_t>(std::llround(number * *unit));
}

std::string bytes_as_text(std::size_t size_bytes) {
  auto size = static_cast<double>(size_bytes);
  std::size_t power = 0;
  while (size >= 1000 && power < kUnits.size()) {
    size /= 1000;
    ++power;
  }
  if (power == 0) return fmt::format("{} B", size_bytes);
  return fmt::format("{:.1f} {}B", std::ceil(size * 10) / 10, kUnits[power - 1]);
}

std::size_t MemoryBudget::left() const {
  const std::size_t most = most_, used = used_;
  if (most == 0) return std::numeric_limits<std::size_t>::max();
  return most > used ? most - used : 0;
}

std::size_t MemoryBudget::spare() const {
  const std::size_t most = most_, taken = kept_ + spare_used_;
  if (most == 0) return std::numeric_limits<std::size_t>::max();
  return most > taken ? std::min(most - taken, left()) : 0;
}

void MemoryBudget::require(std::size_t more_bytes) const {
  if (more_bytes <= left()) return;
  const std::size_t used = used_;
  fail(ErrorCode::out_of_capacity,
       "{}: {} more are wanted, and {} of the {} that {} allows are taken; {} would be enough for this",
       what_, bytes_as_text(more_bytes), bytes_as_text(used), bytes_as_text(most_), option_,
       bytes_as_text(used + more_bytes));
}

MemoryBudget& device_budget() {
  static MemoryBudget budget("memory on the device", "--device-memory");
  return budget;
}

MemoryBudget& host_budget() {
  static MemoryBudget budget("rows of memories on the host", "--host-memory");
  return budget;
}

}  // namespace mplus
