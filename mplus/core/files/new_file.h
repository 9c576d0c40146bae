// A file that somebody named, to be made: nothing that is there is lost by mistake. It is written under
// another name beside it and gets its own at the end, in one step.
#pragma once

#include <filesystem>

namespace mplus {

class NewFile {
 public:
  // `replace`: a regular file of that name may go. Throws invalid_argument where something is there that may
  // not: any file without `replace`; a link, a folder, a pipe or a device in any case.
  NewFile(std::filesystem::path file, bool replace);
  ~NewFile();  // without commit(): as if nothing had happened
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  const std::filesystem::path& path() const { return temporary_; }  // write here, and sync
  const std::filesystem::path& named() const { return file_; }
  // Throws as the constructor does where something has come to be there meanwhile.
  void commit();

 private:
  std::filesystem::path file_, temporary_;
  bool replace_;
};

}  // namespace mplus
