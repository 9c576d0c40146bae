// A file that the user named, to be made. One that is there is replaced only with --force, and a file of a
// session store never (core/files/new_file.h).
#pragma once

#include <CLI/CLI.hpp>

#include "mplus/core/files/new_file.h"

namespace mplus::cli {

class UserFile : public NewFile {
 public:
  UserFile(const std::filesystem::path& file, bool force);
};

CLI::Option* add_force_option(CLI::App& command, bool& force);

}  // namespace mplus::cli
