// Problem files: pieces put together at random, with the files they name.
#include <cstring>
#include <fstream>
#include <iterator>

#include "texts.hpp"

namespace lather::hostile::texts {

namespace {

// The sections that keep a problem small stay whole, at the end.
constexpr const char* kSmall =
    "\n[network]\nwidth = 4\ndepth = 1\n[training]\noptimizer = \"lm\"\nsteps = 2\nreference = false\npoints "
    "= {interior = 6, start = 2, walls = 4}\n[training.quick]\nsteps = 2\n";

std::string expression(Chance& chance, int depth) {
  static const std::vector<std::string> kLeaves = {
      "u",       "u_x", "u_xx",        "u_t", "x", "t", "1",   "pi",       "0.5",    "u_xt", "u_tt",
      "D(u, x)", "nu",  "D(u*u_x, x)", "2",   "q", "e", "sdf", "normal_x", "u_xxxx", "y"};
  static const std::vector<std::string> kFunctions = {"sin",   "exp",     "tanh",     "log",   "sqrt",
                                                      "abs",   "step",    "erf",      "atan",  "sign",
                                                      "acosh", "sigmoid", "softplus", "log10", "sech"};
  if (depth == 0 || chance.one_in(3)) return chance.any(kLeaves);
  switch (chance.below(5)) {
    case 0: return chance.any(kFunctions) + "(" + expression(chance, depth - 1) + ")";
    case 1:
      return "(" + expression(chance, depth - 1) + ")^" +
             chance.of<std::string>({"2", "3", "-1", "0.5", "x", "0"});
    case 2:
      return "if(x < 0.5, " + expression(chance, depth - 1) + ", " + expression(chance, depth - 1) + ")";
    default:
      return expression(chance, depth - 1) + chance.of<std::string>({" + ", " - ", "*", "/", "^"}) +
             expression(chance, depth - 1);
  }
}

void write(Chance& chance, const std::filesystem::path& file, const std::string& content) {
  std::ofstream(file, std::ios::binary | std::ios::trunc)
      << (chance.one_in(2) ? damaged(chance, content) : content);
}

// A tetrahedron.
const double kCorners[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
const int kFaces[4][3] = {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}};

std::string stl_ascii() {
  std::string text = "solid body\n";
  for (const auto& face : kFaces) {
    text += "facet normal 0 0 0\nouter loop\n";
    for (const int k : face)
      text += "vertex " + std::to_string(kCorners[k][0]) + " " + std::to_string(kCorners[k][1]) + " " +
              std::to_string(kCorners[k][2]) + "\n";
    text += "endloop\nendfacet\n";
  }
  return text + "endsolid body\n";
}
std::string stl_binary() {
  std::string bytes(84 + 4 * 50, '\0');
  const std::uint32_t count = 4;
  std::memcpy(bytes.data() + 80, &count, sizeof count);
  for (int f = 0; f < 4; ++f)
    for (int v = 0; v < 3; ++v)
      for (int k = 0; k < 3; ++k) {
        const auto number = static_cast<float>(kCorners[kFaces[f][v]][k]);
        std::memcpy(bytes.data() + 84 + 50 * f + 12 + 12 * v + 4 * k, &number, sizeof number);
      }
  return bytes;
}
std::string obj() {
  std::string text;
  for (const auto& corner : kCorners)
    text += "v " + std::to_string(corner[0]) + " " + std::to_string(corner[1]) + " " +
            std::to_string(corner[2]) + "\n";
  for (const auto& face : kFaces)
    text += "f " + std::to_string(face[0] + 1) + " " + std::to_string(face[1] + 1) + " " +
            std::to_string(face[2] + 1) + "\n";
  return text;
}

std::string body(Chance& chance, const std::filesystem::path& folder) {
  const bool object = chance.one_in(3);
  const char* name = object ? "body.obj" : "body.stl";
  write(chance, folder / name, object ? obj() : chance.one_in(2) ? stl_ascii() : stl_binary());
  return std::string(
             "name = \"body\"\ncoordinates = [\"x\", \"y\", \"z\"]\nfields = [\"u\"]\n[shape]\ndomain = "
             "\"mesh('") +
         name +
         "')\"\n[[equation]]\nname = \"laplace\"\nresidual = \"u_xx + u_yy + u_zz\"\n[[condition]]\nname = "
         "\"walls\"\nwhere = \"boundary\"\nresidual = \"u - x\"\n";
}

std::string shape(Chance& chance) {
  static const std::vector<std::string> kShapes = {"disk([0.5, 0.5], 0.25)",
                                                   "rectangle([0, 0], [1, 1])",
                                                   "ellipse([0, 0], 1, 0.3)",
                                                   "polygon([0, 0], [1, 0], [0, 1])",
                                                   "half_space([0.5, 0], [1, 0])",
                                                   "disk([0.5, 0.5], 0)",
                                                   "rectangle([1, 1], [0, 0])",
                                                   "polygon([0, 0], [1, 1], [1, 0], [0, 1])",
                                                   "repeat(disk([0, 0], 0.1), [0.3, 0], 3)",
                                                   "rotate(rectangle([0, 0], [1, 0.2]), 0.7)",
                                                   "scale(disk([0, 0], 1), 0.5)",
                                                   "translate(disk([0, 0], 1), [1, 1])",
                                                   "disk([1e200, 0], 1e200)",
                                                   "disk([0, 0], 1e-200)",
                                                   "scale(disk([0, 0], 1), 0)",
                                                   "repeat(disk([0, 0], 1), [0, 0], 3)"};
  std::string domain = chance.any(kShapes);
  for (std::size_t k = chance.below(3); k > 0; --k)
    domain += chance.of<std::string>({" - ", " + ", " & "}) + chance.any(kShapes);
  return "name = \"shape\"\ncoordinates = [\"x\", \"y\"]\nfields = [\"u\"]\n[shape]\nhole = \"" +
         chance.any(kShapes) + "\"\ndomain = \"" + domain +
         "\"\n[[equation]]\nname = \"laplace\"\nresidual = \"u_xx + u_yy - 1\"\n[[condition]]\nname = "
         "\"walls\"\nwhere = \"" +
         chance.of<std::string>(
             {"boundary", "boundary of hole", "x = 0.5", "boundary of domain and x > 0.5", "sdf = 0"}) +
         "\"\nresidual = \"u*normal_x\"\n";
}

std::string table(Chance& chance, const std::filesystem::path& folder) {
  std::string text = "x,k\n";
  for (int i = 0; i < 6; ++i) text += std::to_string(0.2 * i) + "," + std::to_string(1 + 0.1 * i) + "\n";
  write(chance, folder / "k.csv", text);
  return "name = \"table\"\ncoordinates = [\"x\"]\nfields = [\"u\"]\n[domain]\nx = [0, 1]\n[table]\nk = "
         "\"k.csv\"\n[[equation]]\nname = \"flow\"\nresidual = \"D(k*u_x, x) + 1\"\n[[condition]]\nname = "
         "\"start\"\nwhere = \"x = 0\"\nresidual = \"u\"\n";
}

std::string data(Chance& chance, const std::filesystem::path& folder) {
  std::string text = "t,seen\n";
  for (int i = 0; i < 12; ++i) text += std::to_string(i / 12.0) + "," + std::to_string(1 - i / 12.0) + "\n";
  write(chance, folder / "seen.csv", text);
  return "name = \"data\"\ncoordinates = [\"t\"]\nfields = [\"u\"]\n[domain]\nt = [0, 1]\n[unknown]\nrate = "
         "0.5\n[[equation]]\nname = \"decay\"\nresidual = \"u_t + rate*u\"\n[[data]]\nname = \"seen\"\nfile "
         "= \"seen.csv\"\nresidual = \"u - seen\"\n";
}

std::string plain(Chance& chance) {
  std::string text = "name = \"plain\"\ncoordinates = [\"x\", \"t\"]\nfields = [\"u\"]\n";
  if (chance.one_in(4)) text += "periodic = [\"x\"]\n";
  text += "[domain]\nx = [0, 1]\nt = [0, 1]\n[parameters]\nnu = 0.1\n";
  if (chance.one_in(4)) text += "[let]\nq = \"" + expression(chance, 1) + "\"\n";
  if (chance.one_in(6))
    text += "[ansatz]\noutputs = [\"N\"]\nu = \"t*N + " +
            chance.of<std::string>({"sin(pi*x)", "0", "N_x", "log(t)"}) + "\"\n";
  text += "[[equation]]\nname = \"law\"\nresidual = \"" +
          (chance.one_in(2) ? "u_t - nu*u_xx" : expression(chance, 3)) + "\"\n";
  text += "[[condition]]\nname = \"start\"\nwhere = \"t = 0\"\nresidual = \"u - " +
          (chance.one_in(2) ? "sin(pi*x)" : expression(chance, 2)) + "\"\n";
  if (chance.one_in(5)) text += "weight = \"" + expression(chance, 1) + "\"\n";
  if (chance.one_in(5))
    text +=
        "[[condition]]\nname = \"linked\"\nwhere = \"x = 0\"\nlinked = \"x = 1\"\npoints = 3\nresidual = "
        "[\"u\", \"u_x\"]\n";
  if (chance.one_in(5))
    text +=
        "[[integral]]\nname = \"mass\"\nwhere = \"inside domain\"\nintegrand = \"u\"\nnodes = 3\ntimes = "
        "2\nequals = " +
        chance.of<std::string>({"1", "\"t\"", "\"" + expression(chance, 1) + "\""}) + "\n";
  if (chance.one_in(3))
    text += "[reference]\nu = \"" + (chance.one_in(2) ? "exp(-t)*sin(pi*x)" : expression(chance, 2)) + "\"\n";
  return text;
}

std::string decay(Chance& chance) {
  return std::string(
             "name = \"decay\"\ntitle = \"Decay\"\ncoordinates = [\"t\"]\nfields = [\"u\"]\n[domain]\nt = "
             "[0, 1]\n[[equation]]\nname = \"decay\"\nresidual = \"u_t + u\"\n[[condition]]\nname = "
             "\"start\"\nwhere = \"t = 0\"\nresidual = \"u - 1\"\n") +
         (chance.one_in(2) ? "[reference]\nu = \"exp(-t)\"\n" : "");
}

}  // namespace

std::string problem(Chance& chance, const std::filesystem::path& folder) {
  switch (chance.below(16)) {
    case 0: return body(chance, folder) + kSmall;
    case 1: return shape(chance) + kSmall;
    case 2: return table(chance, folder) + kSmall;
    case 3: return data(chance, folder) + kSmall;
    case 4: return spoilt(chance, plain(chance)) + kSmall;
    case 5:
    case 6:
    case 7: return plain(chance) + kSmall;
    default: return decay(chance) + kSmall;
  }
}

std::string content(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string quantities(Chance& chance) {
  static const std::vector<std::string> kAll = {"u", "u", "u",         "u_x", "u_t",  "u_xx", "N",
                                                "v", "",  "u_xxxxxxx", "x",   "rate", "u_",   "_"};
  std::string list = chance.any(kAll);
  for (std::size_t k = chance.below(3); k > 0; --k)
    list += (chance.one_in(4) ? ", " : ",") + chance.any(kAll);
  return list;
}

}  // namespace lather::hostile::texts
