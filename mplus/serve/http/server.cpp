#include "mplus/serve/http/server.h"

#include <fmt/core.h>
#include <sys/socket.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <list>
#include <optional>
#include <random>
#include <set>

#include "mplus/core/error.h"
#include "mplus/core/text.h"

namespace mplus::serve {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;

// A client's own id comes back in a header and stands in logs.
bool is_id(std::string_view text, std::size_t most) {
  return !text.empty() && text.size() <= most && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

std::string new_request_id() {
  static std::mt19937_64 random{std::random_device{}()};  // one thread
  return fmt::format("req-{:016x}", random());
}

// Beast has checked the grammar by now; what is left is what its leniency lets through.
std::optional<Request> request_of(http::request<http::string_body>& message) {
  Request request;
  request.method = std::string(message.method_string());
  for (const auto& field : message) {
    std::string name(field.name_string());
    for (char& c : name) c = lower(c);
    std::string& value = request.headers[name];
    if (!value.empty()) value += ", ";
    value += std::string(field.value());
  }
  const std::string_view own = request.header("x-request-id");
  request.id = is_id(own, 128) ? std::string(own) : new_request_id();
  if (!parse_target({message.target().data(), message.target().size()}, request)) return std::nullopt;
  request.body = std::move(message.body());
  return request;
}

std::string error_body(std::string_view message, std::string_view code) {
  return fmt::format(
      R"({{"error":{{"message":"{}","type":"invalid_request_error","code":"{}","param":null}}}})", message,
      code);
}

}  // namespace

struct HttpServer::State {
  State(const HttpLimits& within, Handler to, Observer tells)
      : limits(within), handler(std::move(to)), observer(std::move(tells)), acceptor(context) {}

  class Connection;

  void accept();
  void leave();

  HttpLimits limits;
  Handler handler;
  Observer observer;
  std::set<Connection*> open;
  std::atomic<std::size_t> open_count = 0;
  bool stopping = false, left = false;
  // Behind what connections refer to: those that are left end with it.
  asio::io_context context{1};
  tcp::acceptor acceptor;
  std::optional<asio::steady_timer> patience;
};

// Reads a request, hands it on, writes its reply, and so on: one request at a time, so what a client sends
// ahead waits in the buffer.
class HttpServer::State::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(State& server, tcp::socket socket) : server_(server), stream_(std::move(socket)) {
    server_.open.insert(this);
    server_.open_count = server_.open.size();
  }
  ~Connection() {
    server_.open.erase(this);
    server_.open_count = server_.open.size();
    if (server_.stopping && server_.open.empty()) server_.leave();
  }

  // Beast's own error for a body or header that is too large must still be answered.
  void read() {
    if (server_.stopping) return close();
    exchange_.reset();
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(server_.limits.header_bytes));
    parser_->body_limit(server_.limits.body_bytes);
    waits_for_request_ = true;
    // A first byte ends the time between two requests; from then on the headers' time runs.
    stream_.expires_after(buffer_.size() > 0 || first_ ? server_.limits.header_time
                                                       : server_.limits.idle_time);
    first_ = false;
    if (buffer_.size() > 0) return read_header();
    stream_.async_read_some(buffer_.prepare(4096),
                            [self = this->shared_from_this()](beast::error_code error, std::size_t size) {
                              if (error) return self->close();
                              self->buffer_.commit(size);
                              self->stream_.expires_after(self->server_.limits.header_time);
                              self->read_header();
                            });
  }

  bool waits_for_request() const { return waits_for_request_; }
  void close() {
    beast::error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
    stream_.close();
    if (exchange_) exchange_->client_has_gone();
  }

  // Nobody reads the reply.
  void lose() {
    const auto self = std::move(self_);
    tell();
    close();
  }

 private:
  void read_header() {
    http::async_read_header(stream_, buffer_, *parser_,
                            [self = this->shared_from_this()](beast::error_code error, std::size_t) {
                              self->waits_for_request_ = false;
                              if (error) return self->refuse(error);
                              self->read_body();
                            });
  }

  void read_body() {
    stream_.expires_after(server_.limits.body_time);
    // Two lengths are how one request is smuggled behind another.
    const auto& header = parser_->get();
    if (header.count(http::field::content_length) + header.count(http::field::transfer_encoding) > 1)
      return answer_error(400, "more than one length of the body", "bad_request");
    if (beast::iequals(header[http::field::expect], "100-continue")) return send_continue();
    http::async_read(stream_, buffer_, *parser_,
                     [self = this->shared_from_this()](beast::error_code error, std::size_t) {
                       if (error) return self->refuse(error);
                       self->hand_on();
                     });
  }

  void send_continue() {
    static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    asio::async_write(stream_, asio::buffer(kContinue.data(), kContinue.size()),
                      [self = this->shared_from_this()](beast::error_code error, std::size_t) {
                        if (error) return self->close();
                        self->parser_->get().erase(http::field::expect);
                        self->read_body();
                      });
  }

  void refuse(beast::error_code error) {
    if (error == http::error::body_limit)
      return answer_error(413, fmt::format("the body is larger than {} bytes", server_.limits.body_bytes),
                          "too_large");
    if (error == http::error::header_limit || error == http::error::buffer_overflow)
      return answer_error(431, "the headers are too large", "too_large");
    const bool no_request = error == http::error::end_of_stream || error == asio::error::eof ||
                            error == asio::error::connection_reset || error == asio::error::operation_aborted;
    if (error == beast::error::timeout) return close();
    if (no_request) return close();
    answer_error(400, "this is no HTTP request", "bad_request");
  }

  // To what never becomes an Exchange of the handler's; the connection ends, since where the next request
  // begins is not known.
  void answer_error(int status, std::string_view message, std::string_view code) {
    keep_alive_ = false;
    begin_exchange(Request{.method = "GET", .path = "/", .id = new_request_id()});
    exchange_->reply({.status = status, .body = error_body(message, code)});
  }

  void hand_on() {
    http::request<http::string_body> message = parser_->release();
    keep_alive_ = message.keep_alive();
    head_ = message.method() == http::verb::head;
    std::optional<Request> request = request_of(message);
    if (!request) return answer_error(400, "the request's target is no path", "bad_request");
    begin_exchange(std::move(*request));
    watch();
    server_.handler(exchange_);
  }

  void begin_exchange(Request request) {
    exchange_ = std::make_shared<Exchange>(std::move(request));
    began_ = std::chrono::steady_clock::now();
    status_ = 0;
    told_ = false;
    exchange_->set_on_ready([weak = this->weak_from_this(), &context = server_.context] {
      asio::post(context, [weak] {
        if (const auto self = weak.lock()) self->send();
      });
    });
    self_ = this->shared_from_this();  // until the reply has ended
    stream_.expires_never();
  }

  // Whether the client goes away while its answer is being made.
  void watch() {
    stream_.socket().async_wait(tcp::socket::wait_read, [weak = this->weak_from_this(),
                                                         of = exchange_](beast::error_code error) {
      const auto self = weak.lock();
      if (error || !self || self->exchange_ != of) return;
      char byte = 0;
      const ssize_t got = ::recv(self->stream_.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
      if (got > 0) return;  // it sends its next request ahead
      if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) self->lose();
    });
  }

  // Once for each exchange.
  void tell() {
    if (!exchange_ || !server_.observer || std::exchange(told_, true)) return;
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - began_;
    server_.observer(exchange_->request, status_, time.count());
  }

  void send() {
    if (sending_ || !exchange_) return;
    Exchange::Pieces pieces = exchange_->take();
    if (!pieces.begins && pieces.bytes.empty() && !pieces.ends) return;
    if (!pieces.begins && !pieces.streamed) return;
    sending_ = true;
    ends_ = pieces.ends;
    out_.clear();
    if (pieces.begins) put_header(pieces);
    if (pieces.streamed && !head_) {
      if (!pieces.bytes.empty()) out_ += fmt::format("{:x}\r\n{}\r\n", pieces.bytes.size(), pieces.bytes);
      if (pieces.ends) out_ += "0\r\n\r\n";
    }
    stream_.expires_after(server_.limits.write_time);
    asio::async_write(stream_, asio::buffer(out_),
                      [self = this->shared_from_this()](beast::error_code error, std::size_t) {
                        self->sending_ = false;
                        if (error) return self->lose();
                        self->stream_.expires_never();
                        if (!self->ends_) return self->send();
                        self->finish();
                      });
  }

  void put_header(const Exchange::Pieces& pieces) {
    const Reply& reply = pieces.reply;
    status_ = reply.status;
    const bool last = !keep_alive_ || server_.stopping;
    const beast::string_view reason = http::obsolete_reason(static_cast<http::status>(reply.status));
    out_ += fmt::format("HTTP/1.1 {} {}\r\nx-request-id: {}\r\n", reply.status,
                        std::string_view(reason.data(), reason.size()), exchange_->request.id);
    if (!reply.type.empty()) out_ += fmt::format("Content-Type: {}\r\n", reply.type);
    for (const auto& [name, value] : reply.headers) out_ += fmt::format("{}: {}\r\n", name, value);
    out_ += pieces.streamed ? std::string("Transfer-Encoding: chunked\r\nCache-Control: no-store\r\n")
                            : fmt::format("Content-Length: {}\r\n", reply.body.size());
    out_ += last ? "Connection: close\r\n\r\n" : "Connection: keep-alive\r\n\r\n";
    if (!pieces.streamed && !head_) out_ += reply.body;
  }

  void finish() {
    const auto self = std::move(self_);
    tell();
    if (!keep_alive_ || server_.stopping) return close_gently();
    read();
  }

  // A client that still sends must be able to read the reply: no reset.
  void close_gently() {
    exchange_.reset();
    beast::error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    stream_.expires_after(std::chrono::seconds(2));
    drain(16);
  }
  void drain(int reads) {
    stream_.async_read_some(asio::buffer(drained_),
                            [self = this->shared_from_this(), reads](beast::error_code error, std::size_t) {
                              if (!error && reads > 0) return self->drain(reads - 1);
                              self->close();
                            });
  }

  State& server_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::shared_ptr<Exchange> exchange_;
  std::shared_ptr<Connection> self_;
  std::string out_;
  std::array<char, 4096> drained_{};
  std::chrono::steady_clock::time_point began_;
  int status_ = 0;
  bool told_ = false;
  bool first_ = true, waits_for_request_ = false, keep_alive_ = true, head_ = false, sending_ = false,
       ends_ = false;
};

void HttpServer::State::accept() {
  acceptor.async_accept([this](beast::error_code error, tcp::socket socket) {
    if (stopping) return;
    if (!error && open.size() < limits.connections) {
      beast::error_code ignored;
      socket.set_option(tcp::no_delay(true), ignored);
      std::make_shared<Connection>(*this, std::move(socket))->read();
    }
    // Without descriptors left, or with too many connections: others must end first.
    if (!error) return accept();
    auto later = std::make_shared<asio::steady_timer>(context, std::chrono::milliseconds(50));
    later->async_wait([this, later](beast::error_code) { accept(); });
  });
}

void HttpServer::State::leave() {
  if (!std::exchange(left, true)) context.stop();
}

HttpServer::HttpServer(const std::string& host, std::uint16_t port, const HttpLimits& limits, Handler handler,
                       Observer observer)
    : state_(std::make_unique<State>(limits, std::move(handler), std::move(observer))) {
  beast::error_code error;
  const auto refuse = [&] {
    if (error) fail(ErrorCode::io, "cannot listen on {} port {}: {}", host, port, error.message());
  };
  const auto address = asio::ip::make_address(host, error);
  refuse();
  const tcp::endpoint endpoint(address, port);
  tcp::acceptor& acceptor = state_->acceptor;
  acceptor.open(endpoint.protocol(), error);
  refuse();
  acceptor.set_option(asio::socket_base::reuse_address(true), error);
  acceptor.bind(endpoint, error);
  refuse();
  acceptor.listen(asio::socket_base::max_listen_connections, error);
  refuse();
  state_->accept();
}

HttpServer::~HttpServer() = default;

std::uint16_t HttpServer::port() const { return state_->acceptor.local_endpoint().port(); }

void HttpServer::run() { state_->context.run(); }

void HttpServer::stop(std::chrono::seconds patience) {
  asio::post(state_->context, [state = state_.get(), patience] {
    if (state->stopping) return;
    state->stopping = true;
    beast::error_code ignored;
    state->acceptor.close(ignored);
    // Closing one takes it out of the set.
    std::vector<State::Connection*> idle;
    for (State::Connection* connection : state->open)
      if (connection->waits_for_request()) idle.push_back(connection);
    for (State::Connection* connection : idle) connection->close();
    if (state->open.empty()) return state->leave();
    state->patience.emplace(state->context, patience);
    // Whoever still waits then is told that nobody listens any more, so that what it asked for ends.
    state->patience->async_wait([state](beast::error_code) {
      const std::vector<State::Connection*> left(state->open.begin(), state->open.end());
      for (State::Connection* connection : left) connection->lose();
      state->leave();
    });
  });
}

std::size_t HttpServer::connections() const { return state_->open_count; }

}  // namespace mplus::serve
