#pragma once
// Passes that evaluate expressions at arbitrary points, kept by expressions and columns.

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lather/pde/cuda/pass.hpp"
#include "lather/pde/engine/engine.hpp"

namespace lather::pde {

template <class T>
class EvaluationPasses {
 public:
  CudaPass<T>& of(const Engine& engine, const CudaAddresses& addresses,
                  std::span<const symbolic::Expr> expressions, std::span<const std::string> columns) {
    constexpr std::size_t kEvaluationRows = 1 << 18;  // of a batch
    auto& entry = entries_[evaluation_key(engine.problem, expressions, columns)];
    if (!entry.pass) {
      entry.set =
          std::make_unique<CompiledPointSet>(compile_set(engine.problem, engine.tape, expressions, columns));
      entry.pass = std::make_unique<CudaPass<T>>(
          engine.tape, std::vector<const CompiledPointSet*>{entry.set.get()},
          static_cast<int>(engine.problem.unknowns.size()), addresses,
          CudaPassOptions{.gradient = false, .batch_rows = kEvaluationRows, .shards = engine.options.shards});
    }
    return *entry.pass;
  }

 private:
  struct Entry {
    std::unique_ptr<CompiledPointSet> set;
    std::unique_ptr<CudaPass<T>> pass;
  };
  std::map<std::vector<std::uint32_t>, Entry> entries_;
};

}  // namespace lather::pde
