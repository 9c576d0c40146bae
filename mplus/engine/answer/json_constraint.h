// Answers that are JSON, of a shape that a schema describes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mplus/engine/answer/constraint.h"
#include "mplus/io/text/json.h"

namespace mplus::engine {

struct JsonShape;
using JsonShapePtr = std::shared_ptr<const JsonShape>;

// Understood: type (one or a list), properties, required, additionalProperties, items, minItems, maxItems,
// enum, const, anyOf, oneOf, $ref into $defs or definitions (also to itself), and what only describes.
// Properties come in alphabetical order. Throws invalid_argument naming what is not understood.
JsonShapePtr json_shape(const io::Json& schema);
JsonShapePtr any_json_object();

std::unique_ptr<Constraint> json_constraint(JsonShapePtr shape);

}  // namespace mplus::engine
