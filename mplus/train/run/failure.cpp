#include "mplus/train/run/failure.h"

#include <fmt/core.h>

#include "mplus/train/torch.h"

namespace mplus::train {

std::string failure_text(const std::exception& error, std::string_view less_memory) {
  const auto* of_torch = dynamic_cast<const c10::Error*>(&error);
  if (of_torch == nullptr) return error.what();
  std::string text = of_torch->what_without_backtrace();
  if (dynamic_cast<const c10::OutOfMemoryError*>(of_torch) == nullptr) return text;
  return fmt::format(
      "the GPU's memory is full. {}. What other programs hold there (nvidia-smi) counts, too.\n({})",
      less_memory, text.substr(0, text.find('\n')));
}

}  // namespace mplus::train
