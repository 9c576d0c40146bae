// Zip archives made in memory, part by part, right or wrong. Parts are stored as they are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mplus::documents::test {

struct ZipPart {
  std::string_view name;
  std::string_view content;
};

inline std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t sum = ~0u;
  for (const char c : bytes) {
    sum ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ (sum & 1 ? 0xedb88320u : 0u);
  }
  return ~sum;
}

class ZipBytes {
 public:
  ZipBytes& add(std::initializer_list<std::pair<int, std::size_t>> fields) {
    for (const auto& [bytes, value] : fields)
      for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
    return *this;
  }
  std::string out;
};

// `flags`: 1 says that the parts are encrypted.
inline std::string zip_file(const std::vector<ZipPart>& parts, std::size_t flags = 0) {
  ZipBytes locals, central;
  for (const auto& [name, content] : parts) {
    const std::size_t at = locals.out.size(), size = content.size(), sum = crc32(content);
    locals.out += "PK\3\4";
    locals.add(
        {{2, 20}, {2, flags}, {2, 0}, {4, 0}, {4, sum}, {4, size}, {4, size}, {2, name.size()}, {2, 0}});
    locals.out.append(name).append(content);
    central.out += "PK\1\2";
    central.add({{2, 20}, {2, 20}, {2, flags}, {2, 0}, {4, 0}, {4, sum}, {4, size}, {4, size}});
    central.add({{2, name.size()}, {2, 0}, {2, 0}, {2, 0}, {2, 0}, {4, 0}, {4, at}});
    central.out += name;
  }
  ZipBytes end;
  end.out = "PK\5\6";
  end.add({{2, 0},
           {2, 0},
           {2, parts.size()},
           {2, parts.size()},
           {4, central.out.size()},
           {4, locals.out.size()}});
  end.add({{2, 0}});
  return locals.out + central.out + end.out;
}

}  // namespace mplus::documents::test
