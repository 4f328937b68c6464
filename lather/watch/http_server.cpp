#include "lather/watch/http_server.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "lather/core/clock.hpp"
#include "lather/core/error.hpp"

namespace lather::watch {

namespace {

constexpr std::size_t kChunk = 65536;
constexpr int kPiecesAtOnce = 20, kBlocksAtOnce = 16, kAcceptedAtOnce = 128;

const char* reason_phrase(int status) {
  switch (status) {
    case 200: return "OK";
    case 206: return "Partial Content";
    case 400: return "Bad Request";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 416: return "Range Not Satisfiable";
    case 431: return "Request Header Fields Too Large";
    default: return "Internal Server Error";
  }
}

// The page contains its own style and script and may talk only to this server.
constexpr const char* kSafety =
    "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCache-Control: no-store\r\n"
    "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "img-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors "
    "'none'\r\n";

std::string head_of(const HttpResponse& response) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nConnection: close\r\n{}",
                                 response.status, reason_phrase(response.status), response.type, kSafety);
  if (!response.stream)
    head += fmt::format("Content-Length: {}\r\n",
                        response.body.size() + (response.file ? response.range.length : 0));
  for (const auto& line : response.headers) head += line + "\r\n";
  return head + "\r\n";
}

HttpResponse plain(int status, std::string text) {
  HttpResponse response;
  response.status = status;
  response.body = std::move(text) + "\n";
  return response;
}

// Pages from elsewhere that have had their name resolved to this machine (DNS rebinding) are refused.
bool is_local(const std::string& host) {
  return host == "localhost" || host == "127.0.0.1" || host == "[::1]";
}

}  // namespace

struct HttpServer::Client {
  explicit Client(Descriptor s) : socket(std::move(s)) {}
  bool idle() const { return sent == out.size() && left == 0; }
  Kind kind() const { return stream ? Kind::stream : answered && !idle() ? Kind::transfer : Kind::idle; }

  Descriptor socket;
  std::string in, out;
  std::size_t sent = 0;  // of `out`
  Descriptor file;
  std::uint64_t offset = 0, left = 0;  // of the file
  std::unique_ptr<EventStream> stream;
  bool answered = false, gone = false;
  std::size_t ignored = 0;  // bytes that came after the request
  Stopwatch age;
  Stopwatch since;  // it was accepted, or has last taken something
};

HttpServer::HttpServer(int port, Handler handler, const HttpLimits& limits)
    : handler_(std::move(handler)), limits_(limits) {
  listener_ = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!listener_) throw Error(fmt::format("cannot open a socket: {}", std::strerror(errno)));
  const int yes = 1;
  ::setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener_.get(), 256) != 0)
    throw Error(fmt::format("cannot listen on port {}: {}; give another --port, or 0 for a free one", port,
                            std::strerror(errno)));
  socklen_t length = sizeof address;
  ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &length);
  port_ = ntohs(address.sin_port);
}

HttpServer::~HttpServer() = default;

std::size_t HttpServer::streams() const {
  return static_cast<std::size_t>(
      std::count_if(clients_.begin(), clients_.end(), [](const auto& c) { return c->stream != nullptr; }));
}

bool HttpServer::drained() const {
  return std::all_of(clients_.begin(), clients_.end(), [](const auto& c) { return c->idle(); });
}

void HttpServer::serve(double seconds) {
  std::vector<pollfd> waiting{{listener_.get(), POLLIN, 0}};
  for (const auto& client : clients_)
    waiting.push_back({client->socket.get(), static_cast<short>(POLLIN | (client->idle() ? 0 : POLLOUT)), 0});
  if (::poll(waiting.data(), waiting.size(), static_cast<int>(1000 * seconds)) > 0) {
    for (std::size_t i = 1; i < waiting.size(); ++i) {
      Client& client = *clients_[i - 1];
      if (waiting[i].revents & (POLLERR | POLLNVAL)) client.gone = true;
      if (!client.gone && (waiting[i].revents & (POLLIN | POLLHUP))) read_from(client);
      if (!client.gone && (waiting[i].revents & POLLOUT)) write_to(client);
    }
    if (waiting[0].revents & POLLIN) accept_clients();
  }
  check_times();
  make_room();
  std::erase_if(clients_, [](const auto& client) { return client->gone; });
}

void HttpServer::accept_clients() {
  for (int i = 0; i < kAcceptedAtOnce; ++i) {
    Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) {
      if (errno == EMFILE || errno == ENFILE) ::usleep(10000);  // they wait in the system's queue
      return;
    }
    clients_.push_back(std::make_unique<Client>(std::move(socket)));
    read_from(*clients_.back());  // a request that is there already is not idle
  }
}

// Whether it is sent in full does not matter: a client that goes against the rules is not waited for.
void HttpServer::refuse(Client& client, int status, const char* why) {
  const auto refusal = plain(status, why);
  client.answered = true;
  client.out = head_of(refusal) + refusal.body;
  write_to(client);
}

void HttpServer::read_from(Client& client) {
  char buffer[4096];
  for (int block = 0; block < kBlocksAtOnce; ++block) {
    const ssize_t count = ::recv(client.socket.get(), buffer, sizeof buffer, 0);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) client.gone = true;
    if (count <= 0) return;
    if (client.answered) {  // one request per connection; a little more is ignored
      client.ignored += static_cast<std::size_t>(count);
      client.gone = client.ignored > limits_.head_bytes;
      if (client.gone) return;
      continue;
    }
    client.in.append(buffer, static_cast<std::size_t>(count));
    // The line before the last byte counts too: "\r\n\r\n", or "\n\n" as people type it.
    auto end = client.in.find("\r\n\r\n");
    if (end == client.in.npos) end = client.in.find("\n\n");
    if (end != client.in.npos) return answer(client, std::string_view(client.in).substr(0, end));
    if (client.in.size() > limits_.head_bytes) return refuse(client, 431, "the request is too long");
  }
}

void HttpServer::answer(Client& client, std::string_view head) {
  const HttpRequest request = parse_request(head);
  HttpResponse response;
  if (!request.well_formed)
    response = plain(400, "not an HTTP request this server understands");
  else if (request.method != "GET" && request.method != "HEAD") {
    response = plain(405, "this server is for reading only");
    response.headers.push_back("Allow: GET, HEAD");
  } else if (!is_local(request.host))
    response = plain(403, "this server answers to localhost and 127.0.0.1 only");
  else
    try {
      response = handler_(request);
    } catch (const std::exception& error) {
      response = plain(500, error.what());
    }
  client.answered = true;
  client.in.clear();
  client.out = head_of(response);
  if (request.method != "HEAD") {
    client.out += response.body;
    if (response.file) {
      client.file = std::move(response.file);
      client.offset = response.range.first;
      client.left = response.range.length;
    }
    client.stream = std::move(response.stream);
  }
  client.since.restart();
  write_to(client);
}

void HttpServer::write_to(Client& client) {
  for (;;) {
    if (client.sent == client.out.size() && client.left > 0) {
      client.out.resize(std::min<std::uint64_t>(kChunk, client.left));
      client.sent = 0;
      const ssize_t count =
          ::pread(client.file.get(), client.out.data(), client.out.size(), static_cast<off_t>(client.offset));
      if (count <= 0) {  // the file was truncated: the client sees that something is missing
        client.gone = true;
        return;
      }
      client.out.resize(static_cast<std::size_t>(count));
      client.offset += static_cast<std::uint64_t>(count);
      client.left -= static_cast<std::uint64_t>(count);
    }
    if (client.sent == client.out.size()) break;
    const ssize_t count = ::send(client.socket.get(), client.out.data() + client.sent,
                                 client.out.size() - client.sent, MSG_NOSIGNAL);
    if (count < 0) {
      if (errno != EAGAIN && errno != EINTR) client.gone = true;
      return;
    }
    client.sent += static_cast<std::size_t>(count);
    client.since.restart();
  }
  client.out.clear();
  client.out.shrink_to_fit();
  client.sent = 0;
  if (!client.answered || client.stream) return;
  ::shutdown(client.socket.get(), SHUT_WR);  // the rest of the answer still arrives
}

void HttpServer::feed_streams() {
  for (const auto& client : clients_) {
    // As long as the system takes it at once, but not so long that others have to wait.
    for (int piece = 0; piece < kPiecesAtOnce && client->stream && !client->gone && client->idle(); ++piece) {
      client->out = client->stream->next();
      client->sent = 0;
      if (client->out.empty() && client->since.seconds() > limits_.keep_alive_seconds) client->out = ":\n\n";
      if (client->out.empty()) break;
      write_to(*client);
    }
  }
}

void HttpServer::check_times() {
  for (const auto& client : clients_) {
    const double seconds = client->since.seconds();
    if (!client->answered && seconds > limits_.head_seconds) {
      refuse(*client, 408, "no request came");
      client->gone = true;
    } else if (client->answered && client->idle()) {
      client->gone = client->gone || (!client->stream && seconds > limits_.farewell_seconds);
    } else if (client->answered && seconds > limits_.stalled_seconds) {
      client->gone = true;
    }
  }
}

void HttpServer::make_room() {
  const auto drop_beyond = [&](std::size_t most, Kind kind, Stopwatch Client::*clock) {
    std::vector<std::pair<double, Client*>> all;
    for (const auto& client : clients_)
      if (!client->gone && client->kind() == kind)
        all.emplace_back(((*client).*clock).seconds(), client.get());
    std::sort(all.rbegin(), all.rend());
    for (std::size_t i = 0; i + most < all.size(); ++i) all[i].second->gone = true;
  };
  drop_beyond(limits_.idle, Kind::idle, &Client::age);
  drop_beyond(limits_.transfers, Kind::transfer, &Client::since);
  drop_beyond(limits_.streams, Kind::stream, &Client::age);
}

}  // namespace lather::watch
