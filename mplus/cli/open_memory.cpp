#include "mplus/cli/open_memory.h"

#include <cstdlib>

#include "mplus/cli/commands/command.h"
#include "mplus/cli/output/print.h"
#include "mplus/cli/output/progress_bar.h"
#include "mplus/cli/output/terminal.h"
#include "mplus/core/error.h"
#include "mplus/core/tensors/memory_budget.h"
#include "mplus/engine/files/session_file.h"
#include "mplus/engine/locate.h"
#include "mplus/io/text/names.h"
#include "mplus/store/store_folder.h"

namespace mplus::cli {
namespace {

namespace fs = std::filesystem;

std::string metadata_of(const io::Safetensors& file, const char* key) {
  const auto at = file.metadata().find(key);
  return at == file.metadata().end() ? "" : at->second;
}

std::int64_t capacity_rows(const std::string& text) {
  return text == "unlimited" ? memory::kUnlimited : std::strtoll(text.c_str(), nullptr, 10);
}

std::optional<store::SessionInfo> existing_session(const MemoryOptions& asked) {
  if (asked.session.empty() || !store::Store::exists(engine::home_folder())) return std::nullopt;
  return open_store(store::Access::read).find(asked.session);
}

model::MemoryOptions memory_form(const MemoryOptions& asked) {
  std::string dtype = asked.dtype, capacity = asked.ltm_capacity;
  model::MemoryOptions form{.keep_hidden = asked.keep_hidden};
  std::error_code ignored;
  if (const auto session = existing_session(asked)) {
    const store::Settings& settings = session->settings;
    const auto refuse = [&](const char* option) {
      fail(ErrorCode::invalid_argument, "session {}: begun otherwise; {} can only begin a new session",
           io::shown(session->name), option);
    };
    if (!dtype.empty() && memory_type_of(dtype) != settings.type) refuse("--memory-dtype");
    if (form.keep_hidden && !settings.keep_hidden) refuse("--keep-hidden");
    if (!capacity.empty() && capacity_rows(capacity) != settings.capacity) refuse("--ltm-capacity");
    return {.dtype = settings.type.dtype,
            .long_term = settings.type.long_term,
            .keep_hidden = settings.keep_hidden,
            .long_term_capacity = settings.capacity};
  }
  if (!asked.file.empty() && fs::exists(asked.file, ignored)) {
    const io::Safetensors file = io::Safetensors::open(asked.file);
    const MemoryType type = engine::session_file_info(file).type;  // says so if it is no memory file
    const bool kept = metadata_of(file, "hidden_states") == "kept";
    if (form.keep_hidden && !kept)
      fail(ErrorCode::invalid_argument,
           "{}: begun without hidden states; --keep-hidden can only begin a new memory", asked.file);
    form.keep_hidden = kept;
    if (!dtype.empty() && memory_type_of(dtype) != type)
      fail(ErrorCode::invalid_argument, "{}: begun as {}; --memory-dtype can only begin a new memory",
           asked.file, memory_type_name(type));
    form.dtype = type.dtype;
    form.long_term = type.long_term;
    if (capacity.empty()) capacity = metadata_of(file, "M");
  } else {
    form.dtype = memory_type_of(dtype).dtype;
    form.long_term = memory_type_of(dtype).long_term;
  }
  if (!capacity.empty()) form.long_term_capacity = capacity_rows(capacity);
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

fs::path outside_stores(fs::path file) {
  store::refuse_store_file(file);
  return file;
}

}  // namespace

std::unique_ptr<engine::Engine> open_engine(const ModelOptions& model, const MemoryOptions& memory,
                                            bool default_delta) {
  engine::EngineOptions options;
  options.files = engine::locate_model(model.model, model.delta, default_delta);
  options.threads = model.threads;
  options.numerics = model.numerics == "exact" ? kernels::Numerics::exact : kernels::Numerics::fast;
  options.device = device_choice_from_name(model.device).value_or(DeviceChoice());
  options.weights = model.device_weights == "int8"  ? model::WeightForm::int8
                    : model.device_weights == "fp8" ? model::WeightForm::fp8
                                                    : model::WeightForm::values;
  device_budget().limit(bytes_from_text(model.device_memory).value_or(0));
  host_budget().limit(bytes_from_text(model.host_memory).value_or(0));
  options.memory = memory_form(memory);
  return std::make_unique<engine::Engine>(options);
}

void choose_memory(MemoryOptions& memory, Fallback fallback) {
  if (!memory.file.empty() && !memory.session.empty())
    throw UsageError("--memory and --session: a memory is in a file or in the store, not in both");
  if (memory.session == store::kNoSession) {
    memory.session.clear();
  } else if (memory.file.empty() && memory.session.empty() && fallback != Fallback::none) {
    memory.session = kDefaultSession;
    if (fallback == Fallback::existing_session && !existing_session(memory)) memory.session.clear();
  }
}

store::Store open_store(store::Access access) {
  return store::Store(engine::home_folder(),
                      {.access = access, .warn = [](const std::string& message) { warn(message); }});
}

MemoryLock::MemoryLock(const fs::path& file)
    : file_(outside_stores(behind_links(file))),
      lock_(file_.string() + ".lock", fmt::format("memory {}", file.string())) {}

engine::Session MemoryLock::open(engine::Engine& engine, std::uint64_t seed) const {
  std::error_code ignored;
  if (fs::exists(file_, ignored)) return engine::load_session_file(engine, file_);
  return engine::Session(engine, seed);
}

OpenMemory::OpenMemory(engine::Engine& engine, const MemoryOptions& memory, std::uint64_t seed,
                       store::Access access)
    : options_(memory) {
  if (!memory.session.empty()) {
    store_.emplace(open_store(access));
    if (store_->read_only())
      note("note: {} cannot be written: nothing of this is stored\n", printable(store_->folder().string()));
    store::StoredOptions options;
    options.seed = seed;
    options.batch = memory.batch;
    options.warn = warn;
    auto bar = std::make_shared<std::optional<ProgressBar>>();
    options.replay_progress = [bar](std::int64_t done, std::int64_t total) {
      if (!*bar) bar->emplace("event", total);
      (*bar)->show(done, "reading the journal");
      if (done + 1 == total) bar->reset();
      return true;
    };
    stored_ = std::make_unique<store::StoredSession>(*store_, engine, memory.session, access, options);
  } else if (!memory.file.empty() && access == store::Access::write) {
    file_.emplace(memory.file);
    session_.emplace(file_->open(engine, seed));
  } else if (!memory.file.empty()) {
    session_.emplace(engine::load_session_file(engine, memory.file));
  } else {
    session_.emplace(engine, seed);
  }
}

void OpenMemory::stop_storing() {
  session_.emplace(stored_->session().fork());
  stored_.reset();
}

engine::RememberResult OpenMemory::remember(const engine::Document& document,
                                            const engine::Progress& progress) {
  return stored_ ? stored_->remember(document, progress) : session_->remember(document, progress);
}

engine::Answer OpenMemory::say(std::string_view message, const engine::GenerateOptions& options) {
  return stored_ ? stored_->say(message, options) : session_->say(message, options);
}

void OpenMemory::set_system_message(std::string_view text) {
  if (stored_) return stored_->set_system_message(text);
  session_->set_system_message(text);
}

std::int64_t OpenMemory::flush() { return stored_ ? stored_->flush() : session_->flush(); }

void OpenMemory::note_recall(const engine::Answer& answer) {
  if (stored_) stored_->note_recall(answer);
}

void OpenMemory::serve_words(engine::GenerateOptions& options) {
  if (!session().engine().has_memory()) return;
  if (stored_) return stored_->serve_words(options);
  if (!words_) words_.emplace();
  words_->serve(options, session_->record());
}

void OpenMemory::save() {
  if (file_) engine::save_session_file(*session_, file_->file());
}

std::int64_t OpenMemory::disk_bytes() {
  if (stored_) {
    for (const store::SessionInfo& session : store_->list())  // by id: it may have another name by now
      if (session.id == stored_->info().id) return session.disk_bytes;
    return 0;
  }
  return file_ ? static_cast<std::int64_t>(std::filesystem::file_size(file_->file())) : 0;
}

std::string OpenMemory::name() const {
  return stored_ ? fmt::format("session {}", stored_->info().name) : options_.file;
}

}  // namespace mplus::cli
