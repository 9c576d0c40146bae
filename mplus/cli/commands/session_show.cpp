#include "mplus/cli/commands/session_show.h"

#include <fmt/core.h>

#include <algorithm>
#include <ctime>

#include "mplus/cli/output/progress_bar.h"
#include "mplus/cli/output/terminal.h"
#include "mplus/store/forget_json.h"

namespace mplus::cli {
namespace {

std::string time_text(std::int64_t milliseconds) {
  if (milliseconds == 0) return "-";
  const auto seconds = static_cast<std::time_t>(milliseconds / 1000);
  std::tm local{};
  localtime_r(&seconds, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &local);
  return text;
}

std::string bytes_text(std::int64_t bytes) { return size_text(static_cast<double>(bytes)); }

Json info_json(const store::SessionInfo& info) {
  Json json;
  json["name"] = info.name;
  json["created_at_ms"] = info.created_at;
  json["changed_at_ms"] = info.changed_at;
  json["documents"] = info.documents;
  json["turns"] = info.turns;
  json["events"] = info.events;
  json["updates"] = info.updates;
  json["text_bytes"] = info.text_bytes;
  json["disk_bytes"] = info.disk_bytes;
  json["model"] = info.settings.model;
  json["delta"] = info.settings.delta;
  json["shape_id"] = info.settings.shape_id;
  json["weights_id"] = info.settings.weights_id;
  json["numerics_id"] = info.settings.numerics_id;
  json["dtype"] = memory_type_name(info.settings.type);
  json["capacity"] = info.settings.capacity == memory::kUnlimited ? Json() : Json(info.settings.capacity);
  json["seed"] = info.settings.seed;
  json["forked_from"] = info.forked_from.empty() ? Json() : Json(info.forked_from);
  json["damage"] = info.damage.empty() ? Json() : Json(info.damage);
  json["writer"] = info.writer ? Json(*info.writer) : Json();
  json["rebuild"] = Json();
  if (const auto& rebuild = info.rebuild)
    json["rebuild"] = {{"model", rebuild->target.model},
                       {"delta", rebuild->target.delta},
                       {"dtype", memory_type_name(rebuild->target.type)},
                       {"updates", rebuild->updates},
                       {"disk_bytes", rebuild->disk_bytes}};
  return json;
}

// What a rebuild has written that is under way, or was stopped.
std::string rebuild_text(const store::SessionInfo& info) {
  const store::RebuildLeft& left = *info.rebuild;
  return fmt::format(
      "a rebuild with {}{}{} {} after {} ({}); the same command goes on, `mplus session rebuild {} --drop` "
      "removes "
      "them\n",
      printable(left.target.model), left.target.delta.empty() ? "" : " and ", printable(left.target.delta),
      info.writer ? "is under way or was stopped" : "was stopped", plural(left.updates, "write"),
      bytes_text(left.disk_bytes), printable(info.name));
}

// The first few.
std::string names_text(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 6;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", printable(names[i]));
  return text + (names.size() > kMost ? fmt::format(" and {} more", names.size() - kMost) : "");
}

}  // namespace

std::string list_text(const std::vector<store::SessionInfo>& sessions) {
  if (sessions.empty()) return "No sessions yet; `mplus remember` and `mplus chat` make one.\n";
  int width = 4;
  for (const auto& info : sessions) width = std::max(width, std::min(40, columns(printable(info.name))));
  std::string text = fmt::format("{:<{}}  {:>9}  {:>5}  {:>9}  {:>9}  {:<16}  {}\n", "name", width,
                                 "documents", "turns", "text", "on disk", "changed", "");
  for (const auto& info : sessions) {
    const std::string name = one_line(info.name, 40);
    text += fmt::format("{}{:{}}  {:>9}  {:>5}  {:>9}  {:>9}  {:<16}  {}\n", name, "",
                        std::max(0, width - columns(name)), info.documents, info.turns,
                        bytes_text(info.text_bytes), bytes_text(info.disk_bytes), time_text(info.changed_at),
                        !info.damage.empty() ? "damaged: see `mplus session verify`"
                        : info.writer        ? fmt::format("being written by {}", printable(*info.writer))
                                             : "");
    if (info.rebuild) text += "  " + rebuild_text(info);
  }
  return text;
}

Json list_json(const std::vector<store::SessionInfo>& sessions) {
  Json json;
  json["sessions"] = Json::array();
  for (const auto& info : sessions) json["sessions"].push_back(info_json(info));
  return json;
}

std::string details_text(const store::SessionDetails& details) {
  const store::SessionInfo& info = details.info;
  std::string text = fmt::format(
      "session      {}\nmodel        {}{}{}\ncreated      {}{}\nchanged      {}\nevents       {}{}\nwindow   "
      "    {} "
      "tokens\nmemory       {} writes; {} short-term and {} long-term rows a layer\non disk      {} in {} "
      "and {}{}\n",
      printable(info.name), info.settings.model, info.settings.delta.empty() ? "" : " + ",
      info.settings.delta, time_text(info.created_at),
      info.forked_from.empty() ? "" : fmt::format(", forked from {}", printable(info.forked_from)),
      time_text(info.changed_at), count_text(info.events),
      details.undone ? fmt::format(", and {} undone", count_text(details.undone)) : "",
      count_text(details.window_tokens), count_text(info.updates), count_text(details.short_term_rows),
      count_text(details.long_term_rows), bytes_text(info.disk_bytes), plural(details.states, "state"),
      plural(details.segments, "segment"),
      details.events_behind_state > 0
          ? fmt::format("; {} to be replayed when it is opened", plural(details.events_behind_state, "event"))
          : "");
  if (info.writer) text += fmt::format("writer       {}\n", printable(*info.writer));
  if (info.rebuild) text += "rebuild      " + rebuild_text(info);
  for (const std::string& damage : details.damage)
    text += fmt::format("damaged      {}; an older state is used\n", printable(damage));
  if (details.sources.empty()) return text + "\nNo sources yet.\n";
  text += fmt::format("\n{:>6}  {:<9}  {:>8}  {:>8}  {:>6}  {:>15}  {:>7}  {}\n", "source", "", "text",
                      "tokens", "writes", "births", "answers", "name");
  for (const store::SourceDetails& source : details.sources) {
    const std::string births = source.updates == 0 ? "-"
                                                   : fmt::format("{}-{}", count_text(source.first_birth),
                                                                 count_text(source.last_birth));
    text += fmt::format("{:>6}  {:<9}  {:>8}  {:>8}  {:>6}  {:>15}  {:>7}  {}{}\n",
                        fmt::format("#{}", source.id), engine::speaker_name(source.speaker),
                        bytes_text(source.bytes), source.tokens > 0 ? count_text(source.tokens) : "-",
                        source.updates, births, source.answers, one_line(source.name, 60),
                        source.lost       ? " (its text is lost)"
                        : source.complete ? ""
                                          : " (not to its end)");
  }
  return text;
}

Json details_json(const store::SessionDetails& details) {
  Json json = info_json(details.info);
  json["undone_events"] = details.undone;
  json["window_tokens"] = details.window_tokens;
  json["short_term_rows"] = details.short_term_rows;
  json["long_term_rows"] = details.long_term_rows;
  json["states"] = details.states;
  json["segments"] = details.segments;
  json["events_behind_state"] = details.events_behind_state;
  json["damage"] = details.damage;
  json["sources"] = Json::array();
  for (const store::SourceDetails& source : details.sources)
    json["sources"].push_back({{"id", source.id},
                               {"name", source.name},
                               {"speaker", std::string(engine::speaker_name(source.speaker))},
                               {"bytes", source.bytes},
                               {"tokens", source.tokens},
                               {"complete", source.complete},
                               {"lost", source.lost},
                               {"at_ms", source.at},
                               {"updates", source.updates},
                               {"first_birth", source.updates ? Json(source.first_birth) : Json()},
                               {"last_birth", source.updates ? Json(source.last_birth) : Json()},
                               {"recalled_by_answers", source.answers},
                               {"recalled_rows", source.rows}});
  return json;
}

std::string leftover_text(const store::Store::Leftover& left) {
  std::string text;
  if (!left.reader.empty())
    text += fmt::format(
        "{} is reading and keeps the old pages: the text is still on disk, and goes when that has ended\n",
        printable(left.reader));
  for (const std::filesystem::path& copy : left.copies)
    text +=
        fmt::format("{} is from before and may still hold the text: remove it when you no longer need it\n",
                    printable(copy.string()));
  return text;
}

std::string undone_text_stays(const std::string& session) {
  return fmt::format("their text stays on disk until `mplus session purge {}`\n", printable(session));
}

std::string purge_text(const store::Store::PurgeReport& report) {
  std::string text = report.events == 0
                         ? std::string("nothing was undone that still has a text on disk\n")
                         : fmt::format("the texts of {} that had been undone are gone from the disk\n",
                                       plural(report.events, "event"));
  if (!report.holders.empty())
    text += fmt::format("still held by session {}: `mplus session forget` removes it there\n",
                        names_text(report.holders));
  if (report.rebuild)
    text += fmt::format("{} of a rebuild that was stopped went with them\n",
                        plural(report.rebuild->updates, "write"));
  return text + leftover_text(report.left);
}

Json purge_json(const store::Store::PurgeReport& report) {
  return {{"events", report.events},
          {"sources", report.sources},
          {"holders", report.holders},
          {"text_is_gone", report.holders.empty() && report.left.reader.empty()},
          {"reader", report.left.reader.empty() ? Json() : Json(report.left.reader)}};
}

std::string forget_text(const store::ForgetReport& report, ForgetForm form) {
  const engine::ForgetResult& removed = report.removed;
  std::string text =
      names_text(report.sources) + (form.planned ? ": a dry run, nothing was changed\n" : ": forgotten\n");
  const auto line = [&](const char* what, const std::string& how) {
    text += fmt::format("  {:<16}{}\n", what, how);
  };
  if (form.exact) {
    line("made again", fmt::format("the memory without it, from {} of the journal",
                                   plural(report.replayed_events, "event")));
  } else {
    line("goes", fmt::format("{} of {} in {}; {} waiting", plural(removed.rows, "row"),
                             plural(removed.updates, "write"), plural(removed.segments, "segment"),
                             plural(removed.window_tokens, "token")));
    if (!removed.written_again.empty())
      line("written again",
           fmt::format("{} in {}, of {}", plural(store::tokens_written_again(removed), "token"),
                       plural(std::ssize(removed.written_again), "write"), names_text(report.written_again)));
    line("may stay", "traces in what was written later; --exact makes the memory again without it");
  }
  if (!report.holders.empty())
    line("still held by", "session " + names_text(report.holders) + " (--everywhere forgets it there, too)");
  if (!report.answers.empty()) {
    line("recalled by", plural(std::ssize(report.answers), "answer") + ", to");
    for (const std::string& question : report.answers) line("", one_line(question, 90));
  }
  return text + (form.planned ? "" : leftover_text(report.left));
}

Json forget_json(const store::ForgetReport& report, ForgetForm form) {
  Json json = store::forget_json(report, form.exact, form.planned);
  json["log_wiped"] = report.left.reader.empty();
  json["reader"] = report.left.reader.empty() ? Json() : Json(report.left.reader);
  return json;
}

std::string verify_text(const std::string& name, const store::VerifyReport& report) {
  std::string text =
      fmt::format("{}: {}, {}, {}, {}, {} read\n", printable(name), plural(report.events, "event"),
                  plural(report.sources, "source"), plural(report.states, "state"),
                  plural(report.segments, "segment"), bytes_text(report.bytes));
  for (const std::string& problem : report.problems) text += fmt::format("  {}\n", printable(problem));
  if (!report.replay.empty()) text += fmt::format("  replay: {}\n", report.replay);
  return text + (report.sound() ? "  sound\n" : fmt::format("  {}\n", report.verdict));
}

Json verify_json(const std::string& name, const store::VerifyReport& report) {
  return {{"session", name},           {"sound", report.sound()},
          {"events", report.events},   {"sources", report.sources},
          {"states", report.states},   {"segments", report.segments},
          {"bytes", report.bytes},     {"problems", report.problems},
          {"verdict", report.verdict}, {"replay", report.replay.empty() ? Json() : Json(report.replay)}};
}

}  // namespace mplus::cli
