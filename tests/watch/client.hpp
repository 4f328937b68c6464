#pragma once
// A client with a plain socket, and a server that runs in a thread.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>

namespace lather::testing {

class Client {
 public:
  explicit Client(int port, int receive_buffer = 0) {
    socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
    if (receive_buffer > 0)
      ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  ~Client() { ::close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool connected() const { return connected_; }
  void send(const std::string& text) { ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL); }
  void get(const std::string& target, const std::string& more = "") {
    send("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + more + "\r\n");
  }
  // Reads until the server closes, `enough` says so, or nothing arrives for `patience_ms`.
  std::string read(
      const std::function<bool(const std::string&)>& enough = [](const std::string&) { return false; },
      int patience_ms = 20000) {
    std::string all;
    char buffer[16384];
    while (!enough(all)) {
      pollfd waiting{socket_, POLLIN, 0};
      if (::poll(&waiting, 1, patience_ms) <= 0) break;
      const ssize_t count = ::recv(socket_, buffer, sizeof buffer, 0);
      if (count <= 0) break;
      all.append(buffer, static_cast<std::size_t>(count));
    }
    return all;
  }
  std::string read_until(const std::string& part) {
    return read([&](const std::string& all) { return all.find(part) != std::string::npos; });
  }

 private:
  int socket_ = -1;
  bool connected_ = false;
};

// The whole answer to one request.
inline std::string fetched(int port, const std::string& target, const std::string& more = "") {
  Client client(port);
  client.get(target, more);
  return client.read();
}
inline std::string answer_to(int port, const std::string& request) {
  Client client(port);
  client.send(request);
  return client.read();
}

// Calls `serve` repeatedly until destroyed.
class InBackground {
 public:
  explicit InBackground(std::function<void()> serve)
      : thread_([this, serve = std::move(serve)] {
          while (!end_) serve();
        }) {}
  ~InBackground() {
    end_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> end_ = false;
  std::thread thread_;
};

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace lather::testing
