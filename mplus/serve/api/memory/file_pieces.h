// Bodies of replies that come from files, piece by piece.
#pragma once

#include <filesystem>
#include <memory>

#include "mplus/serve/http/message.h"

namespace mplus::serve {

// A folder for files on their way, gone with it.
class Transit {
 public:
  Transit();  // throws io
  Transit(const Transit&) = delete;
  Transit& operator=(const Transit&) = delete;
  ~Transit();
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

// The bytes of a file; of a folder, all files in it as a tar archive whose paths begin with `name`. `kept`
// stays until the last piece. Throws io where something cannot be read.
PieceSource file_pieces(const std::filesystem::path& file, std::shared_ptr<Transit> kept);
PieceSource tar_pieces(const std::filesystem::path& folder, const std::string& name,
                       std::shared_ptr<Transit> kept);

}  // namespace mplus::serve
