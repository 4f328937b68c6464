// Ranks on the emulated device: whatever their number, the bits are those of one process with as many shards.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <functional>

#include "cuda_emulator/emulator.hpp"
#include "lather/core/error.hpp"
#include "lather/core/gpu_choice.hpp"
#include "lather/optim/catalogue.hpp"
#include "lather/parallel/local_ranks.hpp"
#include "lather/train/session.hpp"
#include "parallel/everything.hpp"
#include "train/small_problem.hpp"

namespace lather {
namespace {

using parallel::Reduction;

// Runs f in this many processes, each with its own emulated device: true if it returned true in all. Those
// abandoned by rank 0 end.
bool on_processes(int ranks, const std::function<bool(parallel::Communicator&)>& f,
                  Reduction reduction = Reduction::host) {
  std::fflush(nullptr);
  const pid_t first = ::fork();
  if (first == 0) {
    auto communicator = parallel::fork_ranks(ranks);
    communicator->set_reduction(reduction);
    emulator::devices = ranks;
    emulator::nccl_captured = 0;
    use_gpu(communicator->rank());
    bool good = false;
    try {
      good = f(*communicator);
      if (communicator->lost_rank() < 0)
        for (const int other : communicator->all_of<int>(good)) good = good && other != 0;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "rank %d: %s\n", communicator->rank(), error.what());
      good = false;
    }
    std::fflush(nullptr);
    communicator.reset();
    ::_exit(good ? 0 : 1);
  }
  int status = 1;
  ::waitpid(first, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

constexpr int kShards = 5;

pde::EngineOptions on_device(parallel::Communicator* ranks) {
  return {.device = Device::cuda, .threads = 1, .shards = kShards, .ranks = ranks};
}

TEST(RanksOnTheDevice, ComputeTheBitsOfOneProcess) {
  constexpr std::size_t kPoints = 37;
  const auto problem = pde::test::two_sets(true);
  const auto expected = pde::test::everything(problem, on_device(nullptr), kPoints);
  for (const auto reduction : {Reduction::host, Reduction::nccl})
    for (const int ranks : {1, 2, 3})
      EXPECT_TRUE(on_processes(
          ranks,
          [&](parallel::Communicator& c) {
            return pde::test::same_bits(pde::test::everything(problem, on_device(&c), kPoints), expected) &&
                   (emulator::nccl_captured > 0) == (reduction == Reduction::nccl);
          },
          reduction))
          << ranks << " ranks, reduction " << static_cast<int>(reduction);
  // The fastest reduction has its own order.
  for (const int ranks : {1, 3})
    EXPECT_TRUE(on_processes(
        ranks,
        [&](parallel::Communicator& c) {
          const auto sums = pde::test::everything(problem, on_device(&c), kPoints);
          bool close = sums.size() == expected.size() && emulator::nccl_captured > 0;
          for (std::size_t i = 0; close && i < sums.size(); ++i)
            close = std::abs(sums[i] - expected[i]) <= 1e-9 * (1 + std::abs(expected[i]));
          return close;
        },
        Reduction::nccl_sum))
        << ranks << " ranks";
  // Shards change the order of sums, not the sums.
  const auto unsharded = pde::test::everything(problem, {.device = Device::cuda, .threads = 1}, kPoints);
  ASSERT_EQ(unsharded.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(unsharded[i], expected[i], 1e-9 * (1 + std::abs(expected[i]))) << i;
}

struct Training {
  std::string optimizer;
  std::int64_t steps;
  std::vector<pde::Override> settings;
};

// Points drawn on the device or adaptively, term weights that change.
std::vector<Training> trainings() {
  const auto sampling = [](const std::string& how) {
    return pde::Override{"training.sampling", "{validation = 12, " + how + "}"};
  };
  return {{"adam", 4, {sampling("method = \"uniform\", every = 2")}},
          {"ss-esoap",
           4,
           {sampling("method = \"adaptive\", every = 3"),
            {"training.weighting", "{method = \"ntk\", every = 2}"}}},
          {"lbfgs", 2, {sampling("every = 0")}},
          {"lm", 2, {sampling("every = 0"), {"optimizer.form", "primal"}}}};
}

void train_small(const Training& t, const std::filesystem::path& out, parallel::Communicator* ranks) {
  train::ConfigRequest request{.problem = "small",
                               .text = testing::kSmallProblem,
                               .optimizer = t.optimizer,
                               .settings = t.settings,
                               .threads = 1,
                               .shards = kShards,
                               .ranks = ranks,
                               .device = Device::cuda,
                               .steps = t.steps};
  for (const auto& [path, value] : {std::pair{"training.record_every", "1"},
                                    {"training.validate_every", "3"},
                                    {"network.width", "6"},
                                    {"training.points", "{interior = 16, initial = 7, walls = 6}"},
                                    {"training.reference", "false"}})
    request.settings.push_back({path, value});
  auto session = train::begin_session(train::resolve(request), out);
  train::run(*session.trainer, *session.folder, {});
}

TEST(RanksOnTheDevice, WriteTheHistoryOfOneProcess) {
  const testing::TemporaryFolder folder;
  for (const auto& t : trainings()) {
    const auto one = folder / (t.optimizer + "-one");
    train_small(t, one, nullptr);
    ASSERT_GT(testing::content(one / "history.csv").size(), 100u);
    for (const auto& [ranks, reduction] :
         {std::pair{3, Reduction::host}, {1, Reduction::nccl}, {2, Reduction::nccl}, {3, Reduction::nccl}}) {
      const auto name = fmt::format("{}-{}-{}", t.optimizer, ranks, static_cast<int>(reduction));
      EXPECT_TRUE(on_processes(
          ranks,
          [&](parallel::Communicator& c) {
            train_small(t, folder / name, &c);
            return true;
          },
          reduction));
      for (const char* file : {"history.csv", "history.jsonl"})
        EXPECT_EQ(testing::content(one / file), testing::content(folder / name / file)) << name;
    }
  }
}

// Steps of Adam on the device, where the last rank leaves after half of them.
TEST(RanksOnTheDevice, GoOnAloneWhenAnotherIsLost) {
  const auto problem = pde::test::two_sets(false);
  constexpr int kSteps = 6;
  const auto train = [&](parallel::Communicator* ranks) {
    pde::PinnObjective objective(problem, on_device(ranks));
    auto x = objective.initialize(3);
    objective.set_points(0, pde::test::random_points(2, 23, 1));
    objective.set_points(1, pde::test::random_points(2, 9, 2));
    const auto& entry = optim::find_optimizer("adam");
    const auto adam = entry.construct_on_device(objective.layout(), entry.defaults);
    const std::vector<double> factors(kSteps / 2, 1.0);
    for (int half = 0; half < 2; ++half) {
      std::int64_t done = 0;
      adam->steps(objective, x, factors, done);
      if (ranks && ranks->rank() == ranks->size() - 1) ::_exit(0);
    }
    return x;
  };
  const auto expected = train(nullptr);
  for (const auto reduction : {Reduction::host, Reduction::nccl, Reduction::nccl_sum})
    EXPECT_TRUE(on_processes(
        3,
        [&](parallel::Communicator& c) {
          const auto x = train(&c);
          bool same = pde::test::same_bits(x, expected);
          if (reduction == Reduction::nccl_sum)
            for (std::size_t i = 0; i < x.size(); ++i) same = std::abs(x[i] - expected[i]) < 1e-9;
          return c.rank() == 0 && c.lost_rank() == 2 && same;
        },
        reduction))
        << static_cast<int>(reduction);
}

TEST(RanksOnTheDevice, UseTheGpuOfTheirNumber) {
  emulator::devices = 3;
  for (const auto& [rank, gpu] : {std::pair{0, 0}, {2, 2}, {4, 1}}) {
    use_gpu(rank);
    const pde::PinnObjective objective(pde::test::two_sets(false), on_device(nullptr));
    EXPECT_EQ(emulator::device_in_use, gpu);
  }
  use_gpu(0);
  emulator::devices = 1;
  emulator::device_in_use = 0;
}

TEST(RanksOnTheDevice, SayWhyNcclCannotBeUsed) {
  const auto refuses = [](const char* message, const std::function<void()>& prepare) {
    EXPECT_TRUE(on_processes(
        2,
        [&](parallel::Communicator& c) {
          prepare();
          try {
            pde::PinnObjective(pde::test::two_sets(false), on_device(&c));
          } catch (const Error& error) {
            return std::string(error.what()).find(message) != std::string::npos;
          }
          return false;
        },
        Reduction::nccl))
        << message;
  };
  refuses("ranks 0 and 1 share one", [] { emulator::devices = 1; });
  refuses("NCCL 2.8.4 is too old", [] { emulator::nccl_version = 2804; });
  refuses("NCCL was not found", [] { emulator::nccl_version = 0; });
}

TEST(RanksOnTheDevice, SayWhatTheyCannotShare) {
  EXPECT_TRUE(on_processes(2, [&](parallel::Communicator& c) {
    try {
      pde::PinnObjective(pde::test::two_sets(false), {.device = Device::cuda, .ranks = &c});
    } catch (const Error& error) {
      return std::string(error.what()).find("without --shards") != std::string::npos;
    }
    return false;
  }));
  pde::PinnObjective objective(pde::test::two_sets(false),
                               {.device = Device::cuda, .threads = 1, .shards = 30});
  objective.set_points(0, pde::test::random_points(2, 23, 1));
  EXPECT_THROW(objective.set_points(1, pde::test::random_points(2, 9, 2)), Error);
}

}  // namespace
}  // namespace lather
