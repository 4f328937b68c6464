// Runs as `lather watch` and `lather status` see them: files written by hand or by a real training run, read
// while they grow.
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <fcntl.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "../report/small_run.hpp"
#include "client.hpp"
#include "lather/watch/watch_service.hpp"

namespace lather::watch {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::Client;
using testing::fetched;
using testing::has;
using testing::InBackground;
using testing::TemporaryFolder;

void add_line(const fs::path& file, const std::string& line) {
  std::ofstream(file, std::ios::app) << line << "\n";
}

// The beginning of a run, by hand.
void write_begun_run(const fs::path& folder, int steps) {
  fs::create_directories(folder);
  std::ofstream(folder / "config.json") << Json{{"problem", {{"name", "heat"}}},
                                                {"optimizer", {{"name", "adam"}}},
                                                {"seed", 3},
                                                {"stop", {{"steps", 1000}}}};
  add_line(folder / "timing.csv", "step,seconds");
  for (int step = 10; step <= steps; step += 10) {
    Json row{{"step", step}, {"stage", 1}, {"loss", 1.0 / step}};
    if (step % 20 == 0) row["residual"] = 2.0 / step, row["l2.u"] = 3.0 / step;
    add_line(folder / "history.jsonl", row.dump());
    add_line(folder / "timing.csv", std::to_string(step) + "," + std::to_string(step * 0.5));
  }
}

// As a training run holds it.
class Locked {
 public:
  explicit Locked(const fs::path& folder)
      : descriptor_(::open((folder / "lock").c_str(), O_RDWR | O_CREAT, 0666)) {
    ::flock(descriptor_, LOCK_EX);
  }
  ~Locked() { ::close(descriptor_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  int descriptor_;
};

TEST(Status, OfARunningRunHasItsPaceAndTheTimeLeft) {
  const TemporaryFolder folder;
  write_begun_run(folder / "run", 110);
  add_line(folder / "run/history.jsonl", "{\"step\": 120, \"loss\": ");  // being written
  EXPECT_EQ(read_status(folder / "run", HeldLocks()).state, RunState::stopped);
  EXPECT_NE(read_status(folder / "run", HeldLocks()).message.find("killed"), std::string::npos);
  const Locked lock(folder / "run");
  const RunStatus s = read_status(folder / "run", HeldLocks());
  EXPECT_EQ(s.state, RunState::running);
  EXPECT_EQ(s.problem + " " + s.optimizer + " " + s.name, "heat adam run");
  EXPECT_EQ(s.seed, 3);
  EXPECT_EQ(s.step, 110);
  EXPECT_EQ(s.steps, 1000);
  EXPECT_DOUBLE_EQ(s.loss, 1.0 / 110);
  EXPECT_DOUBLE_EQ(s.residual, 2.0 / 100);  // of the last validation
  EXPECT_DOUBLE_EQ(s.l2, 3.0 / 100);
  EXPECT_NEAR(s.steps_per_second, 2, 1e-9);
  EXPECT_NEAR(s.seconds_left, (1000 - 110) / 2.0, 1e-6);
}

TEST(Status, OfAnEndedRunIsThatOfItsBestStepAndNothingIsUnknownForLackOfFiles) {
  const TemporaryFolder folder;
  testing::train_small_run(folder / "run", "adam", 0);
  const RunStatus s = read_status(folder / "run", HeldLocks());
  const Json summary = Json::parse(testing::content(folder / "run/summary.json"));
  EXPECT_EQ(s.state, RunState::ended);
  EXPECT_EQ(s.step, testing::kSmallRunSteps);
  EXPECT_EQ(s.residual, summary["best"]["residual"].get<double>());
  EXPECT_EQ(s.message, summary["message"]);
  testing::edit(folder / "run/summary.json", [](Json& json) {
    json["reason"] = "interrupted";
    json["step"] = testing::kSmallRunSteps + 2;  // between two recorded steps
  });
  EXPECT_EQ(read_status(folder / "run", HeldLocks()).state, RunState::interrupted);
  EXPECT_EQ(read_status(folder / "run", HeldLocks()).step, testing::kSmallRunSteps + 2);
  fs::create_directory(folder / "empty");
  const RunStatus nothing = read_status(folder / "empty", HeldLocks());
  EXPECT_TRUE(std::isnan(nothing.loss) && nothing.step == 0 && nothing.state == RunState::stopped);
  for (const char* damaged :
       {"[]", "{", "{\"problem\": 3, \"optimizer\": [], \"stop\": 1, \"seed\": \"x\"}", ""}) {
    std::ofstream(folder / "empty/config.json") << damaged;
    EXPECT_EQ(read_status(folder / "empty", HeldLocks()).problem, "");
  }
}

TEST(Board, FindsRunsBelowButNotOutsideAndNoticesChanges) {
  const TemporaryFolder folder;
  write_begun_run(folder / "runs/a", 20);
  write_begun_run(folder / "runs/compare-1/b", 20);
  write_begun_run(folder / "outside/c", 20);
  fs::create_directory_symlink(folder / "outside", folder / "runs/link");
  const Locked lock(folder / "runs/a");  // active runs keep their place
  RunBoard board({folder / "runs"});
  board.update();
  std::set<std::string> names;
  for (const auto& entry : board.entries()) names.insert(entry.status.name);
  EXPECT_EQ(names, (std::set<std::string>{"a", "compare-1/b"}));
  const auto version = board.version(), members = board.members_version();
  board.update();
  EXPECT_EQ(board.version(), version);
  add_line(folder / "runs/a/history.jsonl", R"({"step": 30, "loss": 0.5})");
  board.update();
  EXPECT_GT(board.version(), version);
  EXPECT_EQ(board.members_version(), members);
  write_begun_run(folder / "runs/new", 10);
  board.update();
  EXPECT_GT(board.members_version(), members);
}

// The rows a viewer has after all events so far.
struct Viewer {
  RunFeed::Cursor cursor;
  std::vector<Json> rows;
  int resets = 0;
  void take(const RunFeed& feed) {
    for (std::string text; !(text = feed.next(cursor)).empty();) {
      std::istringstream lines(text);
      std::string name;
      for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("event: ")) name = line.substr(7);
        if (!line.starts_with("data: ")) continue;
        const Json content = Json::parse(line.substr(6));
        if (name == "reset") rows.clear(), ++resets;
        if (name == "history")
          for (const auto& row : content) rows.push_back(row);
      }
    }
  }
};

TEST(Feed, SendsEveryRowOnceAndStartsOverWhenTheRunGoesBack) {
  const TemporaryFolder folder;
  LiveFields live;
  RunFeed feed(folder / "run");
  feed.update(true, live);
  write_begun_run(folder / "run", 100);
  Viewer early, late;
  feed.update(true, live);
  early.take(feed);
  ASSERT_EQ(early.rows.size(), 10U);
  EXPECT_EQ(early.rows[9]["seconds"], 50.0);
  std::ofstream(folder / "run/history.jsonl", std::ios::app) << R"({"step": 110, "lo)";  // half a line
  feed.update(true, live);
  early.take(feed);
  EXPECT_EQ(early.rows.size(), 10U);
  std::ofstream(folder / "run/history.jsonl", std::ios::app) << "ss\": \"nan\"}\n";
  feed.update(true, live);
  early.take(feed);
  late.take(feed);
  ASSERT_EQ(early.rows.size(), 11U);
  EXPECT_EQ(early.rows, late.rows);
  EXPECT_TRUE(early.rows[10]["loss"].is_null());
  const int resets = early.resets;
  // Killed and resumed: the logs are cut back to the checkpoint, then grow again.
  const std::string all = testing::content(folder / "run/history.jsonl");
  fs::resize_file(folder / "run/history.jsonl", all.find("\"step\":50"));
  fs::resize_file(folder / "run/history.jsonl", all.rfind('\n', all.find("\"step\":50")) + 1);
  feed.update(true, live);
  early.take(feed);
  EXPECT_GT(early.resets, resets);
  ASSERT_EQ(early.rows.size(), 4U);
  EXPECT_EQ(early.rows.back()["step"], 40);
}

TEST(Feed, ThinsOutALongHistoryAndKeepsValidations) {
  const TemporaryFolder folder;
  LiveFields live;
  fs::create_directories(folder / "run");
  std::string text;
  for (int step = 1; step <= 40000; ++step)
    text += step % 100 == 0 ? Json{{"step", step}, {"loss", 1}, {"residual", 1}}.dump() + "\n"
                            : Json{{"step", step}, {"loss", 1}}.dump() + "\n";
  std::ofstream(folder / "run/history.jsonl") << text;
  RunFeed feed(folder / "run");
  feed.update(true, live);
  Viewer viewer;
  viewer.take(feed);
  EXPECT_LE(viewer.rows.size(), 2 * RunFeed::kMostRows);
  EXPECT_GE(viewer.rows.size(), RunFeed::kMostRows / 2);
  int validated = 0;
  for (const auto& row : viewer.rows) validated += row.contains("residual");
  EXPECT_EQ(validated, 400);
  EXPECT_EQ(viewer.rows.back()["step"], 40000);
}

TEST(LiveFieldsOfACheckpoint, AreThoseOfTheRun) {
  const TemporaryFolder folder;
  testing::train_small_run(folder / "run", "ss-esoap", 0);
  LiveFields live;
  const std::string mark = newest_checkpoint(folder / "run");
  ASSERT_FALSE(mark.empty());
  LiveFields::Result found;
  for (int i = 0; i < 2000 && found.mark != mark; ++i) {
    found = live.fields_of(folder / "run", mark);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(found.text, testing::content(folder / "run/fields.json"));
}

class Watch : public ::testing::Test {
 protected:
  Watch() {
    write_begun_run(folder_ / "runs/a", 100);
    service_ = std::make_unique<WatchService>(std::vector<fs::path>{folder_ / "runs"}, 0);
    thread_ = std::make_unique<InBackground>([this] { service_->serve(0.02); });
  }
  ~Watch() override { thread_.reset(); }
  int port() const { return service_->port(); }
  std::string id() const { return read_status(folder_ / "runs/a", HeldLocks()).id; }

  TemporaryFolder folder_;
  std::unique_ptr<WatchService> service_;
  std::unique_ptr<InBackground> thread_;
};

TEST_F(Watch, ServesThePageTheListAndFilesAndNothingElse) {
  const std::string page = fetched(port(), "/");
  EXPECT_TRUE(has(page, "<!doctype html>") && has(page, "EventSource") &&
              has(page, "Content-Security-Policy"));
  EXPECT_TRUE(has(fetched(port(), "/runs"), "\"name\":\"a\""));
  const std::string file = "/run/" + id() + "/";
  EXPECT_TRUE(has(fetched(port(), file + "timing.csv"), "step,seconds\n10,"));
  EXPECT_TRUE(has(fetched(port(), file + "timing.csv", "Range: bytes=0-3\r\n"), "206 Partial Content"));
  EXPECT_TRUE(has(fetched(port(), file + "timing.csv", "Range: bytes=99999999999999999999-\r\n"), "416 "));
  std::ofstream(folder_ / "secret.txt") << "secret words";
  std::ofstream(folder_ / "runs/a/other.txt") << "secret words";
  fs::create_symlink(folder_ / "secret.txt", folder_ / "runs/a/environment.json");
  const std::vector<std::string> targets = {file + "../../secret.txt",
                                            file + "..%2f..%2fsecret.txt",
                                            file + "other.txt",
                                            file + "environment.json",
                                            file + "lock",
                                            file,
                                            "/run/../secret.txt",
                                            "/../secret.txt",
                                            "/run/0000000000000000/config.json",
                                            "/" + (folder_ / "secret.txt").string(),
                                            "/events?run=nothing"};
  for (const auto& target : targets) {
    const std::string answer = fetched(port(), target);
    EXPECT_TRUE(has(answer, "404 ") || has(answer, "400 ")) << target << "\n" << answer;
    EXPECT_FALSE(has(answer, "secret words")) << target;
  }
}

// What a stranger may have put into a run folder.
TEST_F(Watch, ReadsNoLinksAndWaitsForNoFifos) {
  std::ofstream(folder_ / "secret.json") << R"({"message": "secret words", "reason": "steps"})";
  for (const char* name : {"summary.json", "environment.json", "fields.json", "history.jsonl"}) {
    const fs::path file = folder_ / "runs/a" / name;
    fs::remove(file);
    if (std::string_view(name) == "summary.json")
      fs::create_symlink(folder_ / "secret.json", file);
    else
      ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  }
  Client viewer(port());
  viewer.get("/events?run=" + id());
  const std::string seen = viewer.read_until("event: details");
  EXPECT_TRUE(has(seen, "event: details")) << seen;
  EXPECT_FALSE(has(seen, "secret words")) << seen;
  const std::string list = fetched(port(), "/runs");
  EXPECT_TRUE(has(list, "summary.json' is a link") || has(list, "is a FIFO")) << list;
  EXPECT_FALSE(has(list, "secret words")) << list;
}

TEST_F(Watch, TellsTwoHundredViewersOfNewRows) {
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 200; ++i) {
    clients.push_back(std::make_unique<Client>(port()));
    ASSERT_TRUE(clients.back()->connected());
    clients.back()->get("/events?run=" + id());
  }
  for (auto& client : clients) ASSERT_TRUE(has(client->read_until("\"step\":100"), "event: history"));
  add_line(folder_ / "runs/a/history.jsonl", R"({"step": 110, "loss": 0.25})");
  for (auto& client : clients) EXPECT_TRUE(has(client->read_until("\"step\":110"), "\"loss\":0.25"));
}

}  // namespace
}  // namespace lather::watch
