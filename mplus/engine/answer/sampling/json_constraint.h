// Answers that are JSON of a given shape: what may follow, byte by byte.
#pragma once

#include <memory>

#include "mplus/engine/answer/sampling/constraint.h"
#include "mplus/engine/answer/sampling/json_shape.h"

namespace mplus::engine {

std::unique_ptr<Constraint> json_constraint(JsonShapePtr shape);

}  // namespace mplus::engine
