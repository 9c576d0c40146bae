// What a memory file says without its model: sizes, the model it belongs to, and the texts that were read.
#pragma once

#include "mplus/cli/inspect/files.h"
#include "mplus/io/weights/safetensors.h"

namespace mplus::cli {

void add_session(Json& report, const io::Safetensors& file, const InspectOptions& options);

}  // namespace mplus::cli
