#pragma once
// The head of an HTTP request, as far as a read-only server needs it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lather::watch {

struct HttpRequest {
  std::string method;             // as sent: GET, HEAD, …
  std::vector<std::string> path;  // decoded segments: /run/abc/config.json -> run, abc, config.json
  std::string run;                // of ?run=…
  std::string host;               // without the port
  std::string range;              // as sent
  bool well_formed = false;
};

// `head` ends before the empty line. Anything malformed leaves well_formed at false.
HttpRequest parse_request(std::string_view head);

// Bytes [first, first + length) of a file.
struct ByteRange {
  std::uint64_t first = 0, length = 0;
  bool whole = true;  // nothing, or nothing we understand, was asked for
  bool satisfiable = true;
};
// One range of bytes; lists of ranges are answered with the whole file, as the standard allows.
ByteRange parse_range(std::string_view range, std::uint64_t size);

}  // namespace lather::watch
