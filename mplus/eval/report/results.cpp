#include "mplus/eval/report/results.h"

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"

namespace mplus::eval {

Json read_results(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "results.json";
  if (!std::filesystem::exists(file))
    return {{"schema", kSchema}, {"version", kSchemaVersion}, {"runs", Json::array()}};
  Json results;
  try {
    results = Json::parse(read_text_file(file));
  } catch (const Json::exception& e) {
    fail(ErrorCode::corrupt, "{}: not JSON: {}", file.string(), e.what());
  }
  if (!results.is_object() || results.value("schema", "") != kSchema)
    fail(ErrorCode::corrupt, "{}: expected the results of an evaluation, found something else",
         file.string());
  if (results.value("version", 0) != kSchemaVersion)
    fail(ErrorCode::unsupported, "{}: results of version {}, this program knows {}; use another folder",
         file.string(), results.value("version", 0), kSchemaVersion);
  if (!results.contains("runs") || !results["runs"].is_array())
    fail(ErrorCode::corrupt, "{}: runs: expected a list, found {}", file.string(),
         results.contains("runs") ? results["runs"].type_name() : "nothing");
  for (const Json& run : results["runs"])
    if (!run.is_object() || !run.contains("name") || !run.contains("run") || !run.contains("samples"))
      fail(ErrorCode::corrupt, "{}: runs: expected objects with name, run and samples", file.string());
  return results;
}

void put_run(Json& results, Json run) {
  for (Json& existing : results["runs"])
    if (existing["name"] == run["name"]) {
      existing = std::move(run);
      return;
    }
  results["runs"].push_back(std::move(run));
}

void write_results(const std::filesystem::path& folder, const Json& results) {
  write_text_file(folder / "results.json", results.dump(1, ' ', false, Json::error_handler_t::replace) + "\n",
                  Readers::by_umask);
}

}  // namespace mplus::eval
