// Field by field, so that a difference is named.
#pragma once

#include <gtest/gtest.h>

#include "mplus/io/config/memory_config.h"

namespace mplus::io {

inline void expect_same(const MemoryConfig& a, const MemoryConfig& b) {
  EXPECT_EQ(a.K, b.K);
  EXPECT_EQ(a.N, b.N);
  EXPECT_EQ(a.K0, b.K0);
  EXPECT_EQ(a.M, b.M);
  EXPECT_EQ(a.C, b.C);
  EXPECT_EQ(a.W, b.W);
  EXPECT_EQ(a.d_r, b.d_r);
  EXPECT_EQ(a.lora.rank, b.lora.rank);
  EXPECT_EQ(a.lora.alpha, b.lora.alpha);
  EXPECT_EQ(a.drop_per_layer, b.drop_per_layer);
  EXPECT_EQ(a.has_retriever, b.has_retriever);
  EXPECT_EQ(a.has_encoder_query, b.has_encoder_query);
  EXPECT_EQ(a.has_read_lora, b.has_read_lora);
  EXPECT_EQ(a.layers, b.layers);
  EXPECT_EQ(a.selector_layers, b.selector_layers);
  EXPECT_EQ(a.selector_depth, b.selector_depth);
  EXPECT_EQ(a.vote_top, b.vote_top);
  EXPECT_EQ(a.recall, b.recall);
  EXPECT_EQ(a.recall_over_everything, b.recall_over_everything);
  EXPECT_EQ(a.recall_margin, b.recall_margin);
  EXPECT_EQ(a.read_over, b.read_over);
  EXPECT_EQ(a.read_turns, b.read_turns);
  EXPECT_EQ(a.turn_lean, b.turn_lean);
  EXPECT_EQ(a.turn_lag, b.turn_lag);
  EXPECT_EQ(a.no_answer, b.no_answer);
  EXPECT_EQ(a.prompt, b.prompt);
  EXPECT_EQ(a.stop, b.stop);
  EXPECT_EQ(a.chunk_form, b.chunk_form);
  EXPECT_EQ(a.chat_trained, b.chat_trained);
  EXPECT_EQ(a.base, b.base);
}

}  // namespace mplus::io
