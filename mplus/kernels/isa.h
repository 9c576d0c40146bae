// Which instruction set the operations run on: the best this processor has, unless the environment variable
// MPLUS_ISA names a lesser one. Chosen once, at first use.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mplus/kernels/cpu/table.h"
#include "mplus/kernels/queue.h"

namespace mplus::kernels {

const Table& table();
std::vector<std::string_view> runnable_isas();  // best first; "portable" is always the last

std::string isa_numerics_id(Numerics numerics);  // of the set in use

// For tests and benchmarks: switch sets while no operation is running. An unknown or missing set is an
// invalid_argument error.
void force_isa(std::string_view name);

}  // namespace mplus::kernels
