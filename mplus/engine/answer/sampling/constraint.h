// What an answer's text may be: bytes are taken one after another, and at each place it is known which can
// follow. A constraint is made for each attempt at an answer.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "mplus/io/tokenizer/tokenizer.h"

namespace mplus::engine {

class Constraint {
 public:
  virtual ~Constraint() = default;
  virtual bool allows(std::string_view bytes) const = 0;  // could they follow?
  virtual void take(std::string_view bytes) = 0;          // they do
  virtual bool may_end() const = 0;
};

// Makes every token impossible (−∞) that may not follow. Only the likeliest ones are looked at, unless none
// of them may.
class Engine;
void apply(const Constraint& constraint, const Engine& engine, std::span<float> logits);

}  // namespace mplus::engine
