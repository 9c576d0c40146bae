#include "mplus/cli/memory_file.h"

#include <cstdlib>

#include "mplus/core/error.h"
#include "mplus/engine/locate.h"
#include "mplus/engine/session_file.h"

namespace mplus::cli {
namespace {

namespace fs = std::filesystem;

std::string metadata_of(const io::Safetensors& file, const char* key) {
  const auto at = file.metadata().find(key);
  return at == file.metadata().end() ? "" : at->second;
}

model::MemoryOptions memory_form(const MemoryOptions& asked) {
  std::string dtype = asked.dtype, capacity = asked.ltm_capacity;
  model::MemoryOptions form{.keep_hidden = asked.keep_hidden};
  std::error_code ignored;
  if (!asked.file.empty() && fs::exists(asked.file, ignored)) {
    const io::Safetensors file = io::Safetensors::open(asked.file);
    engine::session_file_info(file);  // says so if it is no memory file
    const bool kept = metadata_of(file, "hidden_states") == "kept";
    if (form.keep_hidden && !kept)
      fail(ErrorCode::invalid_argument,
           "{}: begun without hidden states; --keep-hidden can only begin a new memory", asked.file);
    form.keep_hidden = kept;
    if (dtype.empty()) dtype = metadata_of(file, "dtype") == "F32" ? "f32" : "bf16";
    if (capacity.empty()) capacity = metadata_of(file, "M");
  }
  form.dtype = dtype == "f32" ? DType::f32 : DType::bf16;
  if (capacity == "unlimited") form.long_term_capacity = memory::kUnlimited;
  else if (!capacity.empty()) form.long_term_capacity = std::strtoll(capacity.c_str(), nullptr, 10);
  return form;
}

// Where a path leads, also where nothing is there yet: one file must have one lock, whatever it is called.
fs::path behind_links(fs::path path) {
  std::error_code error;
  for (int hops = 0; hops < 40 && fs::is_symlink(fs::symlink_status(path, error)); ++hops) {
    const fs::path target = fs::read_symlink(path, error);
    if (error) break;
    path = target.is_absolute() ? target : path.parent_path() / target;
  }
  const fs::path canonical = fs::weakly_canonical(path, error);
  return error ? path : canonical;
}

}  // namespace

std::unique_ptr<engine::Engine> open_engine(const ModelOptions& model, const MemoryOptions& memory,
                                            bool default_delta) {
  engine::EngineOptions options;
  options.files = engine::locate_model(model.model, model.delta, default_delta);
  options.threads = model.threads;
  options.numerics = model.numerics == "exact" ? kernels::Numerics::exact : kernels::Numerics::fast;
  options.memory = memory_form(memory);
  return std::make_unique<engine::Engine>(options);
}

engine::Session open_session(engine::Engine& engine, const MemoryOptions& memory, std::uint64_t seed) {
  if (memory.file.empty()) return engine::Session(engine, seed);
  return engine::Session::load(engine, memory.file);
}

MemoryLock::MemoryLock(const fs::path& file)
    : file_(behind_links(file)), lock_(file_.string() + ".lock", fmt::format("memory {}", file.string())) {}

engine::Session MemoryLock::open(engine::Engine& engine, std::uint64_t seed) const {
  std::error_code ignored;
  if (fs::exists(file_, ignored)) return engine::Session::load(engine, file_);
  return engine::Session(engine, seed);
}

}  // namespace mplus::cli
