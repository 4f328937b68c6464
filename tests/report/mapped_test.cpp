// Fields of problems with a map: where the map takes the points, and how they are drawn there.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "lather/core/error.hpp"
#include "lather/report/draw/field_plane.hpp"
#include "lather/report/draw/figure.hpp"
#include "small_run.hpp"

namespace lather::report {
namespace {

using Json = nlohmann::json;

constexpr const char* kAnnulus = R"toml(name = "annulus"
coordinates = ["r", "phi"]
fields = ["u"]
periodic = ["phi"]
[domain]
r = [1, 2]
phi = [0, "2*pi"]
[map]
x = "r*cos(phi)"
y = "r*sin(phi)"
[network]
width = 4
depth = 1
[[equation]]
name = "laplace"
residual = "u_xx + u_yy"
[[condition]]
name = "inner"
where = "r = 1"
residual = "u - x"
[reference]
u = "(4/r - r)/3*cos(phi)"
[training.quick]
optimizer = "lm"
steps = 2
points = {interior = 20, inner = 5}
)toml";

// A grid of two coordinates with arrays and physical coordinates as functions of them.
Json fields_of(const std::vector<double>& a, const std::vector<double>& b,
               const std::vector<std::pair<std::string, double (*)(double, double)>>& physical) {
  Json fields{{"step", 1}, {"coordinates", {"a", "b"}}, {"axes", {a, b}}, {"arrays", {{"u", Json::array()}}}};
  for (const double x : a)
    for (const double y : b) {
      fields["arrays"]["u"].push_back(x + y);
      for (const auto& [name, map] : physical) fields["physical"][name].push_back(map(x, y));
    }
  return fields;
}

std::vector<double> evenly(double low, double high, int count) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(low + (high - low) * i / (count - 1));
  return values;
}

TEST(MappedFields, AreWrittenWithTheirPhysicalCoordinatesAndDrawnOverThem) {
  const testing::TemporaryFolder folder;
  testing::write(folder / "annulus.toml", kAnnulus);
  train::ConfigRequest request;
  request.problem = (folder / "annulus.toml").string();
  request.threads = 1;
  const train::Config config = train::resolve(request);
  auto run = train::RunFolder::create(folder / "run", config);
  train::Trainer trainer(config);
  train::run(trainer, run, {});

  const RunData data = read_run_data(folder / "run");
  const Json& fields = data.fields;
  ASSERT_TRUE(fields.contains("physical")) << data.notes[0];
  const auto &r = fields["axes"][0], &phi = fields["axes"][1];
  for (std::size_t i = 0; i < r.size(); i += 7)
    for (std::size_t j = 0; j < phi.size(); j += 5) {
      const double x = r[i].get<double>() * std::cos(phi[j].get<double>()),
                   y = r[i].get<double>() * std::sin(phi[j].get<double>());
      EXPECT_NEAR(fields["physical"]["x"][i * phi.size() + j].get<double>(), x, 1e-4);
      EXPECT_NEAR(fields["physical"]["y"][i * phi.size() + j].get<double>(), y, 1e-4);
    }
  const std::string svg = svg_figure({data});
  EXPECT_NE(svg.find(">u(x, y)<"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);

  testing::edit(folder / "run/fields.json", [](Json& json) { json["physical"]["x"].erase(0); });
  EXPECT_TRUE(read_run_data(folder / "run").fields.is_null());  // damaged: a note instead
}

TEST(FieldPlane, OfAnAnnulusIsRoundAndHasNoSeam) {
  const double pi = std::acos(-1);
  const auto plane = field_plane(fields_of(evenly(1, 2, 5), evenly(0, 2 * pi, 33),
                                           {{"x", [](double r, double phi) { return r * std::cos(phi); }},
                                            {"y", [](double r, double phi) { return r * std::sin(phi); }}}));
  EXPECT_TRUE(plane.proportional);
  EXPECT_EQ(plane.x.name, "x");
  EXPECT_EQ(plane.y.name, "y");
  EXPECT_DOUBLE_EQ(plane.x.low, -2);
  EXPECT_DOUBLE_EQ(plane.x.high, 2);
  ASSERT_EQ(plane.places.size(), 5u * 33);
  for (const auto& p : plane.places) {
    const double radius = std::hypot(4 * p.x - 2, 4 * p.y - 2);
    EXPECT_GE(radius, 1 - 1e-9);
    EXPECT_LE(radius, 2 + 1e-9);
  }
  EXPECT_EQ(plane.outline.size(), 2u);  // the inner and the outer circle
}

TEST(FieldPlane, StretchesAnAxisThatReachesFar) {
  const auto plane = field_plane(
      fields_of(evenly(0, 20, 21), evenly(0, 1, 3), {{"y", [](double z, double) { return std::sinh(z); }}}));
  EXPECT_EQ(plane.x.name, "y");
  EXPECT_EQ(plane.y.name, "b");  // no map affects it
  EXPECT_FALSE(plane.proportional);
  EXPECT_GT(plane.x.linear_within, 0);
  // asinh undoes sinh, far from zero up to a shift: the places are nearly evenly spaced.
  for (std::size_t i = 10; i < 20; ++i)
    EXPECT_NEAR(plane.places[i + 1].x - plane.places[i].x, 0.05, 0.01) << i;
  std::string words;
  for (const auto& [at, text] : ticks(plane.x, 4)) {
    words += text + " ";
    const double value = plane.x.linear_within * std::sinh(at);
    if (value > 0) {
      EXPECT_NEAR(std::log10(value), std::round(std::log10(value)), 1e-9) << text;
    }
  }
  EXPECT_NE(words.find("10⁸"), std::string::npos) << words;
}

TEST(FieldPlane, WithoutAMapOrWhereItDoesNotConcernIsAsTheCoordinatesHaveIt) {
  for (const auto& fields : {fields_of({0, 1}, {0, 1, 2}, {}),
                             fields_of({0, 1}, {0, 1, 2}, {{"s", [](double, double) { return 3.0; }}})}) {
    const auto plane = field_plane(fields);
    EXPECT_TRUE(plane.places.empty());
    EXPECT_EQ(plane.x.name, "a");
    EXPECT_EQ(plane.values_on(fields["arrays"]["u"]), (std::vector<double>{0, 1, 1, 2, 2, 3}));
  }
}

TEST(FieldPlane, LeavesOutWhatHasNoPlace) {
  auto fields = fields_of({0, 1, 2}, {0, 1}, {{"x", [](double a, double) { return 2 * a; }}});
  fields["physical"]["x"][5] = nullptr;  // at infinity
  const auto plane = field_plane(fields);
  const auto values = plane.values_on(fields["arrays"]["u"]);
  EXPECT_TRUE(std::isnan(values[5]));
  EXPECT_DOUBLE_EQ(values[4], 2);
  Svg svg(100, 100, "map");
  svg.contours(
      {0, 0, 100, 100}, plane.columns, values, {0, 3}, [](double) { return std::string("paint"); },
      plane.places);
  const std::string text = std::move(svg).finish();
  EXPECT_NE(text.find("paint"), std::string::npos);
  EXPECT_EQ(text.find("nan"), std::string::npos);
}

}  // namespace
}  // namespace lather::report
