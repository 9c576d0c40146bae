// Text to write around what is asked: chunks cut from files of texts or passages, taken from the files in
// turn. A file is read only as far as needed, since training sets are large.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "mplus/eval/data/chunks.h"

namespace mplus::eval {

struct FillerChunk {
  std::string text;
  std::string origin;  // "file:line", where it begins
};

class Fillers {
 public:
  // Cuts at least `chunks` chunks in all, an equal share from every file; throws not_found naming the file
  // that has too little text. Chunks shorter than `least` tokens are left out.
  Fillers(const std::vector<std::filesystem::path>& files, const Chunker& chunker, std::int64_t chunks,
          std::int64_t least);

  // A list of n chunks for one memory: files alternate, the order within each follows from seed and number.
  std::vector<const FillerChunk*> list(std::int64_t n, std::uint64_t seed, std::uint32_t number) const;

  // Of each file, in the order of its text.
  const std::vector<std::vector<FillerChunk>>& files() const { return files_; }

 private:
  std::vector<std::vector<FillerChunk>> files_;
};

}  // namespace mplus::eval
