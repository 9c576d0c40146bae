// GPT-2's byte alphabet: every byte as one printable character, so that a vocabulary of byte strings can
// stand in a text file. Bytes that are printable in Latin-1 stand for themselves, the others for U+0100 and
// on: a space is Ġ.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mplus::io {

char32_t byte_to_char(std::uint8_t byte);
std::optional<std::uint8_t> char_to_byte(char32_t c);

std::string spelled_byte(std::uint8_t byte);  // in UTF-8: one or two bytes

// The bytes a token stands for; nullopt if it holds a character that is not of the alphabet.
std::optional<std::string> spelled_bytes(std::string_view token);

}  // namespace mplus::io
