// Memories, and what is done with one: asked, searched, read into, forgotten from, taken back, forked, moved.
#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>

#include "mplus/core/error.h"
#include "mplus/core/file.h"
#include "mplus/core/text.h"
#include "mplus/documents/document.h"
#include "mplus/io/text/names.h"
#include "mplus/serve/api/generate_request.h"
#include "mplus/serve/api/memory_json.h"
#include "mplus/serve/api/router.h"
#include "mplus/store/database/details.h"
#include "mplus/store/stored_steps.h"
#include "mplus/store/transfer.h"
#include "mplus/store/verify.h"

namespace mplus::serve {
namespace {

namespace fs = std::filesystem;

// A memory that exists, once `how` is possible. Null: the client has gone.
engine::Steps<std::shared_ptr<OpenMemory>> opened(Services& services, Job& job, Call& call, Using::How how,
                                                  bool create = false) {
  const auto memory = services.memories.open(call.memory(), call.names[0], create);
  co_await job.until([&] { return Using::possible(*memory, how) || call.exchange->gone(); });
  co_return call.exchange->gone() ? nullptr : memory;
}

// A handler that has the memory of the path to itself.
using Doing = std::function<Reply(OpenMemory&, Call&)>;
Router::Handler with_memory(Services& services, Using::How how, Doing doing) {
  return [&services, how, doing = std::move(doing)](Call call) {
    services.as_job(std::move(call), [&services, how, doing](Job& job, Call& own) -> engine::Steps<> {
      const auto memory = co_await opened(services, job, own, how);
      if (!memory) co_return;
      const Using in_use(memory, how);
      own.exchange->reply(doing(*memory, own));
    });
  };
}

// What a new memory is to be called.
std::string free_name(const Services& services, const Call& call, const std::string& name) {
  try {
    store::check_name(name);
    store::check_name(call.caller.stored(name));
  } catch (const Error& error) {
    throw ApiError{400, "invalid_value", error.what(), "name"};
  }
  if (services.store.find(call.caller.stored(name)))
    throw ApiError{409, "name_taken", fmt::format("there is a memory {} already", io::shown(name)), "name"};
  return name;
}

Reply create(Services& services, const Call& call) {
  const Json body = call.body();
  Fields fields(body);
  const std::string name = free_name(services, call, fields.required_string("name"));
  fields.end();
  services.memories.open(call.caller.stored(name), name, true);
  return json_reply(memory_json(services, call.caller, services.existing(call.caller, name)), 201);
}

Reply remove(Services& services, const Call& call) {
  services.existing(call.caller, call.names[0]);
  services.memories.close(call.memory());
  const store::Store::Leftover left = services.store.remove(call.memory());
  return json_reply({{"name", call.names[0]},
                     {"deleted", true},
                     {"text_is_gone", left.reader.empty() && left.copies.empty()},
                     {"reader", left.reader.empty() ? Json() : Json(left.reader)}});
}

Reply fork(Services& services, const Call& call) {
  const Json body = call.body();
  Fields fields(body);
  const std::string name = free_name(services, call, fields.required_string("name"));
  fields.end();
  services.existing(call.caller, call.names[0]);
  services.memories.save(call.memory());
  services.store.fork(call.memory(), call.caller.stored(name));
  return json_reply(memory_json(services, call.caller, services.existing(call.caller, name)), 201);
}

Reply undo(Services& services, OpenMemory& memory, const Call& call) {
  const Json body = call.body();
  Fields fields(body);
  const std::int64_t n = fields.integer("n", 1, 1 << 20).value_or(1);
  fields.end();
  memory.session.undo(n);
  return json_reply(memory_json(services, call.caller, services.existing(call.caller, call.names[0])));
}

Reply forget(OpenMemory& memory, const Call& call) {
  const std::string source = "#" + call.names[1];
  const bool exact = call.request().asked_for("exact"), planned = call.request().asked_for("dry_run");
  const store::ForgetReport report =
      planned ? memory.session.forget_plan(source, exact) : memory.session.forget(source, exact);
  return json_reply(forget_json(call.caller, report, exact, planned));
}

// A folder for one file on its way, gone with it.
class Transit {
 public:
  Transit() {
    std::string name = (fs::temp_directory_path() / "mplus-XXXXXX").string();
    if (!::mkdtemp(name.data())) fail(ErrorCode::io, "cannot make a folder for a file in {}", name);
    folder_ = name;
  }
  Transit(const Transit&) = delete;
  Transit& operator=(const Transit&) = delete;
  ~Transit() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  fs::path file() const { return folder_ / "memory"; }

 private:
  fs::path folder_;
};

Reply export_memory(const OpenMemory& memory, const Call& call) {
  const Transit transit;
  store::export_session(memory.session, transit.file(), !call.request().asked_for("without_journal"));
  return {.body = read_text_file(transit.file()),
          .type = "application/octet-stream",
          .headers = {{"Content-Disposition", "attachment; filename=\"memory.mplus\""}}};
}

Reply import_memory(Services& services, const Call& call) {
  const std::string name = free_name(services, call, call.request().asked("name").value_or(""));
  if (call.request().body.empty()) throw ApiError{400, "invalid_value", "the body must be a memory file"};
  const Transit transit;
  write_text_file(transit.file(), call.request().body);
  try {
    store::import_session(services.store, services.engine, transit.file(), call.caller.stored(name));
  } catch (const Error& error) {  // of the file that was sent: where it lay here is nobody's business
    if (error.code() == ErrorCode::io) throw;
    std::string message = error.what();
    if (const std::string place = transit.file().string(); message.starts_with(place))
      message.replace(0, place.size(), "the memory file");
    throw ApiError{error.code() == ErrorCode::model_mismatch ? 409 : 400, error_code_name(error.code()),
                   message};
  }
  return json_reply(memory_json(services, call.caller, services.existing(call.caller, name)), 201);
}

// The texts of what was undone leave the disk. The store does it, with the session put away.
Reply purge(Services& services, const Call& call) {
  services.existing(call.caller, call.names[0]);
  services.memories.close(call.memory());
  const store::Store::PurgeReport report = services.store.purge(call.memory());
  return json_reply(
      {{"events", report.events},
       {"sources", report.sources},
       {"text_is_gone", report.holders.empty() && report.left.reader.empty() && report.left.copies.empty()}});
}

Reply verify(Services& services, const Call& call) {
  services.existing(call.caller, call.names[0]);
  const store::VerifyReport report = store::verify_session(services.store, call.memory());
  return json_reply({{"sound", report.sound()},
                     {"events", report.events},
                     {"sources", report.sources},
                     {"states", report.states},
                     {"segments", report.segments},
                     {"bytes", report.bytes},
                     {"problems", report.problems},
                     {"verdict", report.verdict}});
}

struct Question {
  std::string text;
  engine::GenerateOptions options;
  bool stream = false, with_memory = true, search = false;
  std::size_t limit = 8;
};

Question question_of(const Call& call, bool search) {
  const Json body = call.body();
  Fields fields(body);
  Question question;
  question.search = search;
  question.text = fields.required_string(search ? "query" : "question");
  if (question.text.find_first_not_of(" \t\r\n") == std::string::npos)
    fields.refuse(search ? "query" : "question", "is empty");
  question.options.cancel = call.exchange->gone_token();
  question.options.why = true;
  if (search) {
    question.limit = static_cast<std::size_t>(fields.integer("limit", 1, 64).value_or(8));
    question.options.max_tokens = 0;
  } else {
    question.options.max_tokens = fields.integer("max_tokens", 1, 4096).value_or(64);
    question.options.reread = fields.integer("reread", 0, 16).value_or(0);
    question.stream = fields.boolean("stream").value_or(false);
    question.with_memory = fields.boolean("memory").value_or(true);
  }
  fields.end();
  return question;
}

Json answer_json(const engine::Answer& answer, const engine::Session& session, const OpenMemory* memory,
                 const Question& question, const std::string& name) {
  Json seen = seen_json(answer, session);
  std::vector<engine::WhyChunk> why = answer.why;
  if (question.search && why.size() > question.limit) why.resize(question.limit);
  Json passages = memory ? passages_json(why, session.record(), &memory->session) : Json::array();
  if (question.search) return {{"object", "list"}, {"data", std::move(passages)}, {"seen", std::move(seen)}};
  return {{"answer", std::string(trim(answer.text))},
          {"reason", engine::stop_reason_name(answer.reason)},
          {"usage", usage_json(answer.prompt_tokens, std::ssize(answer.tokens))},
          {"memory", memory ? Json{{"name", name},
                                   {"mode", "read"},
                                   {"recall", recall_rule_name(answer.recall)},
                                   {"passages", std::move(passages)},
                                   {"seen", std::move(seen)}}
                            : Json()}};
}

engine::Steps<> ask(Services& services, Job& job, Call& call, Question question) {
  const auto memory = services.memories.open(call.memory(), call.names[0], false);
  const Using reading(memory, Using::How::read);
  const engine::Session session =
      question.with_memory ? memory->session.session().fork() : engine::Session(services.engine);
  if (question.with_memory) memory->session.serve_words(question.options);
  question.options.plain = !question.with_memory;
  if (question.stream)
    question.options.on_text = [&](std::string_view piece) {
      call.exchange->begin_stream("text/event-stream; charset=utf-8");
      call.exchange->write(sse("text", {{"text", std::string(piece)}}));
      return true;
    };
  engine::Generation generation = engine::Generation::ask(session, question.text, question.options);
  co_await answer_of(job, *call.exchange, generation);
  const engine::Answer answer = generation.answer();
  if (question.with_memory && !question.search) memory->session.note_recall(answer);
  const Json json =
      answer_json(answer, session, question.with_memory ? memory.get() : nullptr, question, call.names[0]);
  if (!question.stream) co_return call.exchange->reply(json_reply(json));
  call.exchange->begin_stream("text/event-stream; charset=utf-8");
  call.exchange->write(sse("done", json));
  call.exchange->end();
}

void add_question(Router& router, Services& services, const char* path, bool search) {
  router.add(
      "POST", path,
      [&services, search](Call call) {
        Question question = question_of(call, search);
        services.as_job(std::move(call), [&services, question = std::move(question)](Job& job, Call& own) {
          return ask(services, job, own, question);
        });
      },
      Right::read);
}

struct Upload {
  std::string name, text;
};

Upload upload_of(const Call& call) {
  const Request& request = call.request();
  const std::string_view type = request.header("content-type");
  Upload upload;
  std::string bytes, media_type(type);
  auto kind = documents::DocumentKind::text;
  if (type.starts_with("application/json")) {
    const Json body = call.body();
    Fields fields(body);
    upload.name = fields.required_string("name");
    bytes = fields.required_string("text");
    fields.end();
  } else {
    if (type.starts_with("multipart/form-data")) {
      auto file = form_file(type, request.body);
      if (!file) throw ApiError{400, "invalid_value", "the form has no file, or ends in the middle"};
      upload.name = request.asked("name").value_or(file->name);
      media_type = file->type;
      bytes = std::move(file->bytes);
    } else {
      upload.name = request.asked("name").value_or("");
      bytes = request.body;
    }
    kind = documents::document_kind(upload.name, media_type, bytes);
  }
  if (upload.name.empty()) throw ApiError{400, "invalid_value", "name: is missing", "name"};
  try {
    upload.text = documents::document_text(bytes, kind, io::shown(upload.name), {}, media_type);
  } catch (const Error& error) {  // the document's fault, not the server's
    if (error.code() == ErrorCode::io || error.code() == ErrorCode::not_found) throw;
    throw ApiError{error.code() == ErrorCode::out_of_capacity ? 413 : 400, "not_readable", error.what(),
                   "text"};
  }
  return upload;
}

class Reader {
 public:
  Reader(Services& services, Job& job, Call& call, Upload upload)
      : services_(services),
        job_(job),
        call_(call),
        upload_(std::move(upload)),
        streams_(call.request().header("accept").find("text/event-stream") != std::string_view::npos) {}

  engine::Steps<> run() {
    const bool create = call_.request().asked("create").value_or("true") != "false";
    const auto memory = co_await opened(services_, job_, call_, Using::How::change, create);
    if (!memory) co_return;
    const Using changing(memory, Using::How::change);
    store::StoredSession& session = memory->session;
    const store::DocumentState known = session.document({.source = upload_.name, .text = upload_.text});
    if (known.source && known.complete) co_return done(*known.source, {.tokens = known.token_end}, true);
    last_ = std::chrono::steady_clock::now();
    store::StoredIngestion ingestion(
        session, upload_.name, upload_.text,
        [this](std::int64_t tokens, std::int64_t total) { return progress(tokens, total); },
        call_.exchange->gone_token());
    co_await work_of(ingestion);
    const engine::RememberResult& result = ingestion.result();
    services_.metrics.document_tokens += static_cast<std::uint64_t>(result.token_end);
    const store::DocumentState now = session.document({.source = upload_.name, .text = upload_.text});
    done(now.source.value_or(0), result, false);
  }

 private:
  bool progress(std::int64_t tokens, std::int64_t total) {
    if (tokens > 0) {
      const auto now = std::chrono::steady_clock::now();
      services_.metrics.write_seconds.add(std::chrono::duration<double>(now - last_).count());
      ++services_.metrics.chunks_written;
      last_ = now;
    }
    if (streams_) {
      call_.exchange->begin_stream("text/event-stream; charset=utf-8");
      call_.exchange->write(sse("progress", {{"done", tokens}, {"total", total}}));
    }
    return true;
  }

  void done(std::int64_t source, const engine::RememberResult& result, bool known) {
    const Json json{{"document", document_json(services_.store, call_.memory(), source)},
                    {"tokens", result.tokens},
                    {"updates", result.updates},
                    {"complete", result.complete},
                    {"known", known}};
    if (!streams_) return call_.exchange->reply(json_reply(json, known ? 200 : 201));
    call_.exchange->begin_stream("text/event-stream; charset=utf-8");
    call_.exchange->write(sse("done", json));
    call_.exchange->end();
  }

  Services& services_;
  Job& job_;
  Call& call_;
  Upload upload_;
  bool streams_;
  std::chrono::steady_clock::time_point last_;
};

engine::Steps<> read_document(Services& services, Job& job, Call& call, Upload upload) {
  Reader reader(services, job, call, std::move(upload));
  co_await reader.run();
}

}  // namespace

void add_memory_routes(Router& router, Services& services) {
  const auto on_engine = [&services](Reply (*handler)(Services&, const Call&)) -> Router::Handler {
    return [&services, handler](Call call) {
      services.on_engine(std::move(call), [&services, handler](Call& own) { return handler(services, own); });
    };
  };
  router.add("GET", "/v1/memories", on_engine([](Services& s, const Call& call) {
               Json data = Json::array();
               for (const store::SessionInfo& info : s.store.list())
                 if (call.caller.shown(info.name)) data.push_back(memory_json(s, call.caller, info));
               return json_reply({{"object", "list"}, {"data", std::move(data)}});
             }));
  router.add("POST", "/v1/memories", on_engine(create));
  router.add("POST", "/v1/memories/import", on_engine(import_memory));
  router.add("GET", "/v1/memories/{name}",
             with_memory(services, Using::How::read, [&](OpenMemory& memory, Call& call) {
               Json json = memory_json(services, call.caller, services.existing(call.caller, call.names[0]));
               json["state"] = state_json(memory.session.session());
               return json_reply(json);
             }));
  router.add("DELETE", "/v1/memories/{name}", on_engine(remove), Right::admin);
  router.add("POST", "/v1/memories/{name}/fork", on_engine(fork));
  router.add("POST", "/v1/memories/{name}/verify", on_engine(verify), Right::read);
  router.add("POST", "/v1/memories/{name}/purge", on_engine(purge));
  router.add("POST", "/v1/memories/{name}/undo",
             with_memory(services, Using::How::remake,
                         [&](OpenMemory& memory, Call& call) { return undo(services, memory, call); }));
  router.add("POST", "/v1/memories/{name}/flush",
             with_memory(services, Using::How::change, [](OpenMemory& memory, Call&) {
               return json_reply({{"updates", memory.session.flush()}});
             }));
  router.add("DELETE", "/v1/memories/{name}/documents/{id}",
             with_memory(services, Using::How::remake,
                         [](OpenMemory& memory, Call& call) { return forget(memory, call); }));
  router.add("GET", "/v1/memories/{name}/export",
             with_memory(services, Using::How::change,
                         [](OpenMemory& memory, Call& call) { return export_memory(memory, call); }));
  add_question(router, services, "/v1/memories/{name}/ask", false);
  add_question(router, services, "/v1/memories/{name}/search", true);
  router.add("POST", "/v1/memories/{name}/documents", [&services](Call call) {
    services.beside(std::move(call), [&services](Call& own) {
      Upload upload = upload_of(own);
      services.as_job(own, [&services, upload = std::move(upload)](Job& job, Call& same) {
        return read_document(services, job, same, upload);
      });
    });
  });
}

}  // namespace mplus::serve
