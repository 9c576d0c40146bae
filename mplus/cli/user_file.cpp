#include "mplus/cli/user_file.h"

#include "mplus/store/store_folder.h"

namespace mplus::cli {
namespace {

const std::filesystem::path& no_store_file(const std::filesystem::path& file) {
  store::refuse_store_file(file);
  return file;
}

}  // namespace

UserFile::UserFile(const std::filesystem::path& file, bool force) : NewFile(no_store_file(file), force) {}

CLI::Option* add_force_option(CLI::App& command, bool& force) {
  return command.add_flag(
      "--force", force,
      "replace the file if it is there; never a link, a pipe, a folder or a store's own file");
}

}  // namespace mplus::cli
