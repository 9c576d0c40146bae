// One client's connection: reads a request, hands it on, writes its reply, and so on: one request at a time,
// so what a client sends ahead waits in the buffer. On the connections' thread.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "mplus/serve/http/server.h"
#include "mplus/serve/http/transport.h"

namespace mplus::serve {

class Connection;

// What all connections of a server share.
struct Connections {
  HttpLimits limits;
  HttpServer::Handler handler;
  HttpServer::Observer observer;
  std::function<void()> on_last_left = {};  // while it is stopping
  std::set<Connection*> open = {};
  std::atomic<std::size_t> open_count = 0;
  bool stopping = false;
  std::unique_ptr<boost::asio::ssl::context> tls = {};  // null: nothing is encrypted
  // Behind what connections refer to: those that are left end with it.
  boost::asio::io_context context{1};
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Connections& all, boost::asio::ip::tcp::socket socket);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void begin();
  bool waits_for_request() const { return waits_for_request_; }
  void close();
  void lose();  // nobody reads the reply

 private:
  using Error = boost::beast::error_code;

  void read();  // the next request
  void read_header();
  void read_body();
  void send_continue();
  void refuse(Error error);
  // To what never becomes an Exchange of the handler's; the connection ends, since where the next request
  // begins is not known.
  void answer_error(int status, std::string_view message, std::string_view code);
  void hand_on();
  void begin_exchange(Request request);
  void watch();  // whether the client goes away while its answer is being made
  void watch_again();
  void tell();  // the observer, once for each exchange

  void send();         // what there is of the reply
  void send_pieces();  // of a reply that comes from a source
  void put_header(const Exchange::Pieces& pieces);
  void write_out(std::function<void(Connection&)> next);
  void finish();
  void close_gently();
  void drain(int reads);

  Connections& all_;
  Transport stream_;
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  std::shared_ptr<Exchange> exchange_;
  std::shared_ptr<Connection> self_;  // until the reply has ended
  PieceSource source_;                // of the reply's body
  std::string out_;
  std::array<char, 4096> drained_{};
  boost::asio::steady_timer later_;
  std::chrono::steady_clock::time_point began_;
  int status_ = 0;
  bool told_ = false;
  bool first_ = true, waits_for_request_ = false, keep_alive_ = true, head_ = false, sending_ = false,
       ends_ = false;
};

}  // namespace mplus::serve
