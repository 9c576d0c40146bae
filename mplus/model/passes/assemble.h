// How the attention cache of a read is filled when it begins: what stands in front of the tokens.
#pragma once

#include <cstdint>

#include "mplus/model/passes/read_pass.h"

namespace mplus::model {

// Behind the rows that are there, rotated.
void append_rows(Workspace& w, kernels::KvCache& cache, ConstTensor k, ConstTensor v);

// [bos | recalled | short-term | window] of one layer. Attention sees how far apart rows are, not where they
// stand, so that scouts may leave room in front for what they will find.
void assemble(Workspace& w, const ReadItem& item, std::int64_t layer, const memory::LayerQueries& queries,
              Adapter adapter);

}  // namespace mplus::model
