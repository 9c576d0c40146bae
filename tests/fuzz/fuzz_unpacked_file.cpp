#include "mplus/io/text/unpacked_file.h"
#include "tests/fuzz/accept.h"
#include "tests/fuzz/scratch.h"

// A small file may unpack to very much: a reader takes it piece by piece, and no piece is large.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mplus::io;
  constexpr std::size_t kLargestPiece = std::size_t{1} << 18;
  constexpr std::size_t kEnough = std::size_t{1} << 20;
  const auto path = test::scratch().write("packed", test::input_bytes(data, size));
  test::accept_errors([&] {
    UnpackedFile file(path);
    std::string piece;
    for (std::size_t total = 0; total < kEnough && file.append_to(piece); piece.clear()) {
      MPLUS_CHECK(!piece.empty() && piece.size() <= kLargestPiece, "{}", piece.size());
      total += piece.size();
    }
  });
  return 0;
}
