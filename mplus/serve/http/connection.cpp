#include "mplus/serve/http/connection.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include "mplus/serve/http/read_request.h"

namespace mplus::serve {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;

std::string error_body(std::string_view message, std::string_view code) {
  return fmt::format(
      R"({{"error":{{"message":"{}","type":"invalid_request_error","code":"{}","param":null}}}})", message,
      code);
}

}  // namespace

Connection::Connection(Connections& all, tcp::socket socket)
    : all_(all), stream_(std::move(socket), all.tls.get()), later_(all.context) {
  all_.open.insert(this);
  all_.open_count = all_.open.size();
}

Connection::~Connection() {
  all_.open.erase(this);
  all_.open_count = all_.open.size();
  if (all_.stopping && all_.open.empty()) all_.on_last_left();
}

void Connection::begin() {
  if (!stream_.encrypted()) return read();
  waits_for_request_ = true;  // nothing is lost with it
  stream_.tcp().expires_after(all_.limits.header_time);
  stream_.async_greet([self = this->shared_from_this()](Error error) {
    if (error) return self->close();
    self->read();
  });
}

// Beast's own error for a body or header that is too large must still be answered.
void Connection::read() {
  if (all_.stopping) return close();
  exchange_.reset();
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(all_.limits.header_bytes));
  parser_->body_limit(all_.limits.body_bytes);
  waits_for_request_ = true;
  // A first byte ends the time between two requests; from then on the headers' time runs.
  stream_.tcp().expires_after(buffer_.size() > 0 || first_ ? all_.limits.header_time : all_.limits.idle_time);
  first_ = false;
  if (buffer_.size() > 0) return read_header();
  stream_.async_read_some(buffer_.prepare(4096),
                          [self = this->shared_from_this()](Error error, std::size_t size) {
                            if (error) return self->close();
                            self->buffer_.commit(size);
                            self->stream_.tcp().expires_after(self->all_.limits.header_time);
                            self->read_header();
                          });
}

void Connection::close() {
  beast::error_code ignored;
  stream_.tcp().socket().shutdown(tcp::socket::shutdown_both, ignored);
  stream_.tcp().close();
  if (exchange_) exchange_->client_has_gone();
}

void Connection::lose() {
  const auto self = std::move(self_);
  sending_ = false;
  source_ = nullptr;
  tell();
  close();
}

void Connection::read_header() {
  http::async_read_header(stream_, buffer_, *parser_,
                          [self = this->shared_from_this()](Error error, std::size_t) {
                            self->waits_for_request_ = false;
                            if (error) return self->refuse(error);
                            self->read_body();
                          });
}

void Connection::read_body() {
  stream_.tcp().expires_after(all_.limits.body_time);
  // Two lengths are how one request is smuggled behind another.
  const auto& header = parser_->get();
  if (header.count(http::field::content_length) + header.count(http::field::transfer_encoding) > 1)
    return answer_error(400, "more than one length of the body", "bad_request");
  if (beast::iequals(header[http::field::expect], "100-continue")) return send_continue();
  http::async_read(stream_, buffer_, *parser_, [self = this->shared_from_this()](Error error, std::size_t) {
    if (error) return self->refuse(error);
    self->hand_on();
  });
}

void Connection::send_continue() {
  static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  asio::async_write(stream_, asio::buffer(kContinue.data(), kContinue.size()),
                    [self = this->shared_from_this()](Error error, std::size_t) {
                      if (error) return self->close();
                      self->parser_->get().erase(http::field::expect);
                      self->read_body();
                    });
}

void Connection::refuse(Error error) {
  if (error == http::error::body_limit)
    return answer_error(413, fmt::format("the body is larger than {} bytes", all_.limits.body_bytes),
                        "too_large");
  if (error == http::error::header_limit || error == http::error::buffer_overflow)
    return answer_error(431, "the headers are too large", "too_large");
  const bool no_request = error == http::error::end_of_stream || error == asio::error::eof ||
                          error == asio::error::connection_reset || error == asio::error::operation_aborted;
  if (error == beast::error::timeout) return close();
  if (no_request) return close();
  answer_error(400, "this is no HTTP request", "bad_request");
}

void Connection::answer_error(int status, std::string_view message, std::string_view code) {
  keep_alive_ = false;
  begin_exchange(Request{.method = "GET", .path = "/", .id = new_request_id()});
  exchange_->reply({.status = status, .body = error_body(message, code)});
}

void Connection::hand_on() {
  http::request<http::string_body> message = parser_->release();
  keep_alive_ = message.keep_alive();
  head_ = message.method() == http::verb::head;
  std::optional<Request> request = read_request(message);
  if (!request) return answer_error(400, "the request's target is no path", "bad_request");
  begin_exchange(std::move(*request));
  watch();
  all_.handler(exchange_);
}

void Connection::begin_exchange(Request request) {
  exchange_ = std::make_shared<Exchange>(std::move(request));
  began_ = std::chrono::steady_clock::now();
  status_ = 0;
  told_ = false;
  exchange_->set_on_ready([weak = this->weak_from_this(), &context = all_.context] {
    asio::post(context, [weak] {
      if (const auto self = weak.lock()) self->send();
    });
  });
  self_ = this->shared_from_this();
  stream_.tcp().expires_never();
}

void Connection::watch() {
  stream_.tcp().socket().async_wait(tcp::socket::wait_read,
                                    [weak = this->weak_from_this(), of = exchange_](Error error) {
                                      const auto self = weak.lock();
                                      if (error || !self || self->exchange_ != of) return;
                                      const int socket = self->stream_.tcp().socket().native_handle();
                                      char byte = 0;
                                      const ssize_t got = ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
                                      if (got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK))
                                        return self->lose();
                                      // It sends its next request ahead; or, encrypted, says that it goes,
                                      // which only its going tells apart.
                                      if (got > 0 && self->stream_.encrypted()) self->watch_again();
                                    });
}

void Connection::watch_again() {
  later_.expires_after(std::chrono::milliseconds(200));
  later_.async_wait([weak = this->weak_from_this(), of = exchange_](Error error) {
    const auto self = weak.lock();
    if (error || !self || self->exchange_ != of) return;
    pollfd socket{self->stream_.tcp().socket().native_handle(), POLLRDHUP, 0};
    if (::poll(&socket, 1, 0) != 0) return self->lose();
    self->watch_again();
  });
}

void Connection::tell() {
  if (!exchange_ || !all_.observer || std::exchange(told_, true)) return;
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - began_;
  all_.observer(exchange_->request, status_, time.count());
}

void Connection::send() {
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
  if (pieces.begins && !head_) source_ = std::move(pieces.reply.pieces);
  write_out([](Connection& own) {
    if (own.source_) return own.send_pieces();
    own.sending_ = false;
    if (!own.ends_) return own.send();
    own.finish();
  });
}

void Connection::send_pieces() {
  std::string piece;
  try {
    piece = source_();
  } catch (const std::exception&) {  // the reply has begun: that it breaks off is all that can be told
    return lose();
  }
  const bool last = piece.empty();
  out_ = last ? "0\r\n\r\n" : fmt::format("{:x}\r\n{}\r\n", piece.size(), piece);
  write_out([last](Connection& own) {
    if (!last) return own.send_pieces();
    own.source_ = nullptr;
    own.sending_ = false;
    own.finish();
  });
}

void Connection::write_out(std::function<void(Connection&)> next) {
  stream_.tcp().expires_after(all_.limits.write_time);
  asio::async_write(stream_, asio::buffer(out_),
                    [self = this->shared_from_this(), next = std::move(next)](Error error, std::size_t) {
                      if (error) return self->lose();
                      self->stream_.tcp().expires_never();
                      next(*self);
                    });
}

void Connection::put_header(const Exchange::Pieces& pieces) {
  const Reply& reply = pieces.reply;
  status_ = reply.status;
  const bool last = !keep_alive_ || all_.stopping;
  const beast::string_view reason = http::obsolete_reason(static_cast<http::status>(reply.status));
  out_ += fmt::format("HTTP/1.1 {} {}\r\nx-request-id: {}\r\n", reply.status,
                      std::string_view(reason.data(), reason.size()), exchange_->request.id);
  if (!reply.type.empty()) out_ += fmt::format("Content-Type: {}\r\n", reply.type);
  for (const auto& [name, value] : reply.headers) out_ += fmt::format("{}: {}\r\n", name, value);
  out_ += pieces.streamed || reply.pieces
              ? std::string("Transfer-Encoding: chunked\r\nCache-Control: no-store\r\n")
              : fmt::format("Content-Length: {}\r\n", reply.body.size());
  out_ += last ? "Connection: close\r\n\r\n" : "Connection: keep-alive\r\n\r\n";
  if (!pieces.streamed && !reply.pieces && !head_) out_ += reply.body;
}

void Connection::finish() {
  const auto self = std::move(self_);
  tell();
  if (!keep_alive_ || all_.stopping) return close_gently();
  read();
}

// A client that still sends must be able to read the reply: no reset.
void Connection::close_gently() {
  exchange_.reset();
  stream_.tcp().expires_after(std::chrono::seconds(2));
  if (stream_.encrypted())
    return stream_.async_part([self = this->shared_from_this()](Error) { self->close(); });
  beast::error_code ignored;
  stream_.tcp().socket().shutdown(tcp::socket::shutdown_send, ignored);
  drain(16);
}

void Connection::drain(int reads) {
  stream_.async_read_some(asio::buffer(drained_),
                          [self = this->shared_from_this(), reads](Error error, std::size_t) {
                            if (!error && reads > 0) return self->drain(reads - 1);
                            self->close();
                          });
}

}  // namespace mplus::serve
