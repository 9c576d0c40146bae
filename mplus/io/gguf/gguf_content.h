// What a Gguf holds; private to this room.
#pragma once

#include "mplus/core/files/file.h"
#include "mplus/io/gguf/gguf.h"

namespace mplus::io {

struct Gguf::Content {
  std::filesystem::path path;
  std::uint32_t version = 0;
  Metadata metadata;
  TensorMap tensors;
  std::shared_ptr<const MappedFile> mapped;  // none for bytes that were handed in
};

}  // namespace mplus::io
