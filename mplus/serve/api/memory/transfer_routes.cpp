// Memories carried elsewhere: one as a file, or the whole store.
#include <filesystem>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/serve/api/memory/file_pieces.h"
#include "mplus/serve/api/memory/memory_json.h"
#include "mplus/serve/api/memory/memory_use.h"
#include "mplus/store/copies/backup.h"
#include "mplus/store/copies/transfer.h"

namespace mplus::serve {
namespace {

namespace fs = std::filesystem;

// The session is taken as it is now; its file is made beside the engine's thread, and sent from the disk.
engine::Steps<> export_memory(Services& services, Job& job, Call& call) {
  const bool with_journal = !call.asked_for("without_journal", false);
  const auto memory = co_await opened(services, job, call, Using::How::change);
  if (!memory) co_return;
  const Using changing(memory, Using::How::change);
  const auto taken = std::make_shared<store::SessionExport>(memory->session, with_journal);
  services.beside(call, [taken](Call& own) {
    auto transit = std::make_shared<Transit>();
    const fs::path file = transit->folder() / "memory";
    taken->write(file);
    own.exchange->reply({.type = "application/octet-stream",
                         .headers = {{"Content-Disposition", "attachment; filename=\"memory.mplus\""}},
                         .pieces = file_pieces(file, std::move(transit))});
  });
}

// By a connection of its own to the store, so nobody waits for it.
void backup(Services& services, Call call) {
  if (!call.caller.space.empty())
    throw ApiError{403, "not_allowed", "the whole store is for keys without a name space"};
  services.beside(std::move(call), [&services](Call& own) {
    auto transit = std::make_shared<Transit>();
    store::Store store(services.store.folder(), {.access = store::Access::read});
    const store::BackupReport report = store::backup_store(store, transit->folder() / "store");
    own.exchange->reply({.type = "application/x-tar",
                         .headers = {{"Content-Disposition", "attachment; filename=\"mplus-store.tar\""},
                                     {"X-Mplus-Memories", std::to_string(report.sessions)}},
                         .pieces = tar_pieces(transit->folder() / "store", "mplus-store", transit)});
  });
}

Reply import_memory(Services& services, const Call& call) {
  const std::string name = free_name(services, call, call.request().asked("name").value_or(""));
  if (call.request().body.empty()) throw ApiError{400, "invalid_value", "the body must be a memory file"};
  const Transit transit;
  const fs::path file = transit.folder() / "memory";
  write_text_file(file, call.request().body);
  try {
    store::import_session(services.store, services.engine, file, call.caller.stored(name));
  } catch (const Error& error) {  // of the file that was sent: where it lay here is nobody's business
    if (error.code() == ErrorCode::io) throw;
    std::string message = error.what();
    if (const std::string place = file.string(); message.starts_with(place))
      message.replace(0, place.size(), "the memory file");
    throw ApiError{error.code() == ErrorCode::model_mismatch ? 409 : 400, error_code_name(error.code()),
                   message};
  }
  return json_reply(memory_json(services, call.caller, services.existing(call.caller, name)), 201);
}

}  // namespace

void add_transfer_routes(Router& router, Services& services) {
  router.add("POST", "/v1/memories/import", on_engine(services, import_memory));
  router.add("GET", "/v1/memories/{name}/export", [&services](Call call) {
    services.as_job(std::move(call),
                    [&services](Job& job, Call& own) { return export_memory(services, job, own); });
  });
  router.add(
      "GET", "/v1/backup", [&services](Call call) { backup(services, std::move(call)); }, Right::admin);
}

}  // namespace mplus::serve
