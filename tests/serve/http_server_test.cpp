// Connections as they come and go; what is asked for is hostile_test.py's.
#include "mplus/serve/http/server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "mplus/core/error.h"

namespace mplus::serve {
namespace {

class Client {
 public:
  explicit Client(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { close(); }
  void close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }
  void send(std::string_view text) const {
    EXPECT_EQ(::send(socket_, text.data(), text.size(), 0), std::ssize(text));
  }
  std::string read_until(std::string_view end) const {
    std::string text;
    char block[4096];
    while (text.find(end) == std::string::npos) {
      const ssize_t got = ::recv(socket_, block, sizeof block, 0);
      if (got <= 0) break;
      text.append(block, static_cast<std::size_t>(got));
    }
    return text;
  }

 private:
  int socket_;
};

class HttpServerTest : public ::testing::Test {
 protected:
  HttpServerTest()
      : server_(
            HttpServer::Options{}, [this](const std::shared_ptr<Exchange>& exchange) { handle(exchange); },
            [this](const Request&, int status, double) { statuses_.push_back(status); }),
        thread_([this] { server_.run(); }) {}
  ~HttpServerTest() override {
    server_.stop(std::chrono::seconds(0));
    thread_.join();
  }
  void handle(const std::shared_ptr<Exchange>& exchange) {
    if (exchange->request.path == "/wait") {
      waiting_ = exchange;
      has_waiting_ = true;
    } else {
      exchange->reply({.body = exchange->request.path + exchange->request.body, .type = "text/plain"});
    }
  }
  template <class Condition>
  static void wait_for(Condition&& condition) {
    while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  std::shared_ptr<Exchange> waiting_;
  std::atomic<bool> has_waiting_ = false;
  std::vector<int> statuses_;
  HttpServer server_;
  std::thread thread_;
};

TEST_F(HttpServerTest, RequestsSentAheadAreAnsweredInOrder) {
  const Client client(server_.port());
  client.send(
      "GET /a HTTP/1.1\r\nHost: x\r\n\r\nPOST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhiGET /c "
      "HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string text = client.read_until("never");
  const std::size_t a = text.find("\r\n\r\n/a"), b = text.find("\r\n\r\n/bhi"), c = text.find("\r\n\r\n/c");
  EXPECT_TRUE(a < b && b < c && c != std::string::npos) << text;
}

TEST_F(HttpServerTest, AClientThatGoesIsNoticed) {
  Client client(server_.port());
  client.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
  wait_for([&] { return has_waiting_.load(); });
  EXPECT_FALSE(waiting_->gone());
  client.close();
  wait_for([&] { return waiting_->gone(); });
  waiting_->reply({});  // nobody reads it
}

TEST_F(HttpServerTest, AStreamEndsWithItsPieces) {
  const Client client(server_.port());
  client.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
  wait_for([&] { return has_waiting_.load(); });
  waiting_->begin_stream("text/plain");
  waiting_->write("one");
  EXPECT_NE(client.read_until("one\r\n").find("Transfer-Encoding: chunked"), std::string::npos);
  waiting_->write("two");
  waiting_->end();
  EXPECT_NE(client.read_until("0\r\n\r\n").find("two"), std::string::npos);
}

// With a request under way, an idle connection and half a request.
TEST_F(HttpServerTest, EndingTakesAllConnectionsAlong) {
  const Client busy(server_.port()), idle(server_.port()), half(server_.port());
  busy.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
  half.send("GET / HT");
  wait_for([&] { return has_waiting_.load() && server_.connections() == 3; });
  server_.stop(std::chrono::seconds(0));
  wait_for([&] { return waiting_->gone(); });
}

TEST_F(HttpServerTest, AnAddressThatIsTakenIsNamed) {
  try {
    const HttpServer second({.port = server_.port()}, nullptr, nullptr);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(std::to_string(server_.port())), std::string::npos);
  }
}

}  // namespace
}  // namespace mplus::serve
