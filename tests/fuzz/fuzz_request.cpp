#include <boost/asio/buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>

#include "mplus/serve/core.h"
#include "mplus/serve/http/read_request.h"
#include "tests/fuzz/accept.h"
#include "tests/fuzz/memory_files.h"
#include "tests/fuzz/scratch.h"

namespace mplus::serve::test {
namespace {

namespace http = boost::beast::http;
using io::test::scratch;

constexpr auto kPatience = std::chrono::seconds(2);  // a client's: it goes then
constexpr auto kEnd = std::chrono::seconds(20);      // no request may go on for so long after that
constexpr int kRequestsOfAServer = 256;              // then a new one begins with an empty store

// The whole server but its sockets.
class Target {
 public:
  Target() : thread_([this] { core_.scheduler.run(); }) {}
  ~Target() {
    core_.scheduler.stop();
    thread_.join();
    core_.memories.put_away_all();
  }
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  void answer(Request request) {
    const auto exchange = std::make_shared<Exchange>(std::move(request));
    exchange->set_on_ready([this] {
      const std::lock_guard lock(mutex_);
      ready_.notify_all();
    });
    core_.router.handle(exchange);
    std::string body;
    Reply reply;
    for (bool ended = false; !ended;) {
      Exchange::Pieces pieces = next(*exchange);
      if (pieces.begins) reply = std::move(pieces.reply);
      body += pieces.bytes;
      ended = pieces.ends;
    }
    check(exchange->request, reply, exchange->gone() ? std::string() : reply.body + body);
  }

 private:
  Exchange::Pieces next(Exchange& exchange) {
    std::unique_lock lock(mutex_);
    const auto begin = std::chrono::steady_clock::now();
    for (;;) {
      Exchange::Pieces pieces = exchange.take();
      if (pieces.begins || pieces.ends || !pieces.bytes.empty()) return pieces;
      const auto waited = std::chrono::steady_clock::now() - begin;
      MPLUS_CHECK(waited < kPatience + kEnd, "{} {}: no end", exchange.request.method, exchange.request.path);
      if (waited > kPatience && !exchange.gone()) exchange.client_has_gone();
      ready_.wait_for(lock, std::chrono::milliseconds(50));
    }
  }

  static void check(const Request& request, Reply& reply, const std::string& body) {
    MPLUS_CHECK(reply.status != 500, "{} {}: {}", request.method, request.path, body);
    if (reply.pieces)
      while (!reply.pieces().empty()) continue;
    else if (reply.type == "application/json" && !body.empty())
      MPLUS_CHECK(Json::accept(body), "{} {}: {}", request.method, request.path, body);
  }

  struct Folder {
    ~Folder() { std::filesystem::remove_all(path); }
    std::filesystem::path path = scratch().folder() / "served";
  };
  Folder folder_;
  store::Store store_{folder_.path};
  Core core_{engine::test::tiny_engine(), store_, {}};
  std::mutex mutex_;
  std::condition_variable ready_;
  std::thread thread_;
};

// The next request of what a client sends; none: what is left is none.
std::optional<Request> next_request(std::string_view& bytes) {
  http::request_parser<http::string_body> parser;
  parser.header_limit(16 * 1024);
  parser.body_limit(64 * 1024);
  parser.eager(true);
  boost::beast::error_code error;
  while (!bytes.empty() && !parser.is_done() && !error) {
    const std::size_t taken = parser.put(boost::asio::buffer(bytes.data(), bytes.size()), error);
    bytes.remove_prefix(taken);
    if (taken == 0) break;
  }
  if (error || !parser.is_done()) return std::nullopt;
  http::request<http::string_body> message = parser.release();
  return read_request(message);
}

}  // namespace
}  // namespace mplus::serve::test

// Threads that go on keep what is theirs (OpenSSL's random numbers), which looks like a leak from outside.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

// What a client sends: requests one behind another. A failure of the server's own (500), a reply that does
// not end, and JSON that is none are findings.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mplus::serve;
  mplus::engine::test::tiny_engine();  // before the target: it must outlive it
  static std::unique_ptr<test::Target> target;
  static int requests = 0;
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  while (auto request = test::next_request(bytes)) {
    if (!target || ++requests % test::kRequestsOfAServer == 0) {
      target.reset();
      target = std::make_unique<test::Target>();
    }
    target->answer(std::move(*request));
  }
  return 0;
}
