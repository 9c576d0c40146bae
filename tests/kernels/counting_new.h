// How often this program has called operator new so far (counting_new.cpp replaces it).
#pragma once

namespace mplus::kernels {

int allocation_count();

}  // namespace mplus::kernels
