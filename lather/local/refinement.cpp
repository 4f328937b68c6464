#include "lather/local/refinement.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

namespace lather::local {

State state_on(const Solution& solution, int node) {
  return [&solution, node](const Jet& jet, const pde::Points& points) {
    return solution.evaluate_on(node, jet, points);
  };
}

std::vector<double> left_over(const Equations& equations, const RowBuilder& rows,
                              const std::vector<const Patch*>& patches, const Solution& solution,
                              ThreadTeam& team) {
  const auto faces = find_faces(equations.domain(), patches, true);
  std::vector<double> of_patch(patches.size()), of_face(faces.size());
  std::atomic<std::size_t> next = 0;
  team.run([&](int) {
    for (std::size_t i = next++; i < patches.size() + faces.size(); i = next++) {
      if (i < patches.size()) {
        of_patch[i] = rows.left_over(*patches[i], state_on(solution, patches[i]->node));
        continue;
      }
      const Face& face = faces[i - patches.size()];
      const Patch &first = *patches[face.first], &second = *patches[face.second];
      of_face[i - patches.size()] = rows.left_over(face, first, second, state_on(solution, first.node),
                                                   state_on(solution, second.node));
    }
  });
  for (std::size_t f = 0; f < faces.size(); ++f)
    for (const std::size_t p : {faces[f].first, faces[f].second})
      of_patch[p] = std::max(of_patch[p], of_face[f]);
  return of_patch;
}

unsigned directions_to_halve(const Solution& solution, int node, const std::vector<double>& sizes) {
  constexpr double kAmongLargest = 0.1;
  const Basis& basis = solution.basis();
  const auto& coefficients = solution.piece(node).coefficients;
  std::array<double, kMostCoordinates> tails{};
  for (int k = 0; k < basis.dimensions(); ++k) {
    double last = 0, before = 0;  // the largest coefficients of degree p and p - 1
    for (std::size_t f = 0; f < sizes.size(); ++f)
      for (std::size_t j = 0; j < basis.size(); ++j) {
        const double c = std::abs(coefficients[f * basis.size() + j]) / sizes[f];
        if (basis.degrees(j)[k] == basis.degree()) last = std::max(last, c);
        if (basis.degrees(j)[k] + 1 == basis.degree()) before = std::max(before, c);
      }
    tails[k] = std::sqrt(last * std::max(last, before));
  }
  const double largest = *std::max_element(tails.begin(), tails.end());
  unsigned along = 0;
  for (int k = 0; k < basis.dimensions(); ++k)
    if (tails[k] >= kAmongLargest * largest) along |= 1u << k;
  return along;
}

}  // namespace lather::local
