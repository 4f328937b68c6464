#include "lather/train/run_folder/history.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace lather::train {

namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson number_or_its_name(double value) {
  return std::isfinite(value) ? OrderedJson(value) : OrderedJson(fmt::format("{}", value));
}

// The columns for both formats: names and, if known, values.
struct Column {
  std::string name;
  std::optional<double> value;
};

std::vector<Column> columns(const Trainer& trainer, const HistoryRecord* record) {
  std::vector<Column> list;
  const auto add = [&](std::string name, auto&& value) {
    list.push_back({std::move(name), record ? std::optional<double>(value()) : std::nullopt});
  };
  const auto add_if = [&](std::string name, bool present, auto&& value) {
    list.push_back({std::move(name), record && present ? std::optional<double>(value()) : std::nullopt});
  };
  const bool looked = record && record->metrics;
  // Terms of the whole problem; a time window may lack some.
  const auto present = trainer.term_names();
  std::vector<std::string> terms;
  std::vector<std::size_t> place;
  for (const auto& term : trainer.problem().terms) {
    terms.push_back(term.name);
    place.push_back(
        static_cast<std::size_t>(std::find(present.begin(), present.end(), term.name) - present.begin()));
  }
  const auto is_here = [&](std::size_t k) { return place[k] < present.size(); };
  add("step", [&] { return static_cast<double>(trainer.step()); });
  add("stage", [&] { return static_cast<double>(trainer.stage() + 1); });
  add("loss", [&] { return record->loss; });
  for (std::size_t k = 0; k < terms.size(); ++k)
    add_if("loss." + terms[k], is_here(k), [&] { return trainer.term_losses()[place[k]]; });
  for (std::size_t k = 0; k < terms.size(); ++k)
    add_if("weight." + terms[k], is_here(k), [&] { return trainer.term_weight(static_cast<int>(place[k])); });
  add("gradient_norm", [&] { return record->report.gradient_norm; });
  add("step_norm", [&] { return record->report.step_norm; });
  add("evaluations", [&] { return static_cast<double>(trainer.evaluations()); });
  add_if("residual", looked, [&] { return record->metrics->residual; });
  add_if("validation_loss", looked, [&] { return record->metrics->loss; });
  for (std::size_t k = 0; k < terms.size(); ++k)
    add_if("residual." + terms[k], looked && is_here(k),
           [&] { return record->metrics->term_residuals[place[k]]; });
  const auto& fields = trainer.problem().fields;
  for (std::size_t f = 0; f < fields.size(); ++f)
    add_if("l2." + fields[f].name,
           looked && f < record->metrics->l2.size() && !std::isnan(record->metrics->l2[f]),
           [&] { return record->metrics->l2[f]; });
  for (std::size_t f = 0; f < fields.size(); ++f)
    add_if("h1." + fields[f].name,
           looked && f < record->metrics->h1.size() && !std::isnan(record->metrics->h1[f]),
           [&] { return record->metrics->h1[f]; });
  const auto& unknowns = trainer.problem().unknowns;
  for (std::size_t k = 0; k < unknowns.size(); ++k)
    add("unknown." + unknowns[k].name, [&] { return trainer.unknowns()[k]; });
  const auto tau = record ? mean_diagnostic(trainer, "tau") : std::nullopt;
  add_if("tau", tau.has_value(), [&] { return *tau; });
  add("basis_updates", [&] { return static_cast<double>(trainer.basis_updates()); });
  return list;
}

}  // namespace

std::string history_header(const Trainer& trainer) {
  std::vector<std::string> names;
  for (const auto& column : columns(trainer, nullptr)) names.push_back(column.name);
  return fmt::format("{}", fmt::join(names, ","));
}

std::string history_csv(const Trainer& trainer, const HistoryRecord& record) {
  std::vector<std::string> values;
  for (const auto& column : columns(trainer, &record))
    values.push_back(column.value ? fmt::format("{}", *column.value) : "");
  return fmt::format("{}", fmt::join(values, ","));
}

std::string history_json(const Trainer& trainer, const HistoryRecord& record) {
  OrderedJson line;
  for (const auto& column : columns(trainer, &record))
    if (column.value) line[column.name] = number_or_its_name(*column.value);
  line["step"] = trainer.step();
  if (!record.report.message.empty()) line["message"] = record.report.message;
  return line.dump();
}

std::string diagnostics_json(const Trainer& trainer) {
  if (trainer.diagnostics().empty()) return "";
  OrderedJson line;
  line["step"] = trainer.step();
  for (const auto& d : trainer.diagnostics())
    line["blocks"][std::string(d.block)][std::string(d.quantity)] = number_or_its_name(d.value);
  return line.dump();
}

std::string event_json(const LoggedEvent& e) {
  OrderedJson line{{"step", e.step}, {"layer", e.layer}};
  const auto add = [&](const char* name, double value) { line[name] = number_or_its_name(value); };
  add("rho_left", e.rho_left);
  add("rho_right", e.rho_right);
  add("gamma", e.gamma);
  const auto add_known = [&](const char* name, double value) {
    if (!std::isnan(value)) add(name, value);
  };
  add_known("gradient_cosine", e.gradient_cosine);
  add("loss", e.loss);
  add_known("loss_after_1", e.loss_after_1);
  add_known("loss_after_10", e.loss_after_10);
  add_known("rho_after_10", e.rho_after_10);
  add_known("gradient_cosine_after_10", e.gradient_cosine_after_10);
  return line.dump();
}

std::optional<double> mean_diagnostic(const Trainer& trainer, std::string_view quantity) {
  double sum = 0;
  int count = 0;
  for (const auto& d : trainer.diagnostics())
    if (d.quantity == quantity) {
      sum += d.value;
      ++count;
    }
  if (count == 0) return std::nullopt;
  return sum / count;
}

}  // namespace lather::train
