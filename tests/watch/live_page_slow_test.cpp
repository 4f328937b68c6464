// The live page in Chromium, during a run: curves move, fields appear, nothing goes wrong. Skipped if there
// is no Chromium.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "../command/process.hpp"
#include "../report/small_run.hpp"
#include "client.hpp"

namespace lather::watch {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kChromium = "/usr/bin/chromium";

// Chromium driven through its debugging pipe: JSON messages that end with a zero byte, on descriptors 3 and 4.
class Browser {
 public:
  explicit Browser(const fs::path& profile) {
    int to[2], from[2];
    if (::pipe(to) != 0 || ::pipe(from) != 0) throw std::runtime_error("no pipe");
    process_ = ::fork();
    if (process_ == 0) {
      const int in = ::fcntl(to[0], F_DUPFD, 10), out = ::fcntl(from[1], F_DUPFD, 10);
      ::dup2(in, 3);
      ::dup2(out, 4);
      const int nothing = ::open("/dev/null", O_RDWR);
      ::dup2(nothing, 1);
      ::dup2(nothing, 2);
      const std::string where = "--user-data-dir=" + profile.string();
      ::execl(kChromium, kChromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
              "--disable-background-networking", "--remote-debugging-pipe", where.c_str(), "about:blank",
              nullptr);
      ::_exit(127);
    }
    ::close(to[0]);
    ::close(from[1]);
    in_ = from[0];
    out_ = to[1];
    const auto target = call("Target.createTarget", {{"url", "about:blank"}});
    session_ =
        call("Target.attachToTarget", {{"targetId", target["targetId"]}, {"flatten", true}})["sessionId"];
    call("Runtime.enable", Json::object());
    call("Log.enable", Json::object());
    call("Page.enable", Json::object());
  }
  ~Browser() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    ::close(in_);
    ::close(out_);
  }
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;

  Json call(const std::string& method, const Json& parameters) {
    Json message{{"id", ++number_}, {"method", method}, {"params", parameters}};
    if (!session_.empty()) message["sessionId"] = session_;
    const std::string text = message.dump() + '\0';
    if (::write(out_, text.data(), text.size()) < 0) throw std::runtime_error("Chromium is gone");
    for (;;) {
      const Json answer = next();
      if (answer.value("id", 0) == number_) return answer.value("result", answer);
      const std::string kind = answer.value("method", "");
      if (kind == "Runtime.exceptionThrown" || kind == "Runtime.consoleAPICalled" || kind == "Log.entryAdded")
        faults.push_back(answer.dump());
    }
  }
  Json evaluate(const std::string& expression) {
    return call("Runtime.evaluate", {{"expression", expression}, {"returnByValue", true}})["result"]["value"];
  }
  std::vector<std::string> faults;  // whatever appeared on the console

 private:
  Json next() {
    std::size_t end;
    while ((end = buffer_.find('\0')) == std::string::npos) {
      pollfd waiting{in_, POLLIN, 0};
      char bytes[65536];
      if (::poll(&waiting, 1, 60000) <= 0) throw std::runtime_error("Chromium does not answer");
      const ssize_t count = ::read(in_, bytes, sizeof bytes);
      if (count <= 0) throw std::runtime_error("Chromium has ended");
      buffer_.append(bytes, static_cast<std::size_t>(count));
    }
    const Json message = Json::parse(buffer_.substr(0, end));
    buffer_.erase(0, end + 1);
    return message;
  }
  pid_t process_ = -1;
  int in_ = -1, out_ = -1, number_ = 0;
  std::string session_, buffer_;
};

// Rows on the page, and what is drawn from them.
constexpr const char* kLook = R"((() => ({
  rows: Number(document.body.dataset.rows || 0),
  points: Math.max(0, ...[...document.querySelectorAll('#curves path.line')].map(p => Number(p.dataset.points))),
  maps: document.querySelectorAll('canvas[data-drawn]').length,
  state: (document.querySelector('dl.figures dd.state') || {}).textContent,
  left: [...document.querySelectorAll('dl.figures dt')].some(d => d.textContent === 'Left'),
  wide: document.documentElement.scrollWidth
}))())";

TEST(LivePage, FollowsARunWithoutAFault) {
  if (!fs::exists(kChromium)) GTEST_SKIP() << "there is no " << kChromium;
  const testing::TemporaryFolder folder;
  const auto problem = testing::write_small_problem(folder.path());
  testing::Process training(testing::lather_command(
      {"train", problem.string(), "--optimizer", "ss-esoap", "--threads", "1", "--steps", "1000000", "--set",
       "training.record_every=200", "--set", "training.validate_every=400", "--set",
       "training.checkpoint_seconds=1", "--out", (folder / "run").string(), "--watch"}));
  ASSERT_TRUE(testing::wait_until([&] {
    const auto status = testing::lather({"status", folder.path().string(), "--json"});
    return testing::contains(status.out, "\"running\"");
  }));
  const int port = 20000 + ::getpid() % 20000;
  testing::Process server(
      testing::lather_command({"watch", folder.path().string(), "--port", std::to_string(port)}));
  ASSERT_TRUE(testing::wait_until([&] { return testing::Client(port).connected(); }));
  Browser browser(folder / "profile");
  browser.call("Emulation.setDeviceMetricsOverride",
               {{"width", 375}, {"height", 800}, {"deviceScaleFactor", 1}, {"mobile", true}});
  browser.call("Page.navigate", {{"url", "http://127.0.0.1:" + std::to_string(port) + "/"}});
  Json first, later;
  ASSERT_TRUE(testing::wait_until([&] {
    first = browser.evaluate(kLook);
    return first.is_object() && first["points"].get<int>() > 1;
  }));
  EXPECT_TRUE(testing::wait_until([&] {
    later = browser.evaluate(kLook);
    return later["points"].get<int>() > first["points"].get<int>() && later["maps"].get<int>() > 0;
  })) << later;
  EXPECT_EQ(later["state"], "running");
  EXPECT_TRUE(later["left"].get<bool>());
  EXPECT_EQ(later["wide"], 375);  // nothing sticks out on a phone
  training.send(SIGINT);
  EXPECT_EQ(training.wait().status, 130);
  EXPECT_TRUE(testing::wait_until([&] { return browser.evaluate(kLook)["state"] == "interrupted"; }));
  EXPECT_EQ(browser.faults, std::vector<std::string>());
}

}  // namespace
}  // namespace lather::watch
