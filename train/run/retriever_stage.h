// The retriever alone, on a frozen model, in rounds: each makes chunks and questions anew
// (retriever/round.h), looks how many of them are found before anything is learnt from them, and trains on
// them for some steps (retriever/loss.h).
#pragma once

#include "mplus/train/run/stage.h"

namespace mplus::train {

RunEnd run_retriever(Stage& stage);

}  // namespace mplus::train
