// What every target does: a reader may succeed or throw Error. Anything else, a sanitizer's report, a failed
// check, an exception of another kind, is a finding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "mplus/core/error.h"

namespace mplus::io::test {

template <class F>
void accept_errors(F&& read) {
  try {
    read();
  } catch (const Error&) {
  }
}

inline std::span<const std::byte> input_bytes(const std::uint8_t* data, std::size_t size) {
  return std::as_bytes(std::span(data, size));
}

}  // namespace mplus::io::test
