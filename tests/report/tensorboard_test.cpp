// The event file is read back as TensorBoard reads it: lengths, checksums, fields by number.
#include "lather/report/export/tensorboard.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <vector>

#include "../train/small_problem.hpp"
#include "lather/core/error.hpp"

namespace lather::report {
namespace {

template <class T>
T raw(std::string_view bytes, std::size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

std::uint32_t unmasked(std::uint32_t masked) {
  const std::uint32_t rotated = masked - 0xa282ead8u;
  return (rotated >> 17) | (rotated << 15);
}

struct Field {
  std::uint64_t number = 0;
  std::string_view bytes;
};

std::uint64_t varint(std::string_view& rest) {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(rest.front());
    rest.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 127) << shift;
    if (byte < 128) return value;
  }
}

// Fields of a protocol buffer by number.
std::multimap<int, Field> fields_of(std::string_view message) {
  std::multimap<int, Field> fields;
  while (!message.empty()) {
    const auto key = varint(message);
    Field field;
    std::size_t size = 0;
    if ((key & 7) == 0) field.number = varint(message);
    if ((key & 7) == 1) size = 8;
    if ((key & 7) == 2) size = varint(message);
    if ((key & 7) == 5) size = 4;
    field.bytes = message.substr(0, size);
    message.remove_prefix(size);
    fields.emplace(static_cast<int>(key >> 3), field);
  }
  return fields;
}

struct Scalar {
  std::int64_t step;
  double time;
  std::string tag;
  float value;
};

std::vector<Scalar> scalars_of(std::string_view file) {
  std::vector<Scalar> scalars;
  while (!file.empty()) {
    const auto length = raw<std::uint64_t>(file, 0);
    EXPECT_EQ(unmasked(raw<std::uint32_t>(file, 8)), crc32c(file.substr(0, 8)));
    const auto message = file.substr(12, length);
    EXPECT_EQ(unmasked(raw<std::uint32_t>(file, 12 + length)), crc32c(message));
    file.remove_prefix(length + 16);
    const auto event = fields_of(message);
    const double time = raw<double>(event.find(1)->second.bytes, 0);
    if (event.contains(3)) {
      EXPECT_EQ(event.find(3)->second.bytes, "brain.Event:2");
      EXPECT_TRUE(scalars.empty());
      continue;
    }
    for (const auto& [number, value] : fields_of(event.find(5)->second.bytes)) {
      const auto parts = fields_of(value.bytes);
      scalars.push_back({static_cast<std::int64_t>(event.find(2)->second.number), time,
                         std::string(parts.find(1)->second.bytes),
                         raw<float>(parts.find(2)->second.bytes, 0)});
    }
  }
  return scalars;
}

TEST(Tensorboard, ChecksumOfTheUsualTestString) { EXPECT_EQ(crc32c("123456789"), 0xE3069283u); }

TEST(Tensorboard, HasEveryNumberOfTheHistoryAndTheDiagnostics) {
  const testing::TemporaryFolder folder;
  std::ofstream(folder / "history.jsonl")
      << R"({"step": 10, "loss": 0.5, "loss.heat": 0.25, "gradient_norm": 3})"
      << "\n"
      << R"({"step": 300, "loss": "nan", "residual": 1e-3, "l2.u": 2e-4})"
      << "\n"
      << R"({"step": 310, "lo)";  // cut short
  std::ofstream(folder / "timing.csv") << "step,seconds\n10,1.5\n300,40\n";
  std::ofstream(folder / "diagnostics.jsonl")
      << R"({"step": 300, "blocks": {"layer1.weight": {"tau": 0.75}}})"
      << "\n";
  const auto scalars = scalars_of(tensorboard_events(folder.path()));
  std::map<std::string, std::vector<std::pair<std::int64_t, float>>> by_tag;
  for (const auto& s : scalars) by_tag[s.tag].emplace_back(s.step, s.value);
  EXPECT_EQ(by_tag["loss/heat"], (std::vector<std::pair<std::int64_t, float>>{{10, 0.25F}}));
  EXPECT_EQ(by_tag["training/gradient_norm"][0].second, 3);
  EXPECT_EQ(by_tag["residual/all"][0], (std::pair<std::int64_t, float>{300, 1e-3F}));
  EXPECT_EQ(by_tag["l2/u"][0].second, 2e-4F);
  EXPECT_EQ(by_tag["optimizer/tau/layer1.weight"][0], (std::pair<std::int64_t, float>{300, 0.75F}));
  ASSERT_EQ(by_tag["loss/total"].size(), 2U);
  EXPECT_TRUE(std::isnan(by_tag["loss/total"][1].second));
  EXPECT_EQ(by_tag.size(), 6U);
  EXPECT_DOUBLE_EQ(scalars.back().time - scalars.front().time, 38.5);
}

TEST(Tensorboard, NamesAFolderWithoutHistory) {
  const testing::TemporaryFolder folder;
  EXPECT_THROW(tensorboard_events(folder.path()), Error);
}

}  // namespace
}  // namespace lather::report
