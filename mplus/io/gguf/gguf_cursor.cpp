#include "mplus/io/gguf/gguf_cursor.h"

#include <fmt/core.h>

namespace mplus::io {

std::size_t gguf_type_bytes(Gguf::Type type) {
  switch (type) {
    case Gguf::Type::u8:
    case Gguf::Type::i8:
    case Gguf::Type::boolean:
      return 1;
    case Gguf::Type::u16:
    case Gguf::Type::i16:
      return 2;
    case Gguf::Type::u32:
    case Gguf::Type::i32:
    case Gguf::Type::f32:
      return 4;
    case Gguf::Type::u64:
    case Gguf::Type::i64:
    case Gguf::Type::f64:
      return 8;
    case Gguf::Type::string:
    case Gguf::Type::array:
      break;
  }
  return 0;
}

void GgufCursor::fail_at(std::string_view what, std::string_view expected, std::string_view found) const {
  fail(ErrorCode::corrupt, "{}: {}: expected {}, found {} (before byte {})", file_, what, expected, found,
       at_);
}

std::span<const std::byte> GgufCursor::take(std::uint64_t count, std::string_view what) {
  if (count > left())
    fail_at(what, fmt::format("{} bytes", count), fmt::format("{} left in the file: truncated?", left()));
  const auto part = bytes_.subspan(at_, count);
  at_ += count;
  return part;
}

std::string_view GgufCursor::string(std::string_view what) {
  const auto length = number<std::uint64_t>(what);
  const auto part = take(length, what);
  return {reinterpret_cast<const char*>(part.data()), part.size()};
}

Gguf::Type GgufCursor::type(std::string_view what) {
  const auto number_of_type = number<std::uint32_t>(what);
  if (number_of_type > static_cast<std::uint32_t>(Gguf::Type::f64))
    fail_at(what, "a value type from 0 to 12", fmt::format("{}", number_of_type));
  return static_cast<Gguf::Type>(number_of_type);
}

Gguf::Array GgufCursor::array(std::string_view what) {
  Gguf::Array out;
  out.type = type(what);
  out.count = number<std::uint64_t>(what);
  if (out.type == Gguf::Type::array)
    fail(ErrorCode::unsupported, "{}: {}: expected an array of plain values, found an array of arrays", file_,
         what);
  const std::size_t least_bytes = out.type == Gguf::Type::string ? 8 : gguf_type_bytes(out.type);
  if (out.count > left() / least_bytes)
    fail_at(what, fmt::format("{} values of at least {} bytes", out.count, least_bytes),
            fmt::format("{} bytes left in the file", left()));
  const std::uint64_t start = at_;
  if (out.type == Gguf::Type::string) {
    for (std::uint64_t i = 0; i < out.count; ++i) string(what);
  } else {
    take(out.count * least_bytes, what);
  }
  out.bytes = bytes_.subspan(start, at_ - start);
  return out;
}

Gguf::Value GgufCursor::value(std::string_view what) { return value_of(type(what), what); }

Gguf::Value GgufCursor::value_of(Gguf::Type type, std::string_view what) {
  switch (type) {
    case Gguf::Type::u8:
      return std::uint64_t{number<std::uint8_t>(what)};
    case Gguf::Type::i8:
      return std::int64_t{number<std::int8_t>(what)};
    case Gguf::Type::u16:
      return std::uint64_t{number<std::uint16_t>(what)};
    case Gguf::Type::i16:
      return std::int64_t{number<std::int16_t>(what)};
    case Gguf::Type::u32:
      return std::uint64_t{number<std::uint32_t>(what)};
    case Gguf::Type::i32:
      return std::int64_t{number<std::int32_t>(what)};
    case Gguf::Type::f32:
      return double{number<float>(what)};
    case Gguf::Type::boolean: {
      const auto byte = number<std::uint8_t>(what);
      if (byte > 1) fail_at(what, "a boolean of 0 or 1", fmt::format("{}", byte));
      return byte == 1;
    }
    case Gguf::Type::string:
      return string(what);
    case Gguf::Type::array:
      return array(what);
    case Gguf::Type::u64:
      return number<std::uint64_t>(what);
    case Gguf::Type::i64:
      return number<std::int64_t>(what);
    case Gguf::Type::f64:
      return number<double>(what);
  }
  return false;
}

}  // namespace mplus::io
