// Documents read into a memory, and forgotten.
#include <fmt/core.h>

#include "mplus/core/error.h"
#include "mplus/documents/document.h"
#include "mplus/io/text/names.h"
#include "mplus/serve/api/memory/memory_json.h"
#include "mplus/serve/api/memory/memory_use.h"
#include "mplus/store/session/stored_steps.h"

namespace mplus::serve {
namespace {

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
    const bool create = call_.asked_for("create", true);
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

engine::Steps<Reply> forget(OpenMemory& memory, const Call& call) {
  const std::string source = "#" + call.names[1];
  const bool exact = call.asked_for("exact", false), planned = call.asked_for("dry_run", false);
  store::ForgetReport report;
  if (planned) report = memory.session.forget_plan(source, exact);
  else report = co_await memory.session.forget_steps(source, exact);
  co_return json_reply(forget_json(call.caller, report, exact, planned));
}

}  // namespace

void add_document_routes(Router& router, Services& services) {
  router.add("POST", "/v1/memories/{name}/documents", [&services](Call call) {
    services.beside(std::move(call), [&services](Call& own) {
      Upload upload = upload_of(own);
      services.as_job(own, [&services, upload = std::move(upload)](Job& job, Call& same) {
        return read_document(services, job, same, upload);
      });
    });
  });
  router.add("DELETE", "/v1/memories/{name}/documents/{id}",
             with_memory_in_steps(services, Using::How::remake,
                                  [](OpenMemory& memory, Call& call) { return forget(memory, call); }));
}

}  // namespace mplus::serve
