#include "lather/watch/http_request.hpp"

#include <algorithm>
#include <charconv>

namespace lather::watch {

namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Nothing for a damaged escape, or one for a character that has no place in a name.
std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size()) return {};
      const int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return {};
      c = static_cast<char>(16 * high + low);
      i += 2;
    }
    if (static_cast<unsigned char>(c) < 32 || c == '/' || c == 127) return {};
    out += c;
  }
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

bool same_name(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

// "localhost:8080" -> localhost, "[::1]:80" -> [::1]
std::string without_port(std::string_view host) {
  const auto colon = host.rfind(':');
  if (colon != host.npos && host.find(']', colon) == host.npos) host = host.substr(0, colon);
  return std::string(host);
}

bool read_target(std::string_view target, HttpRequest& request) {
  if (target.empty() || target[0] != '/') return false;
  const auto mark = target.find('?');
  std::string_view path = target.substr(1, mark == target.npos ? mark : mark - 1);
  while (!path.empty()) {
    const auto slash = path.find('/');
    const auto segment = percent_decoded(path.substr(0, slash));
    if (!segment) return false;
    request.path.push_back(*segment);
    path = slash == path.npos ? std::string_view() : path.substr(slash + 1);
  }
  std::string_view query = mark == target.npos ? std::string_view() : target.substr(mark + 1);
  while (!query.empty()) {
    const auto end = query.find('&');
    const auto pair = query.substr(0, end);
    if (pair.starts_with("run=")) {
      const auto value = percent_decoded(pair.substr(4));
      if (!value) return false;
      request.run = *value;
    }
    query = end == query.npos ? std::string_view() : query.substr(end + 1);
  }
  return true;
}

bool read_number(std::string_view text, std::uint64_t& value) {
  const auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status == std::errc::result_out_of_range && stop == text.data() + text.size()) {
    value = ~std::uint64_t{0};  // more than any file has
    return true;
  }
  return status == std::errc() && stop == text.data() + text.size();
}

}  // namespace

HttpRequest parse_request(std::string_view head) {
  HttpRequest request;
  const auto end = head.find('\n');
  const auto line = trimmed(head.substr(0, end));
  const auto first = line.find(' '), last = line.rfind(' ');
  if (first == line.npos || first == last || !line.substr(last + 1).starts_with("HTTP/1.")) return request;
  request.method = line.substr(0, first);
  if (!read_target(line.substr(first + 1, last - first - 1), request)) return request;
  std::string_view rest = end == head.npos ? std::string_view() : head.substr(end + 1);
  while (!rest.empty()) {
    const auto stop = rest.find('\n');
    const auto field = rest.substr(0, stop);
    rest = stop == rest.npos ? std::string_view() : rest.substr(stop + 1);
    const auto colon = field.find(':');
    if (colon == field.npos) continue;
    const auto name = field.substr(0, colon), value = trimmed(field.substr(colon + 1));
    if (same_name(name, "host")) request.host = without_port(value);
    if (same_name(name, "range")) request.range = value;
  }
  request.well_formed = true;
  return request;
}

ByteRange parse_range(std::string_view range, std::uint64_t size) {
  const ByteRange whole{0, size, true, true};
  if (!range.starts_with("bytes=") || range.find(',') != range.npos) return whole;
  range.remove_prefix(6);
  const auto dash = range.find('-');
  if (dash == range.npos) return whole;
  const auto from = trimmed(range.substr(0, dash)), to = trimmed(range.substr(dash + 1));
  std::uint64_t first = 0, last = ~std::uint64_t{0};
  if (from.empty()) {  // the last so many bytes
    if (!read_number(to, last)) return whole;
    if (last == 0 || size == 0) return {0, 0, false, false};
    const std::uint64_t length = std::min(last, size);
    return {size - length, length, false, true};
  }
  if (!read_number(from, first) || (!to.empty() && !read_number(to, last)) || first > last) return whole;
  if (first >= size) return {0, 0, false, false};
  return {first, std::min(last, size - 1) - first + 1, false, true};
}

}  // namespace lather::watch
