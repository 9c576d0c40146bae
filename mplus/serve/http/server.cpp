#include "mplus/serve/http/server.h"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <vector>

#include "mplus/core/error.h"
#include "mplus/serve/http/connection.h"

namespace mplus::serve {

namespace asio = boost::asio;
namespace beast = boost::beast;

struct HttpServer::State {
  State(const Options& options, Handler handler, Observer observer)
      : all{options.limits, std::move(handler), std::move(observer), [this] { leave(); }},
        acceptor(all.context) {
    if (options.tls) all.tls = tls_context(*options.tls);
  }

  void accept();
  void leave();

  bool left = false;
  Connections all;
  asio::ip::tcp::acceptor acceptor;
  std::optional<asio::steady_timer> patience;
};

void HttpServer::State::accept() {
  acceptor.async_accept([this](beast::error_code error, asio::ip::tcp::socket socket) {
    if (all.stopping) return;
    if (!error && all.open.size() < all.limits.connections) {
      beast::error_code ignored;
      socket.set_option(asio::ip::tcp::no_delay(true), ignored);
      std::make_shared<Connection>(all, std::move(socket))->begin();
    }
    // Without descriptors left, or with too many connections: others must end first.
    if (!error) return accept();
    auto later = std::make_shared<asio::steady_timer>(all.context, std::chrono::milliseconds(50));
    later->async_wait([this, later](beast::error_code) { accept(); });
  });
}

void HttpServer::State::leave() {
  if (!std::exchange(left, true)) all.context.stop();
}

HttpServer::HttpServer(const Options& options, Handler handler, Observer observer)
    : state_(std::make_unique<State>(options, std::move(handler), std::move(observer))) {
  beast::error_code error;
  const auto refuse = [&] {
    if (error)
      fail(ErrorCode::io, "cannot listen on {} port {}: {}", options.host, options.port, error.message());
  };
  const auto address = asio::ip::make_address(options.host, error);
  refuse();
  const asio::ip::tcp::endpoint endpoint(address, options.port);
  asio::ip::tcp::acceptor& acceptor = state_->acceptor;
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

void HttpServer::run() { state_->all.context.run(); }

void HttpServer::stop(std::chrono::seconds patience) {
  asio::post(state_->all.context, [state = state_.get(), patience] {
    if (state->all.stopping) return;
    state->all.stopping = true;
    beast::error_code ignored;
    state->acceptor.close(ignored);
    // Closing one takes it out of the set.
    std::vector<Connection*> idle;
    for (Connection* connection : state->all.open)
      if (connection->waits_for_request()) idle.push_back(connection);
    for (Connection* connection : idle) connection->close();
    if (state->all.open.empty()) return state->leave();
    state->patience.emplace(state->all.context, patience);
    // Whoever still waits then is told that nobody listens any more, so that what it asked for ends.
    state->patience->async_wait([state](beast::error_code) {
      const std::vector<Connection*> left(state->all.open.begin(), state->all.open.end());
      for (Connection* connection : left) connection->lose();
      state->leave();
    });
  });
}

std::size_t HttpServer::connections() const { return state_->all.open_count; }

}  // namespace mplus::serve
