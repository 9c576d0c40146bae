#include "mplus/engine/locate.h"

#include <cstdlib>

#include "mplus/core/error.h"

namespace mplus::engine {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::optional<fs::path> search(const std::string& name) {
  std::error_code ignored;
  if (fs::exists(name, ignored)) return fs::path(name);
  if (name.find('/') != std::string::npos) return std::nullopt;
  for (const fs::path& folder : model_folders())
    if (fs::exists(folder / name, ignored)) return folder / name;
  return std::nullopt;
}

fs::path require(const std::string& name, const char* what, const char* advice) {
  if (const auto found = search(name)) return *found;
  std::string places;
  if (name.find('/') == std::string::npos)
    for (const fs::path& folder : model_folders()) places += "\n  " + (folder / name).string();
  fail(ErrorCode::not_found, "{} \"{}\" was not found{}{}{}", what, name,
       places.empty() ? "" : "; looked for", places, advice);
}

}  // namespace

fs::path home_folder() {
  if (const std::string home = environment("MPLUS_HOME"); !home.empty()) return home;
  if (const std::string data = environment("XDG_DATA_HOME"); !data.empty()) return fs::path(data) / "mplus";
  const std::string user = environment("HOME");
  return fs::path(user.empty() ? "." : user) / ".local" / "share" / "mplus";
}

std::vector<fs::path> model_folders() {
  std::vector<fs::path> folders{home_folder() / "models"};
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  if (!program.empty()) folders.push_back(program.parent_path().parent_path() / "share" / "mplus" / "models");
  if (*MPLUS_SOURCE_MODELS) folders.emplace_back(MPLUS_SOURCE_MODELS);
  return folders;
}

model::ModelFiles locate_model(const std::string& model, const std::string& delta, bool default_delta) {
  std::string model_name = model.empty() ? environment("MPLUS_MODEL") : model;
  std::string delta_name = delta.empty() ? environment("MPLUS_DELTA") : delta;
  const bool default_model = model_name.empty();
  if (default_model) model_name = kDefaultModelFile;
  const bool qwen_coder = model_name == kQwenCoderName && !search(model_name);
  if (qwen_coder) model_name = kQwenCoderFile;
  const char* advice = default_model ? "\nrun: mplus model get"
                       : qwen_coder  ? "\nrun: mplus model get qwen2.5-coder-1.5b"
                                     : "";
  model::ModelFiles files;
  files.model = require(model_name, "model", advice);
  const bool is_default = default_model || files.model.filename() == kDefaultModelFile;
  if (delta_name.empty() && default_delta && is_default) delta_name = kDefaultDeltaFile;
  if (delta_name.empty() && default_delta && files.model.filename() == kQwenCoderFile &&
      search(kQwenCoderDelta))
    delta_name = kQwenCoderDelta;
  if (!delta_name.empty() && delta_name != "none") files.delta = require(delta_name, "delta", "");
  return files;
}

}  // namespace mplus::engine
