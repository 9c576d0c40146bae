// mplus-golden DIR [CASE…]: runs golden cases of a reference implementation and says how close this program
// comes.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "mplus/cli/golden/cases.h"
#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/engine/locate.h"

namespace mplus::golden {
namespace {

namespace fs = std::filesystem;

struct Tally {
  int passed = 0, failed = 0, unknown = 0;
};

void print(const std::string& line) { std::fputs((line + "\n").c_str(), stdout); }

void run_one(const std::string& name, const std::function<void(Report&)>& run, Tally& tally) {
  Report report;
  std::string broken;
  try {
    run(report);
  } catch (const std::exception& e) {
    broken = e.what();
  }
  const bool good = broken.empty() && report.failures().empty() && report.comparisons() > 0;
  ++(good ? tally.passed : tally.failed);
  print(fmt::format("{}  {}: {} comparisons, worst error {:.3g} of its tolerance", good ? "ok    " : "FAILED",
                    name, report.comparisons(), report.worst_share()));
  if (!broken.empty()) print("        " + broken);
  const std::size_t shown = std::min<std::size_t>(report.failures().size(), 20);
  for (std::size_t i = 0; i < shown; ++i) print("        " + report.failures()[i]);
  if (shown < report.failures().size())
    print(fmt::format("        … and {} more", report.failures().size() - shown));
  for (const std::string& note : report.notes()) print("        note: " + note);
}

void run_folder(const fs::path& path, const RealModel& files, Tally& tally) {
  const std::string name = path.filename().string();
  CaseFunction function;
  std::optional<CaseFolder> folder;
  try {
    folder.emplace(path, files.device);
    // A folder without a "case" field is known by its name.
    function = find_case(folder->json().value("case", name));
  } catch (const std::exception& e) {
    ++tally.failed;
    return print(fmt::format("FAILED  {}: {}", name, e.what()));
  }
  if (!function) {
    ++tally.unknown;
    return print(fmt::format("unknown {}: no test for this kind of case", name));
  }
  run_one(
      name, [&](Report& report) { function(*folder, files, report); }, tally);
}

void run_json(const fs::path& path, const RealModel& files, Tally& tally) {
  const Json json = Json::parse(read_text_file(path), nullptr, false);
  if (json.is_discarded() || !json.is_object() || !json.contains("cases") || !json.contains("model")) {
    ++tally.unknown;
    return print(fmt::format("unknown {}: not a file of cases", path.filename().string()));
  }
  run_one(
      path.stem().string(), [&](Report& report) { run_base_model(json, files, report); }, tally);
}

bool wanted(const std::vector<std::string>& cases, const fs::path& path) {
  return cases.empty() || std::find(cases.begin(), cases.end(), path.stem().string()) != cases.end();
}

int run(const fs::path& dir, const std::vector<std::string>& cases, const RealModel& files) {
  if (!fs::is_directory(dir)) fail(ErrorCode::not_found, "{}: no such folder", dir.string());
  Tally tally;
  if (fs::exists(dir / "case.json")) run_folder(fs::canonical(dir), files, tally);
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(dir)) entries.push_back(entry.path());
  std::sort(entries.begin(), entries.end());
  for (const fs::path& entry : entries) {
    if (!wanted(cases, entry)) continue;
    if (fs::is_directory(entry) && fs::exists(entry / "case.json")) run_folder(entry, files, tally);
    if (entry.extension() == ".json" && entry.filename() != "case.json") run_json(entry, files, tally);
  }
  for (const std::string& name : cases)
    if (std::none_of(entries.begin(), entries.end(),
                     [&](const fs::path& p) { return p.stem().string() == name; })) {
      ++tally.failed;
      print(fmt::format("FAILED  {}: no such case in {}", name, dir.string()));
    }
  print(fmt::format("{} passed, {} failed, {} unknown", tally.passed, tally.failed, tally.unknown));
  return tally.failed > 0 || tally.passed == 0 ? 1 : 0;
}

int run_program(int argc, char** argv) {
  CLI::App app{
      "Runs golden cases: inputs of a reference implementation of M+ and what it computed.\n"
      "DIR holds one folder a case (case.json, expected.safetensors, perhaps model/), or files of cases for "
      "the real\n"
      "base model (*.json). Every case that is run, failed or not known is named; the exit code is 0 only if "
      "something\n"
      "ran and nothing failed.",
      "mplus-golden"};
  std::string dir, model, delta;
  std::vector<std::string> cases;
  app.add_option("DIR", dir, "folder of cases")->required();
  app.add_option("CASE", cases, "names of cases; all if none is given");
  app.add_option("-m,--model", model, "base model for cases that need the real one")->envname("MPLUS_MODEL");
  app.add_option("--delta", delta, "delta for cases that need one")->envname("MPLUS_DELTA");
  RealModel files;
  app.add_option("--nll-tolerance", files.nll_tolerance,
                 "for cases on the real model in rounded arithmetic: nats a token; else as the case says");
  std::string numerics = "exact", dtype = "f32";
  app.add_option("--numerics", numerics, "arithmetic of a delta's case: exact, or fast as people use it")
      ->check(CLI::IsMember({"exact", "fast"}))
      ->capture_default_str();
  app.add_option("--memory-dtype", dtype, "element type of its memory: f32, or bf16 as people use it")
      ->check(CLI::IsMember({"f32", "bf16"}))
      ->capture_default_str();
  std::string device = "cpu";
  app.add_option("--device", device, "what computes: auto, cpu, cuda or cuda:N")
      ->check([](const std::string& name) {
        return device_choice_from_name(name) ? std::string() : name + " is no device";
      })
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  files.device = device_choice_from_name(device).value_or(DeviceChoice());
  if (numerics == "fast") files.numerics = kernels::Numerics::fast;
  if (dtype == "bf16") files.memory_dtype = DType::bf16;
  try {
    const auto found = engine::locate_model(model, delta);
    files.model = found.model;
    files.delta = found.delta.value_or("");
  } catch (const Error&) {  // only cases on the real model miss it, and say so
    if (!model.empty() || !delta.empty()) throw;
  }
  return run(dir, cases, files);
}

}  // namespace
}  // namespace mplus::golden

int main(int argc, char** argv) {
  try {
    return mplus::golden::run_program(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "mplus-golden: %s\n", e.what());
    return 1;
  }
}
