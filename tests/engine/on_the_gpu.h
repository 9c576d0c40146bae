// What tests of the engine on a GPU have in common.
#pragma once

#include <gtest/gtest.h>

#include "tests/engine/tiny_engine.h"
#include "tests/memory/same_rows.h"

namespace mplus::engine {

inline EngineOptions on_the_gpu() {
  EngineOptions options = tiny_options(4);
  options.device = {.automatic = false, .device = {DeviceKind::cuda, 0}};
  return options;
}

inline void expect_same_memory(const memory::Memory& a, const memory::Memory& b) {
  EXPECT_EQ(a.updates(), b.updates());
  for (std::int64_t l = 0; l < a.layout().layers; ++l) {
    EXPECT_TRUE(memory::same_rows(a.layout(), a.short_term(l), b.short_term(l))) << "layer " << l;
    EXPECT_EQ(a.long_term().size(l), b.long_term().size(l));
    EXPECT_TRUE(std::equal(a.tail(l).begin(), a.tail(l).end(), b.tail(l).begin(), b.tail(l).end()));
  }
}

}  // namespace mplus::engine
