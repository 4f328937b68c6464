#pragma once
// A problem as the engine needs it: residuals as expressions in coordinates,
// network outputs and their derivatives, and unknowns; and the point sets they
// are evaluated on. Read from a text file by problem_file.hpp, or built in C++.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lather/core/formats/toml.hpp"
#include "lather/net/architecture.hpp"
#include "lather/pde/output_symbols.hpp"

namespace lather::pde {

struct Interval {
  double low = 0, high = 1;
};

// A scalar to be found along with the network (inverse problems, eigenvalues). Its symbol has the same name.
struct Unknown {
  std::string name;
  double initial = 0;
  std::optional<double> known_value;  // for judging the result
};

struct Geometry;
class Region;
class CoefficientTable;

// Part of the domain: coordinates held fixed (NaN: free), and a region that the others must lie in; no
// region: all of the box. Nothing fixed and no region: the interior of a box.
struct Piece : std::vector<double> {
  using std::vector<double>::vector;
  std::shared_ptr<const Region> region;
};

struct PointSet {
  enum class Kind { interior, boundary, data };
  std::string name;
  Kind kind = Kind::interior;
  // Boundary: the union of these, each with an equal share of the points. Interior: none, or the region of a
  // shape.
  std::vector<Piece> pieces;
  // Names of the values that belong to each point; their symbols are "data:NAME". For data they are measured,
  // for other sets they come from the geometry (normals, distances): see region.hpp.
  std::vector<std::string> columns;
  std::vector<std::vector<double>> rows;  // data: coordinates, then columns
  std::string file = {};                  // data: where the rows were read from
  // The residuals of this many consecutive rows are added up before they are squared: integrals by
  // quadrature, and differences between two places. Data only.
  std::size_t group = 1;
  bool hold_out = true;  // data: a share of the rows may be held out; not if all of them are needed
};

// weight * mean over the points of residual^2.
struct Term {
  std::string name;
  int point_set = 0;
  symbolic::Expr residual;
  double weight = 1;
};

struct Field {
  std::string name;
  symbolic::Expr value;  // in coordinates, network outputs, unknowns
};

// Where the true solution comes from, according to [reference]: the name of a solver and its options.
struct ReferenceRequest {
  std::string solver;                       // empty: none, or a closed form (Problem::exact)
  TomlValue options;                        // a table; expressions in parameters have become numbers
  std::vector<std::string> up_to_constant;  // fields determined only up to a constant
};

struct Problem {
  std::string name, title;
  std::shared_ptr<symbolic::Graph> graph = std::make_shared<symbolic::Graph>();
  std::shared_ptr<OutputSymbols> symbols;
  std::vector<Interval> domain;                // one per coordinate; with shapes, the box around them
  std::vector<bool> periodic;                  // by coordinate: both ends of the domain are one place
  std::shared_ptr<const Geometry> geometry;    // if the domain is not a box
  std::vector<symbolic::Expr> network_inputs;  // what the network is fed, as expressions in the coordinates
  std::vector<Field> fields;
  std::vector<Field> exact;  // the true fields in closed form (coordinates only), if known
  std::vector<Unknown> unknowns;
  std::vector<std::shared_ptr<const CoefficientTable>> tables;  // in the order of OutputSymbols
  std::vector<PointSet> point_sets;
  std::vector<Term> terms;
  net::NetworkOptions network;
  // Networks whose outputs are added to those of `network`; they are not trained.
  std::vector<net::NetworkOptions> earlier_networks;
  ReferenceRequest reference;
  std::vector<std::string> files;     // read in addition to data, such as meshes
  std::vector<std::string> warnings;  // probable mistakes, with their place in the file

  int dimensions() const { return static_cast<int>(domain.size()); }
  int outputs() const { return static_cast<int>(symbols->output_names().size()); }
};

}  // namespace lather::pde
