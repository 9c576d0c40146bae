#include "mplus/core/numbers/dtype.h"

#include <array>
#include <utility>

namespace mplus {
namespace {
constexpr std::array<std::pair<DType, std::string_view>, 16> kTypeNames{{{DType::f32, "F32"},
                                                                         {DType::f16, "F16"},
                                                                         {DType::bf16, "BF16"},
                                                                         {DType::i64, "I64"},
                                                                         {DType::i32, "I32"},
                                                                         {DType::i8, "I8"},
                                                                         {DType::u8, "U8"},
                                                                         {DType::boolean, "BOOL"},
                                                                         {DType::q8_0, "Q8_0"},
                                                                         {DType::q4_0, "Q4_0"},
                                                                         {DType::q4_1, "Q4_1"},
                                                                         {DType::q5_0, "Q5_0"},
                                                                         {DType::q5_1, "Q5_1"},
                                                                         {DType::q4_k, "Q4_K"},
                                                                         {DType::q5_k, "Q5_K"},
                                                                         {DType::q6_k, "Q6_K"}}};
}  // namespace

std::string_view dtype_name(DType dtype) {
  for (const auto& [type, name] : kTypeNames)
    if (type == dtype) return name;
  return "?";
}

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const auto& [type, known] : kTypeNames)
    if (known == name) return type;
  return std::nullopt;
}

}  // namespace mplus
