// Rows in front of questions as the long-term store keeps them.
#pragma once

#include <vector>

#include "mplus/core/numbers/row_format.h"
#include "mplus/train/evaluation/reader.h"

namespace mplus::train {

// A layer's rows behind bos, and what they were born as: [Q, k], −1 where one is not of the store.
struct RecalledRows {
  FrontRows* front;
  Tensor births;
};

// Replaces keys and values of the store's rows by what comes back from `format`; others stay. All layers at
// once: on a GPU the many small steps would cost more than the numbers.
void keep_rows(const std::vector<RecalledRows>& layers, RowFormat format);

}  // namespace mplus::train
