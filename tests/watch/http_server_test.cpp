// The server alone, with real sockets: requests out of order, slow clients, silent ones, and many.
#include "lather/watch/http_server.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <vector>

#include "../train/small_problem.hpp"
#include "client.hpp"
#include "lather/core/error.hpp"

namespace lather::watch {
namespace {

using testing::answer_to;
using testing::Client;
using testing::fetched;
using testing::has;
using testing::InBackground;

// Counts, as fast as it is asked.
class Counter : public EventStream {
 public:
  explicit Counter(std::atomic<int>& asked) : asked_(asked) {}
  std::string next() override {
    ++asked_;
    return "data: " + std::string(50000, 'x') + "\n\n";
  }

 private:
  std::atomic<int>& asked_;
};

class Server : public ::testing::Test {
 protected:
  HttpResponse respond(const HttpRequest& request) {
    HttpResponse response;
    if (request.path == std::vector<std::string>{"stream"}) {
      response.type = "text/event-stream";
      response.body = ": begin\n\n";
      response.stream = std::make_unique<Counter>(asked_);
    } else if (request.path == std::vector<std::string>{"fault"}) {
      throw Error("something is wrong");
    } else {
      for (const auto& segment : request.path) response.body += "[" + segment + "]";
      response.body += request.run.empty() ? "" : "run=" + request.run;
    }
    return response;
  }
  HttpServer make(HttpLimits limits = {}) {
    return HttpServer(
        0, [this](const HttpRequest& request) { return respond(request); }, limits);
  }
  std::atomic<int> asked_ = 0;
};

TEST_F(Server, AnswersAndSaysWhatItDoesNotDo) {
  HttpServer server = make();
  const int port = server.port();
  const InBackground thread([&] { server.serve(0.02); });
  EXPECT_TRUE(has(fetched(port, "/a/b%20c?run=x1&other=2"), "HTTP/1.1 200 OK"));
  EXPECT_TRUE(has(fetched(port, "/a/b%20c?run=x1&other=2"), "[a][b c]run=x1"));
  EXPECT_TRUE(has(answer_to(port, "POST / HTTP/1.1\r\nHost: localhost\r\n\r\n"), "405 "));
  EXPECT_TRUE(has(answer_to(port, "DELETE /a HTTP/1.1\r\nHost: localhost\r\n\r\n"), "Allow: GET, HEAD"));
  EXPECT_TRUE(has(answer_to(port, "nonsense\r\n\r\n"), "400 "));
  EXPECT_TRUE(has(answer_to(port, "GET no-slash HTTP/1.1\r\nHost: localhost\r\n\r\n"), "400 "));
  EXPECT_TRUE(has(fetched(port, "/a%2fb"), "400 "));  // a hidden slash
  EXPECT_TRUE(has(fetched(port, "/a%00b"), "400 "));
  EXPECT_TRUE(has(fetched(port, "/a%zz"), "400 "));
  EXPECT_TRUE(has(fetched(port, "/fault"), "500 "));
  // A page elsewhere whose host name now resolves to this machine.
  EXPECT_TRUE(has(answer_to(port, "GET / HTTP/1.1\r\nHost: evil.example:80\r\n\r\n"), "403 "));
  EXPECT_TRUE(has(answer_to(port, "GET / HTTP/1.1\r\n\r\n"), "403 "));
  EXPECT_TRUE(has(answer_to(port, "GET / HTTP/1.1\r\nHost: 127.0.0.1:9\r\n\r\n"), "200 "));
  const std::string head = answer_to(port, "HEAD /a HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_TRUE(has(head, "Content-Length: 3") && head.ends_with("\r\n\r\n")) << head;
  EXPECT_TRUE(has(answer_to(port, "GET /" + std::string(40000, 'a')), "431 "));
}

TEST_F(Server, NamesATakenPort) {
  HttpServer server = make();
  try {
    HttpServer other(server.port(), [](const HttpRequest&) { return HttpResponse(); });
    FAIL() << "the port was taken";
  } catch (const Error& error) {
    EXPECT_TRUE(has(error.what(), std::to_string(server.port())) && has(error.what(), "--port"))
        << error.what();
  }
}

TEST_F(Server, SendsPartsOfFilesWhateverTheRange) {
  const testing::TemporaryFolder folder;
  std::string content;
  for (int i = 0; i < 300000; ++i) content += static_cast<char>('a' + i % 26);
  std::ofstream(folder / "file") << content;
  HttpServer server(0, [&](const HttpRequest& request) {
    HttpResponse response;
    response.file = Descriptor(::open((folder / "file").c_str(), O_RDONLY | O_CLOEXEC));
    response.range = parse_range(request.range, content.size());
    return response;
  });
  const InBackground thread([&] { server.serve(0.02); });
  const auto body = [&](const std::string& range) {
    const auto answer = fetched(server.port(), "/", range.empty() ? "" : "Range: " + range + "\r\n");
    return answer.substr(answer.find("\r\n\r\n") + 4);
  };
  EXPECT_EQ(body(""), content);
  EXPECT_EQ(body("bytes=2-4"), "cde");
  EXPECT_EQ(body("bytes=299990-99999999999999999999999999999999"), content.substr(299990));
  EXPECT_EQ(body("bytes=-5"), content.substr(content.size() - 5));
  EXPECT_EQ(body("bytes=-99999999999999999999999999"), content);
  EXPECT_EQ(body("bytes=0-1,5-6"), content);  // the standard allows sending the whole
  EXPECT_EQ(body("bytes=4-2"), content);
  EXPECT_FALSE(parse_range("bytes=300000-", content.size()).satisfiable);
  EXPECT_FALSE(parse_range("bytes=99999999999999999999999999-", content.size()).satisfiable);
  EXPECT_FALSE(parse_range("bytes=0-", 0).satisfiable);
}

TEST_F(Server, ServesOthersWhileClientsAreSilentOrSlow) {
  HttpLimits limits;
  limits.head_seconds = 0.3;
  HttpServer server = make(limits);
  const int port = server.port();
  const InBackground thread([&] {
    server.serve(0.02);
    server.feed_streams();
  });
  Client silent(port), halfway(port);
  halfway.send("GET / HTTP/1.1\r\nHost: local");
  Client slow(port, 4096);
  slow.get("/stream");
  EXPECT_TRUE(has(fetched(port, "/a"), "[a]"));
  EXPECT_TRUE(has(silent.read(), "408 "));
  EXPECT_TRUE(has(halfway.read(), "408 "));
  // A client that takes nothing is not given more: what is queued for it is bounded.
  int before = -1;
  for (int same = 0, tries = 0; same < 5 && tries < 500; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    same = asked_ == before ? same + 1 : 0;
    before = asked_;
  }
  EXPECT_LT(before, 1000);  // of 50 kB: the system's buffers
  EXPECT_TRUE(has(fetched(port, "/b"), "[b]"));
  slow.read([](const std::string& all) { return all.size() > 8000000; });
  EXPECT_GT(asked_, before);  // and continues when it reads again
}

TEST_F(Server, AClientThatTakesNothingIsGivenUp) {
  HttpLimits limits;
  limits.stalled_seconds = 0.2;
  HttpServer server = make(limits);
  Client slow(server.port(), 4096);
  slow.get("/stream");
  for (int i = 0; i < 100 && server.streams() == 0; ++i) server.serve(0.02);
  ASSERT_EQ(server.streams(), 1U);
  for (int i = 0; i < 500 && server.clients() > 0; ++i) {
    server.feed_streams();
    server.serve(0.01);
  }
  EXPECT_EQ(server.clients(), 0U);
}

TEST_F(Server, TwoHundredStreamsAtOnceAndForOneMoreTheOldestGoes) {
  HttpLimits limits;
  limits.streams = 200;
  HttpServer server = make(limits);
  const int port = server.port();
  const InBackground thread([&] {
    server.serve(0.02);
    server.feed_streams();
  });
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 200; ++i) {
    clients.push_back(std::make_unique<Client>(port, 4096));
    ASSERT_TRUE(clients.back()->connected());
    clients.back()->get("/stream");
  }
  for (auto& client : clients) EXPECT_TRUE(has(client->read_until("data: x"), "data: x"));
  EXPECT_TRUE(has(fetched(port, "/a"), "[a]"));
  Client newest(port, 4096);
  newest.get("/stream");
  EXPECT_TRUE(has(newest.read_until("data: x"), "data: x"));
  EXPECT_LT(clients[0]->read().size(), 100000000U);  // it ends
  EXPECT_TRUE(has(clients[1]->read_until("data: x"), "data: x"));
}

TEST_F(Server, HundredsOfHalfOpenConnectionsLockNobodyOut) {
  HttpServer server = make();
  const int port = server.port();
  std::atomic<std::size_t> most = 0;
  const InBackground thread([&] {
    server.serve(0.02);
    server.feed_streams();
    most = std::max<std::size_t>(most, server.clients());
  });
  Client stream(port, 4096);
  stream.get("/stream");
  EXPECT_TRUE(has(stream.read_until("data: x"), "data: x"));
  std::vector<std::unique_ptr<Client>> silent;
  for (int i = 0; i < 600; ++i) {
    silent.push_back(std::make_unique<Client>(port));
    ASSERT_TRUE(silent.back()->connected()) << i;
    if (i % 2 == 1) silent.back()->send("GET / HTTP/1.1\r\nHost: local");
    if (i % 100 == 0) {
      EXPECT_TRUE(has(fetched(port, "/a"), "[a]")) << i;
    }
  }
  EXPECT_TRUE(has(stream.read_until("data: x"), "data: x"));  // was there first and is not idle
  EXPECT_LE(most, HttpLimits().idle + 2);
}

TEST_F(Server, AConnectionEndsSoonAfterItsAnswer) {
  HttpLimits limits;
  limits.head_seconds = limits.farewell_seconds = 0.1;
  HttpServer server = make(limits);
  Client silent(server.port()), answered(server.port()), chatty(server.port());
  answered.get("/a");
  chatty.get("/a", std::string(10, ' '));
  for (int i = 0; i < 20; ++i) chatty.send(std::string(4096, 'x'));  // nobody asked for it
  for (int i = 0; i < 20; ++i) server.serve(0.02);
  for (int i = 0; i < 500 && server.clients() > 0; ++i) server.serve(0.01);
  EXPECT_EQ(server.clients(), 0U);
  EXPECT_TRUE(has(silent.read(), "408 "));
  EXPECT_TRUE(has(answered.read(), "[a]"));
}

}  // namespace
}  // namespace lather::watch
