// mplus serve and mplus mcp: the store's sessions for other programs.
#include <fmt/core.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <mutex>
#include <thread>

#include "mplus/cli/commands/command.h"
#include "mplus/cli/commit.h"
#include "mplus/cli/interrupt.h"
#include "mplus/cli/open_memory.h"
#include "mplus/cli/options.h"
#include "mplus/cli/output/json_output.h"
#include "mplus/cli/output/print.h"
#include "mplus/cli/output/terminal.h"
#include "mplus/cli/read_line.h"
#include "mplus/core/error.h"
#include "mplus/core/files/private_file.h"
#include "mplus/core/text.h"
#include "mplus/engine/locate.h"
#include "mplus/serve/server.h"

namespace mplus::cli {
namespace {

struct ServeOptions {
  ModelOptions model;
  serve::ServerOptions server;
  serve::TlsFiles tls;
  std::int64_t idle_seconds = 30;
  std::string log = "text";
};

void log_reply(const std::string& how, const serve::Request& request, int status, double seconds) {
  // A path may name a memory, and a memory may be named after somebody: the first two parts say what was
  // done.
  std::string what;
  for (std::size_t i = 0; i < std::min<std::size_t>(request.segments.size(), 2); ++i)
    what += "/" + request.segments[i];
  if (what.empty()) what = "/";
  if (request.segments.size() > 3) what += "/\u2026/" + request.segments[3];
  if (how == "json") {
    Json json{{"id", request.id},
              {"method", request.method},
              {"path", what},
              {"status", status},
              {"seconds", seconds}};
    spdlog::info("{}", json.dump(-1, ' ', true, Json::error_handler_t::replace));
  } else {
    spdlog::info("{} {} {} {} {:.3f} s", request.id, request.method, printable(what), status, seconds);
  }
}

bool is_loopback(const std::string& host) { return host.starts_with("127.") || host == "::1"; }

void prepare(ServeOptions& options) {
  serve::ServerOptions& server = options.server;
  spdlog::set_default_logger(spdlog::stderr_logger_mt("mplus"));
  spdlog::set_pattern(options.log == "json" ? "%v" : "%Y-%m-%dT%H:%M:%S.%e %l %v");
  if (options.log == "none") spdlog::set_level(spdlog::level::warn);
  server.memories.idle = std::chrono::seconds(options.idle_seconds);
  server.services.version = MPLUS_VERSION;
  server.services.commit = MPLUS_COMMIT;
}

std::filesystem::path key_file() { return engine::home_folder() / "keys.json"; }

struct KeyOptions {
  std::string label, space, right = "write", memory, id;
  bool json = false;
};

int add_key(const KeyOptions& options) {
  make_private_folders(engine::home_folder());
  serve::Keys keys(key_file());
  const std::string secret =
      keys.add(options.label, {options.space, *serve::right_from_name(options.right), options.memory});
  if (options.json) {
    put_json({{"id", keys.list().back().id}, {"key", secret}});
  } else {
    note("The key is told only now; give it to a client as `Authorization: Bearer KEY`.\n");
    put(secret + "\n");
  }
  return kGood;
}

int list_keys(const KeyOptions& options) {
  Json list = Json::array();
  for (const serve::Key& key : serve::Keys(key_file()).list()) {
    const auto& [space, right, memory] = key.caller;
    if (options.json) {
      list.push_back({{"id", key.id},
                      {"label", key.label},
                      {"space", space},
                      {"right", serve::right_name(right)},
                      {"memory", memory}});
    } else {
      put(fmt::format("{}  {:<5}  {:<16}  {}\n", key.id, serve::right_name(right),
                      space.empty() ? "(whole store)" : space, printable(key.label)));
    }
  }
  if (options.json) put_json({{"keys", std::move(list)}});
  return kGood;
}

int revoke_key(const KeyOptions& options) {
  if (!serve::Keys(key_file()).revoke(options.id))
    fail(ErrorCode::not_found, "there is no key {}; `mplus serve keys list` shows what there is",
         printable(options.id));
  return kGood;
}

void add_key_commands(CLI::App& serve, Action& chosen) {
  auto options = std::make_shared<KeyOptions>();
  CLI::App* keys = serve.add_subcommand("keys", "Who may ask: add, list and revoke API keys.");
  keys->require_subcommand(1);
  const auto command = [&](const char* name, const char* help, int (*action)(const KeyOptions&)) {
    CLI::App* sub = keys->add_subcommand(name, help);
    sub->callback([options, action, &chosen] { chosen = [options, action] { return action(*options); }; });
    return sub;
  };
  CLI::App* add = command("add", "Make a key. With the first one, nobody gets in without.", add_key);
  add->add_option("--label", options->label, "what it is for")->type_name("TEXT");
  add->add_option("--space", options->space, "a name space of its own; without one it sees the whole store")
      ->type_name("NAME");
  add_choice(*add, "--right", options->right, "what it may do", {"read", "write", "admin"});
  add->add_option("--memory", options->memory, "the memory that is meant where a request names none")
      ->type_name("NAME");
  add_json_option(*add, options->json);
  add_json_option(*command("list", "Show the keys, without their secrets.", list_keys), options->json);
  command("revoke", "A key ends at once, also in a server that runs.", revoke_key)
      ->add_option("ID", options->id, "from `mplus serve keys list`")
      ->required()
      ->type_name("");
}

int run_server(ServeOptions options) {
  serve::ServerOptions& server = options.server;
  serve::Keys keys(key_file());
  if (!is_loopback(server.http.host) && !keys.any())
    throw UsageError(
        fmt::format("--host {}: without keys only this machine is served (127.0.0.1 or ::1); `mplus serve "
                    "keys add` makes one",
                    server.http.host));
  if (options.tls.certificate.empty() != options.tls.key.empty())
    throw UsageError("--tls-certificate and --tls-key belong together");
  if (!options.tls.key.empty()) server.http.tls = options.tls;
  server.keys = &keys;
  server.services.open_without_keys = is_loopback(server.http.host);
  prepare(options);
  for (std::string& header : server.services.memory_headers)
    for (char& c : header) c = lower(c);
  server.log = [how = options.log](const serve::Request& request, int status, double seconds) {
    log_reply(how, request, status, seconds);
  };
  const auto engine = open_engine(options.model, {}, true);
  store::Store store = open_store(store::Access::read);
  if (store.read_only())
    note("note: {} cannot be written: memories can be read, and nothing is kept\n",
         printable(store.folder().string()));
  serve::Server running(*engine, store, server);
  const std::string host =
      server.http.host.find(':') == std::string::npos ? server.http.host : "[" + server.http.host + "]";
  // What a server is for is not said on its standard output, so it goes on without one.
  int code = kGood;
  try {
    put(fmt::format("listening on {}://{}:{}\n", server.http.tls ? "https" : "http", host, running.port()));
  } catch (const OutputLost& lost) {
    code = kFailed;
    note("mplus: {}; port {} is served all the same\n", lost.what(), running.port());
  }
  const Interrupt interrupt;
  std::jthread watching([&](const std::stop_token& stop) {
    while (!stop.stop_requested() && !interrupt.requested())
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    running.stop();
  });
  running.run();
  return code;
}

int run_for_assistant(ServeOptions options) {
  options.log = "none";
  prepare(options);
  const auto engine = open_engine(options.model, {}, true);
  store::Store store = open_store();
  std::mutex writing;
  bool heard = true;
  serve::run_mcp(
      *engine, store, options.server,
      []() -> std::optional<std::string> {
        std::string line;
        return read_line(line) ? std::optional(line) : std::nullopt;
      },
      [&](const std::string& line) {
        const std::lock_guard lock(writing);
        try {
          put(line + "\n");
        } catch (const OutputLost&) {  // the assistant has gone; so will its lines
          heard = false;
        }
      });
  return heard ? kGood : kFailed;
}

}  // namespace

void add_mcp(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<ServeOptions>();
  options->idle_seconds = 5;
  CLI::App* command = program.add_subcommand(
      "mcp",
      "Give an assistant a memory: the Model Context Protocol on standard input and output.\n"
      "An assistant starts this program by itself and finds the tools remember, ask, recall, sources, "
      "forget,\n"
      "undo, fork and memories. `mplus serve` offers the same at /mcp.");
  command->add_option("--idle", options->idle_seconds, "seconds until an unused memory is put away")
      ->type_name("SECONDS")
      ->check(CLI::Range(0, 86400))
      ->capture_default_str();
  add_model_options(*command, options->model, "the default model's own");
  command->footer(
      "Example, in an assistant's configuration:\n"
      "  {\"mcpServers\": {\"memory\": {\"command\": \"mplus\", \"args\": [\"mcp\"]}}}");
  command->callback([options, &chosen] { chosen = [options] { return run_for_assistant(*options); }; });
}

namespace {

void add_limits(CLI::App& command, ServeOptions& options) {
  serve::ServerOptions& server = options.server;
  command
      .add_option("--sessions-in-memory", server.memories.most_open,
                  "memories that are open at once, at most")
      ->type_name("N")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command.add_option("--idle", options.idle_seconds, "seconds until an unused memory is put away")
      ->type_name("SECONDS")
      ->check(CLI::Range(0, 86400))
      ->capture_default_str();
  command.add_option("--most-requests", server.scheduler.most_jobs, "under way at once; more get 429")
      ->type_name("N")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command.add_option("--most-connections", server.http.limits.connections, "open at once")
      ->type_name("N")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
}

// Who may call, by which names, and how they are encrypted.
void add_callers(CLI::App& command, ServeOptions& options) {
  serve::ServerOptions& server = options.server;
  command
      .add_option("--memory-header", server.services.memory_headers,
                  "one more header that names a memory, e.g. X-OpenWebUI-Chat-Id")
      ->type_name("NAME");
  command
      .add_option("--tls-certificate", options.tls.certificate,
                  "encrypt: a certificate (PEM) with those that vouch for it")
      ->type_name("FILE");
  command.add_option("--tls-key", options.tls.key, "its private key (PEM)")->type_name("FILE");
  command.add_option("--allow-host", server.services.hosts, "a name this server may be called by")
      ->type_name("NAME");
  command.add_option("--allow-origin", server.services.origins, "a page's origin that may call it")
      ->type_name("URL");
}

}  // namespace

void add_serve(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<ServeOptions>();
  CLI::App* command = program.add_subcommand(
      "serve",
      "Serve memories over HTTP: an OpenAI-compatible API, and a page to see them.\n"
      "The sessions of $MPLUS_HOME are its memories. A chat request names one with the field `memory`, the\n"
      "header X-Mplus-Memory, or the model mplus:NAME; without a name it is answered like by any other "
      "server.\n"
      "A session is held open while it is used and for --idle seconds after; then other commands may write "
      "it.");
  serve::ServerOptions& server = options->server;
  command->add_option("--host", server.http.host, "address to listen on")
      ->type_name("ADDRESS")
      ->capture_default_str();
  command->add_option("--port", server.http.port, "port; 0: any that is free")
      ->type_name("N")
      ->capture_default_str();
  add_limits(*command, *options);
  add_callers(*command, *options);
  add_choice(*command, "--log", options->log, "a line for each reply on standard error",
             {"text", "json", "none"});
  add_model_options(*command, options->model, "the default model's own");
  command->footer(
      "Examples:\n"
      "  mplus serve\n"
      "  mplus serve --port 9000 --memory-header X-OpenWebUI-Chat-Id\n"
      "  mplus serve --host 0.0.0.0 --tls-certificate full_chain.pem --tls-key key.pem --allow-host "
      "mplus.example.org\n"
      "  curl localhost:8080/v1/chat/completions -d \\\n"
      "    '{\"memory\": \"alice\", \"messages\": [{\"role\": \"user\", \"content\": \"Hello!\"}]}'");
  add_key_commands(*command, chosen);
  command->callback([options, command, &chosen] {
    if (command->get_subcommands().empty()) chosen = [options] { return run_server(*options); };
  });
}

}  // namespace mplus::cli
