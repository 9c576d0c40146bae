// The shape of a JSON value, read from a schema.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "mplus/io/text/ordered_json.h"

namespace mplus::engine {

// One kind each; several kinds are a choice.
struct JsonShape {
  enum class ValueKind { object, array, string, number, integer, literal, choice };
  struct Property {
    std::string key;  // as it stands in the text, quotes included
    const JsonShape* shape = nullptr;
    bool required = false;
  };

  ValueKind kind = ValueKind::choice;
  std::vector<Property> properties = {};
  const JsonShape* additional = nullptr;  // of an object's other keys; null: there are none
  const JsonShape* items = nullptr;
  std::size_t least = 0, most = std::numeric_limits<std::size_t>::max();  // items
  std::string literal = {};
  std::vector<const JsonShape*> choices = {};
  // The root owns all shapes of its schema: they refer to each other, also in circles.
  std::vector<std::unique_ptr<JsonShape>> owned = {};
};
using JsonShapePtr = std::shared_ptr<const JsonShape>;

// Understood: type (one or a list), properties, required, additionalProperties, items, minItems, maxItems,
// enum, const, anyOf, oneOf, $ref into $defs or definitions (also to itself), and what only describes.
// Properties come in the order of the schema. Throws invalid_argument naming what is not understood, or is
// too much.
JsonShapePtr json_shape(const io::OrderedJson& schema);
JsonShapePtr any_json_object();

}  // namespace mplus::engine
