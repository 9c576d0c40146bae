// Zip archives in memory, for EPUB and .docx: parts by name. Nothing is written to disk, so a part's name is
// never a path of this machine.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "mplus/documents/reading.h"

struct zip;

namespace mplus::documents {

class Archive {
 public:
  Archive(const Reading& reading, std::string_view bytes);  // both must outlive it

  bool has(const std::string& part) const;
  // Throws corrupt where it is missing or damaged, unsupported where it is encrypted, and out_of_capacity
  // where all that was read so far unpacks to more than the limit.
  std::string read(const std::string& part);

 private:
  struct Discard {
    void operator()(zip* archive) const;
  };

  const Reading& reading_;
  std::unique_ptr<zip, Discard> archive_;
  std::size_t unpacked_ = 0;
};

}  // namespace mplus::documents
