#include "mplus/eval/report/report.h"

#include <fmt/core.h>

#include <map>

#include "mplus/core/error.h"
#include "mplus/core/files/file.h"
#include "mplus/eval/report/plots.h"

namespace mplus::eval {
namespace {

// What the numbers were made with.
std::string circumstances(const Json& run) {
  std::string text = fmt::format("`{}`\n\n", run.value("command", ""));
  const Json program = run.value("program", Json::object());
  const Json machine = run.value("machine", Json::object());
  text += fmt::format("mplus {}, commit {}; {}, {} threads, {} GB; {:.0f} s of work; seed {}.\n",
                      program.value("version", "?"), program.value("commit", "?"), machine.value("cpu", "?"),
                      machine.value("threads", 0), machine.value("memory_gb", 0), run.value("seconds", 0.0),
                      run.at("run").value("seed", std::int64_t{0}));
  if (run.contains("model"))
    text += fmt::format("Model {}, delta {}.\n", run["model"].value("model", "?"),
                        run["model"].value("delta", "none"));
  if (!run.value("complete", true))
    text += "\n**Not complete: the run was stopped; run the command again to go on.**\n";
  return text;
}

std::string settings(const Json& run) {
  Table table{.title = "", .header = {"setting", "value"}, .rows = {}, .note = ""};
  for (const auto& [key, value] : run.at("run").items()) {
    if (key == "ids") {
      table.rows.push_back({"questions", fmt::format("{}; their ids are in results.json", value.size())});
      continue;
    }
    table.rows.push_back({key, value.is_string() ? value.get<std::string>() : "`" + value.dump() + "`"});
  }
  return markdown_table(table);
}

}  // namespace

std::string markdown_table(const Table& table) {
  std::string text;
  if (!table.title.empty()) text += fmt::format("### {}\n\n", table.title);
  const auto line = [](const std::vector<std::string>& cells) {
    std::string row = "|";
    for (const std::string& cell : cells) row += " " + cell + " |";
    return row + "\n";
  };
  text += line(table.header) + "|";
  for (std::size_t c = 0; c < table.header.size(); ++c) text += "---|";
  text += "\n";
  for (const auto& row : table.rows) text += line(row);
  if (!table.note.empty()) text += "\n" + table.note + "\n";
  return text + "\n";
}

ReportResult write_report(const std::filesystem::path& folder, const Json& results) {
  ReportResult result;
  std::string text = "# Evaluation\n\n";
  for (const Json& run : results.at("runs")) {
    text += fmt::format("## {}\n\n{}\n", run.at("name").get<std::string>(), circumstances(run));
    if (run.at("samples").empty()) {
      text += "No samples yet.\n\n";
      continue;
    }
    const Summary summary = summarise(run);
    for (const Plot& plot : summary.plots) {
      const std::string trouble = draw_plot(plot, folder);
      if (!trouble.empty()) {
        result.trouble = trouble;
        continue;
      }
      ++result.plots;
      text += fmt::format("![{}]({}.svg)\n\n", plot.title, plot.name);
    }
    for (const Table& table : summary.tables) text += markdown_table(table);
    text += "### Settings\n\n" + settings(run);
  }
  write_text_file(folder / "report.md", text, Readers::by_umask);
  return result;
}

std::vector<Table> compare(const Json& a, const Json& b, const std::string& name_a,
                           const std::string& name_b) {
  std::vector<Table> tables;
  for (const Json& run_a : a.at("runs"))
    for (const Json& run_b : b.at("runs")) {
      if (run_a.at("name") != run_b.at("name")) continue;
      std::map<std::string, const Json*> others;
      for (const Json& s : run_b.at("samples")) others[s.at("key").get<std::string>()] = &s;
      std::map<std::pair<std::string, std::string>, PairedValues> pairs;
      for (const Json& s : run_a.at("samples")) {
        const auto other = others.find(s.at("key").get<std::string>());
        if (other == others.end()) continue;
        for (const char* field : {"exact", "hit", "verbatim", "f1", "stemmed_f1", "nll", "found", "recalled",
                                  "new", "old", "unknown", "right"}) {
          if (!s.contains(field) || !other->second->contains(field)) continue;
          const auto value = [&](const Json& v) {
            return v.is_boolean() ? static_cast<double>(v.get<bool>()) : v.get<double>();
          };
          pairs[{s.value("column", ""), field}].add(s.value("id", ""), value(s.at(field)),
                                                    value(other->second->at(field)));
        }
      }
      Table table{.title = run_a.at("name").get<std::string>(),
                  .header = {"column", "measure", name_a, name_b, "difference", "p", "pairs"},
                  .rows = {},
                  .note = ""};
      for (const auto& [what, values] : pairs) {
        const PairedValues::Difference d = values.difference();
        table.rows.push_back({what.first, what.second, number_text(d.mean_a), number_text(d.mean_b),
                              fmt::format("{:+.3f} [{:+.3f}, {:+.3f}]", d.difference.mean, d.difference.low,
                                          d.difference.high),
                              number_text(d.p), std::to_string(d.difference.values)});
      }
      if (table.rows.empty())
        table.note = "No sample of one is in the other: other questions, or other distances.";
      tables.push_back(std::move(table));
    }
  return tables;
}

}  // namespace mplus::eval
