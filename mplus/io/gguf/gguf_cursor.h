// A reading position in a GGUF file. Every step is checked against the bytes that are left, before anything
// is allocated; private to this room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "mplus/core/error.h"
#include "mplus/io/gguf/gguf.h"

namespace mplus::io {

class GgufCursor {
 public:
  GgufCursor(std::span<const std::byte> bytes, std::string_view file) : bytes_(bytes), file_(file) {}

  // what names the field that is being read, for the message when the file ends inside it.
  template <class T>
  T number(std::string_view what) {
    T value;
    std::memcpy(&value, take(sizeof value, what).data(), sizeof value);
    return value;
  }
  std::string_view string(std::string_view what);
  Gguf::Value value(std::string_view what);  // a type, then a value of it

  std::uint64_t position() const { return at_; }
  std::uint64_t left() const { return bytes_.size() - at_; }
  std::string_view file() const { return file_; }

  [[noreturn]] void fail_at(std::string_view what, std::string_view expected, std::string_view found) const;

 private:
  std::span<const std::byte> take(std::uint64_t count, std::string_view what);
  Gguf::Value value_of(Gguf::Type type, std::string_view what);
  Gguf::Type type(std::string_view what);
  Gguf::Array array(std::string_view what);

  std::span<const std::byte> bytes_;
  std::string_view file_;
  std::uint64_t at_ = 0;
};

// Bytes of a value of fixed size; 0 for strings and arrays.
std::size_t gguf_type_bytes(Gguf::Type type);

}  // namespace mplus::io
