// The retriever alone, on a frozen model, in rounds: each makes chunks and questions anew
// (retriever/round.h), looks how many of them are found before anything is learnt from them, and trains on
// them for some steps (retriever/loss.h).
#pragma once

#include "mplus/train/run/stages/stage.h"

namespace mplus::train {

RunEnd run_retriever(Stage& stage);

// What such a stage leaves in the model beside tensors: how recall is to vote.
void set_recall(Model& model, const RetrieverStageOptions& options);

}  // namespace mplus::train
