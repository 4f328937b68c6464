#pragma once
// A small read-only HTTP server, on the loopback address only: one thread, non-blocking sockets, poll().
// Every connection has a bounded buffer and a time limit, and of each kind of connection there is a bounded
// number, beyond which one has to go: slow, silent or numerous clients cost no more than their own pages and
// lock nobody out. Streams (server-sent events) are asked for more only when a client has taken what it was
// sent; a browser whose stream had to go asks for it again.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lather/core/files.hpp"
#include "lather/watch/http_request.hpp"

namespace lather::watch {

// What a client receives as server-sent events, piece by piece.
class EventStream {
 public:
  virtual ~EventStream() = default;
  virtual std::string next() = 0;  // empty: nothing new
};

struct HttpResponse {
  int status = 200;
  std::string type = "text/plain; charset=utf-8", body;
  std::vector<std::string> headers;  // additional ones: "Allow: GET, HEAD"
  Descriptor file;                   // its `range` is sent after the body
  ByteRange range;
  std::unique_ptr<EventStream> stream;  // continues after the body
};

struct HttpLimits {
  std::size_t idle = 32;       // without a request, or done with it; the oldest one goes
  std::size_t transfers = 64;  // that are sent an answer; the one that has taken nothing for longest goes
  std::size_t streams = 256;   // the oldest one goes
  std::size_t head_bytes = 16384;
  double head_seconds = 5;         // for a request to arrive
  double farewell_seconds = 2;     // for a client to close its end, once it has been sent everything
  double stalled_seconds = 60;     // for a client that takes nothing
  double keep_alive_seconds = 15;  // between keep-alive messages of a silent stream
};

class HttpServer {
 public:
  using Handler = std::function<HttpResponse(const HttpRequest&)>;

  // Port 0: a free one. Throws Error if the port is taken.
  HttpServer(int port, Handler handler, const HttpLimits& limits = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const { return port_; }
  std::size_t clients() const { return clients_.size(); }
  std::size_t streams() const;

  // Answers requests that have arrived; waits for them up to `seconds`.
  void serve(double seconds);
  // Sends streams what is new for them.
  void feed_streams();
  // Whether clients have taken everything that was to be sent.
  bool drained() const;

 private:
  struct Client;
  enum class Kind { idle, transfer, stream };
  void accept_clients();
  void read_from(Client& client);
  void refuse(Client& client, int status, const char* why);
  void answer(Client& client, std::string_view head);
  void write_to(Client& client);
  void check_times();
  void make_room();

  Descriptor listener_;
  int port_ = 0;
  Handler handler_;
  HttpLimits limits_;
  std::vector<std::unique_ptr<Client>> clients_;
};

}  // namespace lather::watch
