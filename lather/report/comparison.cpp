#include "lather/report/comparison.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lather/report/run_data.hpp"

namespace lather::report {

namespace {

using Json = nlohmann::json;

// summary[path[0]][path[1]]…, or NaN if it is missing or not a number.
double figure(const Json& summary, std::initializer_list<const char*> path) {
  const Json* at = &summary;
  for (const char* key : path) {
    if (!at->is_object() || !at->contains(key)) return kUnknown;
    at = &(*at)[key];
  }
  return at->is_number() ? at->get<double>() : kUnknown;
}

std::string text_of(const Json& summary, const char* key) {
  return summary.is_object() && summary.contains(key) && summary[key].is_string()
             ? summary[key].get<std::string>()
             : "";
}

const Json& part(const Json& json, const char* key) {
  static const Json nothing = Json::object();
  return json.is_object() && json.contains(key) && json[key].is_object() ? json[key] : nothing;
}

// Over all fields.
double worst(const Json& figures, const char* norm) {
  double value = kUnknown;
  for (const auto& [field, v] : part(figures, norm).items())
    if (v.is_number() && !(value >= v.get<double>())) value = v.get<double>();
  return value;
}

Cell spread(const std::vector<double>& values) { return {"", spread_of(values)}; }

Cell number(double value, const char* format) {
  return {value == value ? fmt::format(fmt::runtime(format), value) : "", {}};
}

const char* key_of(ShownStep step) { return step == ShownStep::best ? "best" : "final"; }

}  // namespace

Table comparison_table(const std::vector<RunGroup>& groups, ShownStep step) {
  const char* shown = key_of(step);
  Table table{{"optimizer", "residual", "L2 error", "H1 error", "steps", "seconds"}, {}};
  for (const auto& group : groups) {
    std::vector<double> residual, l2, h1, steps, seconds;
    for (const auto& summary : group.summaries) {
      residual.push_back(figure(summary, {shown, "residual"}));
      l2.push_back(worst(part(summary, shown), "l2"));
      h1.push_back(worst(part(summary, shown), "h1"));
      steps.push_back(figure(summary, {"step"}));
      seconds.push_back(figure(summary, {"seconds"}));
    }
    table.rows.push_back({{group.name, {}},
                          spread(residual),
                          spread(l2),
                          spread(h1),
                          number(spread_of(steps).count > 0 ? spread_of(steps).mean : kUnknown, "{:.0f}"),
                          spread(seconds)});
  }
  return table;
}

Table runs_table(const std::vector<RunGroup>& runs) {
  Table table{{"run", "steps", "loss", "best step", "residual", "L2 error", "H1 error", "last residual",
               "last L2 error", "seconds", "ended because"},
              {}};
  for (const auto& run : runs)
    for (const auto& summary : run.summaries)
      table.rows.push_back({{run.name, {}},
                            number(figure(summary, {"step"}), "{:.0f}"),
                            number(figure(summary, {"loss"}), "{:.3e}"),
                            number(figure(summary, {"best", "step"}), "{:.0f}"),
                            number(figure(summary, {"best", "residual"}), "{:.3e}"),
                            number(worst(part(summary, "best"), "l2"), "{:.3e}"),
                            number(worst(part(summary, "best"), "h1"), "{:.3e}"),
                            number(figure(summary, {"final", "residual"}), "{:.3e}"),
                            number(worst(part(summary, "final"), "l2"), "{:.3e}"),
                            number(figure(summary, {"seconds"}), "{:.1f}"),
                            {text_of(summary, "message"), {}}});
  return table;
}

Table figures_table(const std::vector<RunGroup>& runs, ShownStep step) {
  const char* shown = key_of(step);
  Table table{{"figure"}, {}};
  struct Row {
    std::string_view kind, words;
    std::string name;
  };
  std::vector<Row> rows;
  const auto add = [&](const Row& row) {
    for (const auto& r : rows)
      if (r.kind == row.kind && r.name == row.name) return;
    rows.push_back(row);
  };
  constexpr std::pair<const char*, const char*> wholes[] = {{"residual", "residual (root mean square)"},
                                                            {"mean_square_residual", "mean square residual"}};
  for (const auto& [kind, words] : wholes)
    for (const auto& run : runs)
      for (const auto& summary : run.summaries)
        if (part(summary, shown).contains(kind)) add({kind, words, ""});
  constexpr std::pair<const char*, const char*> kinds[] = {
      {"residuals", "residual of"}, {"l2", "L2 error of"}, {"h1", "H1 error of"}};
  for (const auto& [kind, words] : kinds)
    for (const auto& run : runs)
      for (const auto& summary : run.summaries)
        for (const auto& [name, value] : part(part(summary, shown), kind).items()) add({kind, words, name});
  for (const auto& row : rows)
    table.rows.push_back(
        {{row.name.empty() ? std::string(row.words) : fmt::format("{} {}", row.words, row.name), {}}});
  for (const auto& run : runs)
    for (const auto& summary : run.summaries) {
      table.header.push_back(run.name);
      for (std::size_t i = 0; i < rows.size(); ++i)
        table.rows[i].push_back(
            number(rows[i].name.empty() ? figure(summary, {shown, rows[i].kind.data()})
                                        : figure(summary, {shown, rows[i].kind.data(), rows[i].name.c_str()}),
                   "{:.3e}"));
    }
  return table;
}

}  // namespace lather::report
