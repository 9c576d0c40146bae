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
  const RecallPolicy &p = a.recall, &q = b.recall;
  EXPECT_EQ(p.rule, q.rule);
  EXPECT_EQ(p.vote_top, q.vote_top);
  EXPECT_EQ(p.over_everything, q.over_everything);
  EXPECT_EQ(p.margin, q.margin);
  EXPECT_EQ(p.read_over, q.read_over);
  EXPECT_EQ(p.attempts, q.attempts);
  EXPECT_EQ(p.lean, q.lean);
  EXPECT_EQ(p.lag, q.lag);
  EXPECT_EQ(p.no_answer, q.no_answer);
  EXPECT_EQ(a.prompt, b.prompt);
  EXPECT_EQ(a.stop, b.stop);
  EXPECT_EQ(a.chunk_form, b.chunk_form);
  EXPECT_EQ(a.chat_trained, b.chat_trained);
  EXPECT_EQ(a.base, b.base);
}

}  // namespace mplus::io
