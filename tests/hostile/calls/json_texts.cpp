#include "lather/lather.h"
#include "texts.hpp"

namespace lather::hostile::texts {

namespace {

const Json& catalogue() {
  static const Json all = [] {
    const char* text = nullptr;
    return lather_optimizer_catalogue(&text) == LATHER_OK ? Json::parse(text) : Json::object();
  }();
  return all;
}

const std::vector<std::string>& optimizer_names() {
  static const auto names = [] {
    std::vector<std::string> list;
    for (const auto& [name, entry] : catalogue().items()) list.push_back(name);
    return list;
  }();
  return names;
}

// A value of this type; not always one in its range.
Json option_value(Chance& chance, const Json& option) {
  const auto type = option["type"].get<std::string>();
  if (type == "true/false") return chance.one_in(2);
  if (type == "integer") return static_cast<std::int64_t>(chance.below(5)) - (chance.one_in(6) ? 2 : 0);
  if (type == "word") {
    const auto range = option["range"].get<std::string>() + " | other";
    std::vector<std::string> words;
    for (std::size_t start = 0; start < range.size();) {
      const auto end = std::min(range.find(" | ", start), range.size());
      words.push_back(range.substr(start, end - start));
      start = end + 3;
    }
    return chance.any(words);
  }
  if (type == "list of reals") {
    Json list = Json::array();
    for (std::size_t k = chance.below(4); k > 0; --k) list.push_back(chance.uniform());
    return list;
  }
  return chance.of({0.0, 1.0, 0.5, 1e-3, 0.9, 1e-12, -1.0, 1e30, 2.0});
}

Json leaf(Chance& chance) {
  switch (chance.below(16)) {
    case 0: return nullptr;
    case 1: return true;
    case 2: return "";
    case 3: return -1;
    case 4: return 0;
    case 5: return 1.5;
    case 6: return 1e308;
    case 7: return -1e308;
    case 8: return std::uint64_t{1} << 63;
    case 9: return ~std::uint64_t{0};
    case 10: return Json::array();
    case 11: return Json::object();
    case 12: return std::string("a\0b", 3);
    case 13: return std::string(3000, 'n');
    case 14: return "%s%n\x1b[2J";
    default: return "u_x";
  }
}

void change(Chance& chance, Json& tree) {
  if (tree.empty() || !tree.is_structured() || chance.one_in(5)) {
    tree = leaf(chance);
    return;
  }
  auto at = tree.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(chance.below(tree.size())));
  if (chance.one_in(6)) {
    if (tree.is_object())
      tree[at.key() + (chance.one_in(2) ? "x" : "")] = leaf(chance);
    else
      tree.push_back(*at);
  } else {
    change(chance, *at);
  }
}

std::string textually_spoilt(Chance& chance, std::string text) {
  static const std::vector<std::string> kPieces = {"\"",
                                                   "[",
                                                   "]",
                                                   "{",
                                                   "}",
                                                   ",",
                                                   ":",
                                                   "=",
                                                   "\n",
                                                   "\\",
                                                   "-",
                                                   ".",
                                                   "e",
                                                   "\xff",
                                                   "\xc3",
                                                   "\xed\xa0\x80",
                                                   "\x01",
                                                   "#",
                                                   "'''",
                                                   "\"\"\"",
                                                   "(",
                                                   ")",
                                                   "^",
                                                   "*",
                                                   "/",
                                                   "null",
                                                   "nan",
                                                   "inf",
                                                   "_x",
                                                   "if(",
                                                   "\xef\xbb\xbf",
                                                   "\r",
                                                   "\t",
                                                   "u",
                                                   " ",
                                                   "D(",
                                                   "<",
                                                   ">="};
  for (std::size_t k = chance.between(1, 4); k > 0; --k) {
    const auto at = chance.below(text.size() + 1);
    switch (chance.below(5)) {
      case 0: text.resize(at); break;
      case 1: text.insert(at, chance.any(kPieces)); break;
      case 2:
        if (at < text.size() && !std::isdigit(static_cast<unsigned char>(text[at]))) text.erase(at, 1);
        break;
      case 3:
        if (at < text.size() && !std::isdigit(static_cast<unsigned char>(text[at])))
          text.replace(at, 1, chance.any(kPieces));
        break;
      default: {  // a piece of it once more, elsewhere; not between digits
        const auto piece = text.substr(at, chance.below(40));
        const auto to = chance.below(text.size() + 1);
        if (piece.find_first_of("0123456789") == piece.npos) text.insert(to, piece);
      }
    }
  }
  return text;
}

}  // namespace

std::string spoilt(Chance& chance, std::string text) {
  if (chance.one_in(30))
    return chance.of<std::string>({"", " ", "null", "[]", "{}", "1e999", "\xff\xfe", std::string(20000, '['),
                                   std::string(20000, '('), "{\"a\":", std::string(100000, 'a')});
  Json tree = Json::parse(text, nullptr, false);
  if (tree.is_discarded() || chance.one_in(3)) return textually_spoilt(chance, std::move(text));
  for (std::size_t k = chance.between(1, 2); k > 0; --k) change(chance, tree);
  return tree.dump(-1, ' ', false, Json::error_handler_t::ignore);
}

std::string damaged(Chance& chance, std::string bytes) {
  if (bytes.empty()) return "nonsense";
  switch (chance.below(8)) {
    case 0: return bytes.substr(0, chance.below(bytes.size()));
    case 1: return bytes + bytes.substr(chance.below(bytes.size()));
    case 2: return "";
    case 3: {
      const auto at = chance.below(bytes.size());
      const auto length = std::min<std::size_t>(8, bytes.size() - at);
      bytes.replace(at, length, std::string(length, chance.of({'\0', '\xff', '\x7f', '\x80'})));
      return bytes;
    }
    default:
      for (std::size_t k = chance.between(1, 4); k > 0; --k)
        bytes[chance.below(bytes.size())] ^= static_cast<char>(1u << chance.below(8));
      return bytes;
  }
}

std::string blocks(Chance& chance) {
  Json list = Json::array();
  switch (chance.below(6)) {
    case 0: list = {{{"name", "x"}, {"size", 3}}}; break;
    case 1: list = {{{"name", "x"}, {"size", 1}}}; break;
    case 2:
      list = {{{"name", "W"}, {"rows", 5}, {"cols", 1}, {"role", "input"}},
              {{"name", "V"}, {"rows", 1}, {"cols", 7}}};
      break;
    default:
      list = {{{"name", "W"}, {"rows", 2}, {"cols", 3}, {"role", "hidden"}},
              {{"name", "b"}, {"size", 2}, {"role", "bias"}}};
  }
  return list.dump();
}

std::size_t total(const std::string& text) {
  std::size_t sum = 0;
  for (const auto& block : Json::parse(text))
    sum += block.value("size", std::size_t{0}) +
           block.value("rows", std::size_t{0}) * block.value("cols", std::size_t{0});
  return sum;
}

Json optimizer_json(Chance& chance) {
  Json settings = {{"name", chance.any(optimizer_names())}};
  const auto& options = catalogue()[settings["name"].get<std::string>()]["options"];
  for (std::size_t k = options.empty() ? 0 : chance.below(3); k > 0; --k) {
    const auto& option = chance.any(options);
    settings[option["name"].get<std::string>()] = option_value(chance, option);
  }
  if (chance.one_in(8)) settings["clip"] = {{"limit", chance.of({1.0, 1e-3, 0.0, -1.0})}};
  return settings;
}

std::string settings(Chance& chance) {
  Json changes = {{"network", {{"width", chance.between(1, 5)}, {"depth", chance.between(1, 2)}}},
                  {"training", {{"points", {{"interior", chance.between(1, 12)}}}, {"reference", false}}}};
  auto& network = changes["network"];
  auto& training = changes["training"];
  if (chance.one_in(6)) network["type"] = chance.of({"mlp", "modified-mlp", "piratenet"});
  if (chance.one_in(6))
    network["activation"] = chance.of({"tanh", "sin", "swish", "gelu", "softplus", "versine"});
  if (chance.one_in(10)) network["fourier_features"] = chance.between(0, 3);
  if (chance.one_in(10))
    training["weighting"] = chance.of({"gradient-norm", "ntk", "balance", "self-adaptive"});
  if (chance.one_in(10))
    training["sampling"] = {{"method", chance.of({"sobol", "adaptive", "latin-hypercube", "uniform"})},
                            {"every", 1}};
  if (chance.one_in(12)) training["time_windows"] = 2;
  Json all = {{"set", changes},
              {"steps", chance.between(1, 3)},
              {"threads", chance.one_in(12) ? 2 : 1},
              {"seed", chance.below(3)}};
  auto method = optimizer_json(chance);
  all["optimizer"] = method["name"];
  if (chance.one_in(4)) {
    method.erase("name");
    for (const auto& [key, value] : method.items()) all["set"]["optimizer"][key] = value;
  }
  if (chance.one_in(8)) all["precision"] = chance.of({"float32", "float64"});
  if (chance.one_in(12)) all["seconds"] = chance.of({0.0, 0.01, 1e-9});
  if (chance.one_in(12)) all["target"] = chance.of({"l2=1e-6", "residual=10", "loss=1", "l2=x"});
  if (chance.one_in(12)) all["patience"] = chance.below(3);
  if (chance.one_in(12)) all["recipe"] = chance.of({"quick", "best", "nothing"});
  if (chance.one_in(20)) all["device"] = chance.of({"cpu", "cuda", "tpu"});
  return all.dump();
}

std::string limits(Chance& chance) {
  Json all = {{"steps", chance.between(1, 5)}};
  if (chance.one_in(3)) all["seconds"] = chance.of({0.0, 0.01, -1.0});
  if (chance.one_in(4)) all["target"] = "residual=1e-3";
  if (chance.one_in(4)) all["patience"] = chance.below(3);
  return all.dump();
}

std::string contestants(Chance& chance) {
  Json list = Json::array();
  for (std::size_t k = chance.between(1, 2); k > 0; --k)
    list.push_back({{"name", chance.any(optimizer_names())}, {"label", "m" + std::to_string(k)}});
  if (chance.one_in(4)) list.back()["set"] = {{"optimizer.learning_rate", 1e-3}};
  return list.dump();
}

std::string groups(Chance& chance) {
  Json best = {{"step", chance.below(9)}, {"residual", chance.uniform()}, {"l2", {{"u", chance.uniform()}}}};
  Json summary = {{"reason", "steps"}, {"steps", 3}, {"seconds", 0.5}, {"best", best}, {"last", best}};
  if (chance.one_in(3)) change(chance, summary);
  Json list = Json::array({{{"name", "adam"}, {"summaries", {summary, summary}}}});
  return list.dump(-1, ' ', false, Json::error_handler_t::ignore);
}

std::string sweep(Chance& chance) {
  const auto search = chance.of<std::string>({"grid", "random", "halving"});
  std::string text = "name = \"s\"\nproblem = \"p.toml\"\nmetric = \"residual\"\nseeds = 1\nsteps = 2\n";
  text += search == "grid"     ? ""
          : search == "random" ? "search = \"random\"\nsamples = 2\n"
                               : "search = \"halving\"\nrounds = 2\n";
  text +=
      "[settings]\nnetwork.width = 3\nnetwork.depth = 1\ntraining.points.interior = 4\n[[optimizer]]\nname = "
      "\"";
  return text + chance.any(optimizer_names()) + "\"\naxes.network.width = [2, 3]\n";
}
std::string sweep_options(Chance& chance) {
  return Json({{"jobs", chance.between(1, 2)}, {"collect", chance.one_in(4)}}).dump();
}
std::string compare_options(Chance& chance) {
  return Json({{"jobs", chance.between(1, 2)},
               {"seeds", chance.one_in(3) ? Json{0, 1} : Json{0}},
               {"last", chance.one_in(2)}})
      .dump();
}

}  // namespace lather::hostile::texts
