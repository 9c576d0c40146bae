// dequantise_reference MODEL.gguf VALUES: writes the values of all tensors, by name, as 32-bit floats. What
// they should be says tools/dequantise_reference.py, which runs this program.
#include <cstdio>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/io/gguf/gguf.h"
#include "mplus/io/weights/dequantise.h"

int main(int argc, char** argv) {
  using namespace mplus;
  if (argc != 3) {
    std::fputs("usage: dequantise_reference MODEL.gguf VALUES\n", stderr);
    return 2;
  }
  try {
    const io::Gguf file = io::Gguf::open(argv[1]);
    AtomicFile out(argv[2]);
    for (const auto& [name, tensor] : file.tensors()) {
      const std::vector<float> values = io::dequantise(tensor);
      out.write(values.data(), values.size() * sizeof(float));
    }
    out.commit();
  } catch (const Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
