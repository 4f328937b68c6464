#include "progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

#include "terminal.hpp"

namespace lather::command {

namespace {

constexpr double kRefresh = 0.2, kPlainInterval = 2;  // seconds

std::size_t terminal_width() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

}  // namespace

std::string duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  const auto whole = static_cast<long long>(seconds + 0.5);
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

std::string progress_text(const train::Progress& p, const std::vector<std::string>& terms) {
  std::string out = fmt::format("step {}/{}", p.step, p.steps);
  if (p.stages > 1) out += fmt::format(" stage {}/{}", p.stage + 1, p.stages);
  out += fmt::format("  loss {:.2e}", p.loss);
  if (terms.size() > 1) {
    out += " (";
    for (std::size_t k = 0; k < terms.size() && k < p.term_losses.size(); ++k)
      out += fmt::format("{}{} {:.1e}", k ? ", " : "", terms[k], p.term_losses[k]);
    out += ")";
  }
  if (p.metrics) {
    out += fmt::format("  residual {:.2e}", p.metrics->residual);
    if (!p.metrics->l2.empty()) out += fmt::format("  L2 {:.2e}", p.metrics->worst_l2());
  }
  if (p.tau) out += fmt::format("  tau {:.2f}", *p.tau);
  if (p.basis_updates > 0) out += fmt::format("  bases {}", p.basis_updates);
  return out + fmt::format("  {:.1f} steps/s  {} left", p.steps_per_second, duration(p.seconds_left));
}

ProgressLine::ProgressLine(std::vector<std::string> terms, bool quiet)
    : terms_(std::move(terms)), quiet_(quiet), terminal_(::isatty(STDOUT_FILENO) == 1) {}

void ProgressLine::update(const train::Progress& p) {
  if (quiet_) return;
  const bool last = p.step == p.steps;
  const bool looked = p.metrics && p.metrics->step == p.step;
  if (terminal_) {
    if (shown_ && !last && since_.seconds() < kRefresh) return;
    // The terms are the first to go if the line is too narrow.
    std::string text = progress_text(p, terms_);
    if (text.size() > terminal_width() - 1) text = progress_text(p, {});
    text.resize(std::min(text.size(), terminal_width() - 1));
    replace_line(text);
  } else {
    if (!looked || (last_looked_ >= 0 && !last && since_.seconds() < kPlainInterval)) return;
    last_looked_ = p.step;
    say("{}\n", progress_text(p, terms_));
    std::fflush(stdout);
  }
  shown_ = true;
  since_.restart();
}

void ProgressLine::message(const std::string& text) {
  clear();
  say_aside("{}\n", text);
}

void ProgressLine::clear() {
  if (terminal_ && shown_) {
    say("\n");
    std::fflush(stdout);
  }
  shown_ = false;
}

}  // namespace lather::command
