// tokenizer_reference TOKENIZER TEXTS IDS: encodes each text of a file and writes its ids, one line each.
// What they should be says scripts/tokenizer_reference.py, which runs this program.
#include <fmt/format.h>

#include <cstdio>
#include <cstring>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/io/gguf/gguf.h"
#include "mplus/io/tokenizer/tokenizer.h"

int main(int argc, char** argv) {
  using namespace mplus;
  if (argc != 4) {
    std::fputs("usage: tokenizer_reference TOKENIZER TEXTS IDS\n", stderr);
    return 2;
  }
  try {
    const std::filesystem::path path = argv[1];
    const io::Tokenizer tokenizer = path.extension() == ".gguf"
                                        ? io::Tokenizer::from_gguf(io::Gguf::open(path))
                                        : io::Tokenizer::from_file(path);
    const std::string texts = read_text_file(argv[2]);  // each: size as 4 bytes, little-endian; bytes
    AtomicFile out(argv[3]);
    for (std::size_t at = 0; at + 4 <= texts.size();) {
      std::uint32_t size = 0;
      std::memcpy(&size, texts.data() + at, sizeof size);
      at += sizeof size;
      const std::string line = fmt::format("{}\n", fmt::join(tokenizer.encode(texts.substr(at, size)), " "));
      out.write(line.data(), line.size());
      at += size;
    }
    out.commit();
  } catch (const Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
