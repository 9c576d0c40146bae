#include <string_view>

#include "mplus/engine/files/session_file.h"
#include "mplus/store/copies/import_journal.h"
#include "mplus/store/copies/transfer.h"
#include "mplus/store/damage/verify.h"
#include "tests/fuzz/accept.h"
#include "tests/fuzz/memory_files.h"
#include "tests/fuzz/scratch.h"
#include "tests/fuzz/stored_files.h"

namespace mplus::store::test {
namespace {

using io::test::scratch;

const engine::Session& memory() {
  static const engine::Session session =
      engine::load_session_file(engine::test::tiny_engine(), seed_folder() / "memory/exported");
  return session;
}

struct Input {
  std::string journal, texts;
  std::vector<std::int64_t> places;
};

// A file with nothing but the journal: most inputs are refused by what it says.
bool readable(const Input& input) {
  const auto tensor = [](const char* name, DType dtype, std::int64_t n, std::span<const std::byte> bytes) {
    return io::TensorData{name, dtype, {n}, bytes};
  };
  const std::vector<io::TensorData> tensors{
      tensor("journal", DType::u8, std::ssize(input.journal), std::as_bytes(std::span(input.journal))),
      tensor("journal.texts", DType::u8, std::ssize(input.texts), std::as_bytes(std::span(input.texts))),
      tensor("source_ids", DType::i64, std::ssize(input.places), std::as_bytes(std::span(input.places)))};
  io::StringMap checksums;
  for (const io::TensorData& t : tensors)
    checksums["checksum." + t.name] = fmt::format("{:016x}", io::xxh3(t.bytes));
  const auto path = scratch().folder() / "journal.safetensors";
  io::write_safetensors(path, tensors, checksums);
  bool read = false;
  io::test::accept_errors([&] {
    read_imported_journal(io::Safetensors::open(path), memory());
    read = true;
  });
  return read;
}

// The memory of the seeds with another journal.
std::filesystem::path archive(const Input& input) {
  std::filesystem::path path = scratch().folder() / "archive.safetensors";
  save_session_file(memory(), path,
                    {.integers = {{"source_ids", input.places}},
                     .bytes = {{"journal", input.journal}, {"journal.texts", input.texts}}});
  return path;
}

// What is imported is as good as what was written here: sound, replayed from its journal alone, undone.
void import_and_use(const std::filesystem::path& path) {
  engine::Engine& engine = engine::test::tiny_engine();
  static Store sessions(scratch().folder() / "store");
  import_session(sessions, engine, path, "copy");
  const VerifyReport report = verify_session(sessions, "copy");
  MPLUS_CHECK(report.sound(), "{}", report.problems.front());
  bool journal_leads_to_it = true;
  {
    StoredSession session(sessions, engine, "copy", Access::write);
    for (const StoredEvent& event : session.journal().events())
      journal_leads_to_it = journal_leads_to_it && event.kind != EventKind::import;
    if (journal_leads_to_it) {
      StoredSession(sessions, engine, "copy", Access::read, {.without_states = true});
      io::test::accept_errors([&] { session.undo(1); });
    }
  }
  if (journal_leads_to_it) rebuild_session(sessions, engine, "copy");
  sessions.remove("copy");
}

}  // namespace
}  // namespace mplus::store::test

// Bytes 0xff, which no JSON holds, part the journal, the places of the memory's sources (a byte each, one
// more than the number) and the texts.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mplus;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto next = [&] {
    const std::string_view part = input.substr(0, input.find('\xff'));
    input.remove_prefix(std::min(input.size(), part.size() + 1));
    return part;
  };
  store::test::Input parts;
  parts.journal = next();
  for (const char place : next()) parts.places.push_back(std::int64_t{static_cast<unsigned char>(place)} - 1);
  parts.texts = input;
  if (store::test::readable(parts)) store::test::import_and_use(store::test::archive(parts));
  return 0;
}
