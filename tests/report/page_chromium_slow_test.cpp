// The page in a browser: Chromium without a window, driven by a script added to the page. Skipped if there is
// no Chromium.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "../command/process.hpp"
#include "lather/report/find_runs.hpp"
#include "lather/report/html_report.hpp"
#include "small_run.hpp"

namespace lather::report {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::TemporaryFolder;

constexpr const char* kChromium = "/usr/bin/chromium";

// Before everything else on the page.
constexpr const char* kListener = R"(<script>
window.faults = [];
addEventListener('error', event => faults.push(String(event.message)));
addEventListener('unhandledrejection', event => faults.push(String(event.reason)));
for (const kind of ['error', 'warn']) console[kind] = (...words) => faults.push(kind + ': ' + words.join(' '));
</script>)";

// Uses the page as a person would and records the outcome.
constexpr const char* kDriver = R"(<script>
addEventListener('load', () => setTimeout(() => {
  const all = (what, from = document) => [...from.querySelectorAll(what)], r = {};
  try {
    r.ready = document.body.dataset.ready;
    r.charts = all('figure.chart').length;
    r.drawn = all('figure.chart').filter(f => all('path.line', f).some(p => Number(p.dataset.points) > 1)).length;
    r.maps = all('canvas').map(c => {
      const box = c.getContext('2d').getImageData(0, 0, c.width, c.height).data, colours = new Set();
      for (let i = 0; i < box.length; i += 4) colours.add(box[i] + 256 * box[i + 1] + 65536 * box[i + 2]);
      return {name: c.dataset.map, drawn: c.dataset.drawn, colours: colours.size};
    });
    const chart = all('figure.chart')[0], lines = () => all('path.line', chart).map(p => p.dataset.series);
    const plot = chart.querySelector('.plot'), box = plot.getBoundingClientRect();
    const mouse = (kind, x, y, more = {}) => plot.dispatchEvent(new PointerEvent(kind,
      {bubbles: true, pointerId: 1, button: 0, clientX: box.left + x * box.width, clientY: box.top + y * box.height, ...more}));
    r.series = lines();
    all('.legend button', chart)[1].click();
    r.seriesAfterToggle = lines();
    r.pressed = all('.legend button', chart)[1].getAttribute('aria-pressed');
    all('.legend button', chart)[1].click();
    r.seriesAfterBoth = lines();
    mouse('pointermove', 0.5, 0.5);
    r.tip = document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent;
    const path = () => chart.querySelector('path.line').getAttribute('d'), whole = path();
    plot.dispatchEvent(new WheelEvent('wheel', {deltaY: -60, ctrlKey: true, cancelable: true, clientX: box.left + 200, clientY: box.top + 80}));
    r.wheelZooms = path() !== whole;
    plot.dispatchEvent(new MouseEvent('dblclick'));
    r.doubleClickGoesBack = path() === whole;
    mouse('pointerdown', 0.4, 0.2); mouse('pointermove', 0.6, 0.6); mouse('pointerup', 0.6, 0.6);
    r.dragZooms = path() !== whole;
    plot.dispatchEvent(new MouseEvent('dblclick'));
    const seeds = document.querySelector('[aria-label=seeds] [data-value=bands]');
    if (seeds) {
      seeds.click();
      r.bands = all('path.band', chart).map(p => p.dataset.series);
      r.means = lines();
      document.querySelector('[aria-label=seeds] [data-value=lines]').click();
    }
    const axis = () => all('text', plot).map(t => t.textContent).filter(t => t === 'steps' || t === 'seconds').join();
    r.axis = axis();
    document.querySelector('#axis-switch [data-value=seconds]').click();
    r.axisAfter = axis();
    // Files: what would be saved is caught.
    const saved = {}, Before = Blob;
    window.Blob = function(parts, about) { saved[about.type] = parts[0]; return new Before(parts, about); };
    all('[data-save=SVG]', chart)[0].click();
    all('[data-save=CSV]', chart)[0].click();
    all('[data-save=PNG]', chart)[0].click();
    const map = document.querySelector('figure.map');
    if (map) all('[data-save=CSV]', map)[0].click();
    const slider = document.querySelector('.profiles input'), profile = document.querySelector('.profiles path.line');
    if (slider) {
      const before = profile.getAttribute('d');
      slider.value = 0;
      slider.dispatchEvent(new Event('input'));
      r.profileMoves = document.querySelector('.profiles path.line').getAttribute('d') !== before;
    }
    const plane = document.querySelector('select[aria-label=plane]');
    if (plane) {
      plane.value = '1';
      plane.dispatchEvent(new Event('change'));
      r.otherPlane = document.querySelector('canvas').dataset.drawn;
      r.players = all('button.play').length;
    }
    const space = document.querySelector('[aria-label=space]');
    if (space) {  // a map: over physical coordinates, and back
      const drawn = () => all('#fields canvas').map(c => c.dataset.drawn);
      const field = document.querySelector('#fields figure.map .plot');
      if (field) {
        const hover = (u, v) => {
          const at = field.getBoundingClientRect(), c = field.querySelector('canvas');
          const width = (at.width - 126), side = Math.min(width, 360);
          field.dispatchEvent(new PointerEvent('pointermove', {clientX: at.left + 54 + u * side, clientY: at.top + 6 + (1 - v) * side}));
          return document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent;
        };
        r.overHole = hover(0.5, 0.5);
        r.overRing = hover(0.875, 0.5);
      }
      r.spaces = all('button', space).map(b => b.textContent);
      r.mapped = drawn();
      space.querySelector('[data-value=coordinates]').click();
      r.unmapped = drawn();
      space.querySelector('[data-value=physical]').click();
      const far = document.querySelector('[aria-label="far places"]');
      r.far = far.style.display !== 'none';
      r.farTicks = all('#fields svg text').map(t => t.textContent);
    }
    r.dots = all('#fields svg circle.data, #fields svg line.data').length;
    r.levels = all('line.level').length;
    r.wide = document.documentElement.scrollWidth <= innerWidth;
    all('.switch [data-value=linear]', chart)[0].click();
    r.linear = all('path.line', chart).length;
    r.foreign = all('img, iframe, link[rel=stylesheet], script[src]').length;
    r.tables = all('[data-table]').map(t => t.dataset.table);
    r.heading = document.querySelector('h1').textContent;
    const choice = document.getElementById('choose-run');
    if (choice) { choice.value = '1'; choice.dispatchEvent(new Event('change')); }
    const more = document.querySelector('#optimizer details, #run-optimizer details');
    if (more) more.open = true;
    const finish = tries => {  // the picture is made in the background
      if (!saved['image/png'] && tries > 0) return setTimeout(() => finish(tries - 1), 100);
      r.saved = {};
      for (const [kind, content] of Object.entries(saved)) r.saved[kind] = typeof content === 'string' ? content : content.size;
      r.chartsAtTheEnd = all('figure.chart').length;
      r.undrawn = all('figure.chart').filter(f => !f.querySelector('svg')).length;
      r.faults = faults;
      document.body.append(Object.assign(document.createElement('pre'), {id: 'result', textContent: JSON.stringify(r)}));
    };
    setTimeout(() => finish(40), 500);
  } catch (error) {
    document.body.append(Object.assign(document.createElement('pre'), {id: 'result', textContent: JSON.stringify({faults: [String(error), ...faults]})}));
  }
}, 500));
</script>)";

std::string without_entities(std::string text) {
  for (const auto& [entity, character] : {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&amp;", "&"}})
    for (auto at = text.find(entity); at != text.npos; at = text.find(entity, at + 1))
      text.replace(at, std::string(entity).size(), character);
  return text;
}

Json opened(std::string html, const fs::path& folder) {
  html.insert(html.find("<head>") + 6, kListener);
  html.insert(html.rfind("</body>"), kDriver);
  testing::write(folder / "page.html", html);
  const auto chromium =
      testing::Process(
          {"timeout", "120", kChromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
           "--no-first-run", "--disable-background-networking", "--disable-component-update",
           "--disable-sync", "--user-data-dir=" + (folder / "profile").string(), "--window-size=1400,900",
           "--virtual-time-budget=8000", "--dump-dom", "file://" + (folder / "page.html").string()})
          .wait();
  const std::string begin = "<pre id=\"result\">";
  const auto from = chromium.out.find(begin);
  if (from == std::string::npos) {
    ADD_FAILURE() << "the page did not get to its end; Chromium's status " << chromium.status << "\n"
                  << chromium.err;
    return Json::object();
  }
  return Json::parse(without_entities(
      chromium.out.substr(from + begin.size(), chromium.out.find("</pre>", from) - from - begin.size())));
}

class Page : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(kChromium)) GTEST_SKIP() << "there is no " << kChromium;
  }
  Json open(const std::vector<fs::path>& paths) {
    return opened(make_report(find_runs(paths).folders).html, folder_.path());
  }
  TemporaryFolder folder_;
};

TEST_F(Page, OfARunDrawsEverythingAndAnswersThePointer) {
  testing::train_small_run(folder_ / "run", "ss-esoap", 0);
  const Json r = open({folder_ / "run"});
  ASSERT_EQ(r["faults"], Json::array()) << r.dump(1);
  EXPECT_EQ(r["ready"], "yes");
  EXPECT_EQ(r["charts"], 9);  // loss, residual, error, gradient; u in time; tau, rho, basis updates, gamma
  EXPECT_EQ(r["drawn"], r["charts"]);
  ASSERT_EQ(r["maps"].size(), 4u);
  for (const auto& map : r["maps"]) {
    EXPECT_TRUE(map["drawn"].is_string()) << map;
    EXPECT_GT(map["colours"].get<int>(), 100) << map;
  }
  EXPECT_EQ(r["series"], Json({"loss", "loss.heat", "loss.initial", "loss.walls"}));
  EXPECT_EQ(r["seriesAfterToggle"], Json({"loss", "loss.initial", "loss.walls"}));
  EXPECT_EQ(r["pressed"], "false");
  EXPECT_EQ(r["seriesAfterBoth"], r["series"]);
  EXPECT_TRUE(testing::contains(r["tip"], "step 1") && testing::contains(r["tip"], "initial")) << r["tip"];
  EXPECT_TRUE(r["wheelZooms"].get<bool>());
  EXPECT_TRUE(r["dragZooms"].get<bool>());
  EXPECT_TRUE(r["doubleClickGoesBack"].get<bool>());
  EXPECT_EQ(r["axis"], "steps");
  EXPECT_EQ(r["axisAfter"], "seconds");
  EXPECT_EQ(r["linear"], 4);
  EXPECT_EQ(r["foreign"], 0);
  EXPECT_TRUE(r["profileMoves"].get<bool>());
  EXPECT_TRUE(testing::contains(r["saved"]["image/svg+xml"], "<svg xmlns") &&
              testing::contains(r["saved"]["image/svg+xml"], "initial"))
      << r["saved"];
  EXPECT_FALSE(testing::contains(r["saved"]["image/svg+xml"], "var(--"));  // it is self-contained
  EXPECT_TRUE(testing::contains(r["saved"]["text/csv"], "t,x,value\n"))
      << r["saved"]["text/csv"];  // of the map
  EXPECT_GT(r["saved"]["image/png"].get<int>(), 1000);
  EXPECT_GT(r["chartsAtTheEnd"].get<int>(), r["charts"].get<int>());  // "more quantities" was opened
  EXPECT_EQ(r["undrawn"], 0);
}

TEST_F(Page, OfAComparisonDrawsARunPerLine) {
  fs::create_directory(folder_ / "runs");
  testing::train_small_run(folder_ / "runs/adam-0", "adam", 0);
  testing::train_small_run(folder_ / "runs/adam-1", "adam", 1);
  testing::train_small_run(folder_ / "runs/ss-esoap-0", "ss-esoap", 0);
  const Json r = open({folder_ / "runs"});
  ASSERT_EQ(r["faults"], Json::array()) << r.dump(1);
  EXPECT_EQ(r["series"], Json({"adam-0", "adam-1", "ss-esoap-0"}));
  EXPECT_EQ(r["seriesAfterToggle"], Json({"adam-0", "ss-esoap-0"}));
  EXPECT_EQ(r["drawn"], r["charts"]);
  EXPECT_EQ(r["tables"], Json({"optimizers", "runs", "figures"}));
  EXPECT_EQ(r["means"], Json({"adam", "ss-esoap"}));
  EXPECT_EQ(r["bands"], r["means"]);
  EXPECT_EQ(r["undrawn"], 0);
}

TEST_F(Page, DrawsFieldsOfOneAndOfThreeCoordinates) {
  testing::train_small_run(folder_ / "run", "adam", 0);
  testing::write(
      folder_ / "run/fields.json",
      R"json({"coordinates": ["x"], "axes": [[0, 1, 2]], "arrays": {"u": [1, 2, 4], "u.reference": [1, 2, 3],
                    "u.error": [0, null, 1], "residual.ode": [-1, 2, 0]}})json");
  Json r = open({folder_ / "run"});
  ASSERT_EQ(r["faults"], Json::array()) << r.dump(1);
  EXPECT_EQ(r["charts"], 7);  // four curves, u, its error, the residual
  EXPECT_EQ(r["undrawn"], 0);

  Json values = Json::array();
  for (int i = 0; i < 5 * 4 * 3; ++i) values.push_back(i);
  testing::write(folder_ / "run/fields.json", Json({{"coordinates", {"x", "y", "t"}},
                                                    {"axes", {{0, 1, 2, 3, 4}, {0, 1, 2, 3}, {0, 1, 2}}},
                                                    {"arrays", {{"u", values}}}})
                                                  .dump());
  r = open({folder_ / "run"});
  ASSERT_EQ(r["faults"], Json::array()) << r.dump(1);
  ASSERT_EQ(r["maps"].size(), 1u);
  EXPECT_EQ(r["maps"][0]["drawn"], "5x4");
  EXPECT_EQ(r["otherPlane"], "5x3");  // x, t at a y
  EXPECT_EQ(r["players"], 1);
}

TEST_F(Page, DrawsMappedFieldsInPhysicalSpace) {
  testing::train_small_run(folder_ / "run", "adam", 0);
  const int n = 9, m = 33;
  Json fields{{"coordinates", {"r", "phi"}}, {"axes", {Json::array(), Json::array()}}};
  for (int i = 0; i < n; ++i) fields["axes"][0].push_back(1 + i / (n - 1.0));
  for (int j = 0; j < m; ++j) fields["axes"][1].push_back(2 * std::acos(-1) * j / (m - 1));
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < m; ++j) {
      const double r = fields["axes"][0][i], phi = fields["axes"][1][j];
      fields["arrays"]["u"].push_back(r * phi);
      fields["physical"]["x"].push_back(r * std::cos(phi));
      fields["physical"]["y"].push_back(r * std::sin(phi));
    }
  testing::write(folder_ / "run/fields.json", fields.dump());
  Json r = open({folder_ / "run"});
  ASSERT_EQ(r["faults"], Json::array()) << r.dump(1);
  EXPECT_EQ(r["spaces"], Json({"x, y", "r, phi"}));
  EXPECT_EQ(r["mapped"], Json({"9x33 mapped"}));
  EXPECT_EQ(r["unmapped"], Json({"9x33"}));
  EXPECT_EQ(r["overHole"], "");
  EXPECT_TRUE(testing::contains(r["overRing"], "x 1.5")) << r["overRing"];
  EXPECT_FALSE(r["far"].get<bool>());
  EXPECT_TRUE(testing::contains(r["saved"]["text/csv"], "r,phi,x,y,value\n1,0,1,0,0\n"))
      << r["saved"]["text/csv"];

  fields = {{"coordinates", {"z"}}, {"axes", {Json::array()}}};
  for (int i = 0; i <= 60; ++i) {
    fields["axes"][0].push_back(i / 3.0);
    fields["arrays"]["U"].push_back(std::exp(i / 9.0));
    fields["physical"]["y"].push_back(std::sinh(i / 3.0));
  }
  testing::write(folder_ / "run/fields.json", fields.dump());
  fs::create_directory(folder_ / "run/data");
  testing::write(folder_ / "run/data/seen.csv", "z,U_seen\n1,2\n6,9\n");
  r = open({folder_ / "run"});
  ASSERT_EQ(r["faults"], Json::array()) << r.dump(1);
  EXPECT_EQ(r["spaces"], Json({"y", "z"}));
  EXPECT_TRUE(r["far"].get<bool>());
  EXPECT_EQ(r["dots"], 2);
  EXPECT_NE(std::find(r["farTicks"].begin(), r["farTicks"].end(), "10⁸"), r["farTicks"].end())
      << r["farTicks"];
}

TEST_F(Page, DrawsTheKnownValueOfAnUnknown) {
  testing::train_small_run(folder_ / "run", "adam", 0);
  testing::edit(folder_ / "run/summary.json", [](Json& json) {
    json["unknowns"]["nu"] = {{"value", 0.1}, {"last", 0.1}, {"known", 0.125}};
  });
  std::string history;
  for (int step = 5; step <= 30; step += 5)
    history += Json{{"step", step},
                    {"loss", 1},
                    {"loss.heat", 1},
                    {"residual", 1},
                    {"unknown.nu", 0.1 + 0.001 * step}}
                   .dump() +
               "\n";
  testing::write(folder_ / "run/history.jsonl", history);
  fs::create_directory(folder_ / "run/data");
  testing::write(folder_ / "run/data/measured.csv", "x,t,u\n0.5,0.5,1\n0.25,0.5,2\n");
  const Json r = open({folder_ / "run"});
  ASSERT_EQ(r["faults"], Json::array()) << r.dump(1);
  EXPECT_EQ(r["levels"], 1);
}

TEST_F(Page, OfAHostileAndDamagedRunShowsTextOnly) {
  testing::train_small_run(folder_ / "run", "ss-esoap", 0);
  const std::string hostile = "</script><img src=x onerror=\"faults.push('injected')\"><!--";
  testing::edit(folder_ / "run/summary.json", [&](Json& json) {
    json["problem"] = hostile;
    json["message"] = hostile;
    json["final"]["residuals"][hostile] = 1.0;
    json.erase("best");
  });
  testing::edit(folder_ / "run/config.json", [&](Json& json) {
    json["problem"]["text"] = "title = '" + hostile + "'";
    json["training"][hostile] = hostile;
  });
  fs::remove(folder_ / "run/fields.json");
  fs::remove(folder_ / "run/timing.csv");
  const Json r = open({folder_ / "run"});
  ASSERT_EQ(r["faults"], Json::array()) << r.dump(1);
  EXPECT_EQ(r["foreign"], 0);
  EXPECT_EQ(r["maps"].size(), 0u);
  EXPECT_TRUE(testing::contains(r["heading"], hostile)) << r["heading"];
}

}  // namespace
}  // namespace lather::report
