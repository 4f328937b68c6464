#include "lather/optim/optimizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "lather/capi/handles.hpp"
#include "lather/capi/settings.hpp"
#include "lather/core/clock.hpp"
#include "lather/core/files.hpp"
#include "lather/optim/wrappers/composed.hpp"
#include "lather/train/run_folder/checkpoint.hpp"

namespace lather::capi {

void fill(lather_step* to, const optim::StepReport& report, std::int64_t steps) {
  if (!to) return;
  thread_local std::string message;
  message = report.message;
  const lather_step all{sizeof(lather_step),
                        report.loss,
                        report.gradient_norm,
                        report.step_norm,
                        steps,
                        report.evaluations,
                        report.basis_updates,
                        static_cast<std::int64_t>(report.status),
                        message.c_str()};
  const std::uint64_t size = to->size;
  std::memcpy(to, &all, std::min<std::uint64_t>(size, sizeof all));
  to->size = size;
}

namespace {

nlohmann::json catalogue_json() {
  nlohmann::json all = nlohmann::json::object();
  for (const auto& entry : optim::catalogue()) {
    auto& one = all[entry.name] = {{"summary", entry.summary},
                                   {"family", optim::name_of(entry.family)},
                                   {"needs_residuals", entry.needs_residuals},
                                   {"on_device", static_cast<bool>(entry.construct_on_device)},
                                   {"options", nlohmann::json::array()}};
    for (const auto& option : entry.describe())
      one["options"].push_back({{"name", option.name},
                                {"type", option.type},
                                {"default", option.default_value},
                                {"range", option.range},
                                {"help", option.help}});
  }
  return all;
}

std::unique_ptr<lather_optimizer> make_optimizer(const char* settings, const char* blocks,
                                                 std::int32_t device) {
  if (device != LATHER_CPU && device != LATHER_CUDA)
    throw Error(fmt::format("device {}: expected LATHER_CPU or LATHER_CUDA", device));
  auto handle = std::make_unique<lather_optimizer>();
  const auto spec = optim::optimizer_spec(parse_object(settings, "optimizer"));
  handle->family = spec.entry().family;
  handle->name = spec.name;
  handle->device = device == LATHER_CUDA ? Device::cuda : Device::cpu;
  if (handle->device == Device::cuda)
    if (const auto cuda = cuda_report(); !cuda.usable) throw Error("device cuda: " + cuda.text);
  handle->optimizer = optim::make_composed(read_blocks(blocks), spec, handle->device);
  return handle;
}

void require_gradient_method(const lather_optimizer& handle) {
  if (handle.family != optim::Family::first_order && handle.family != optim::Family::kronecker)
    throw Error(
        fmt::format("{} asks for values and gradients at points of its own choice; steps by given gradients "
                    "are for first-order and Kronecker methods",
                    handle.name));
}

std::vector<optim::ForeignBlock> foreign_blocks(const lather_optimizer& handle, const lather_tensor* tensors,
                                                std::uint64_t count) {
  const auto& blocks = handle.optimizer->layout().blocks();
  if (count != blocks.size())
    throw Error(fmt::format("{} tensors for an optimizer of {} blocks", count, blocks.size()));
  std::vector<optim::ForeignBlock> list(count);
  for (std::size_t k = 0; k < count; ++k) {
    const auto& tensor = (&required(tensors, "tensors"))[k];
    if (tensor.type != LATHER_FLOAT64 && tensor.type != LATHER_FLOAT32)
      throw Error(fmt::format("tensor '{}': type {}: expected LATHER_FLOAT64 or LATHER_FLOAT32",
                              blocks[k].name, tensor.type));
    if (!tensor.parameter || !tensor.gradient)
      throw Error(fmt::format("tensor '{}': parameter or gradient is NULL", blocks[k].name));
    using Type = optim::ForeignBlock::Type;
    list[k] = {tensor.parameter, tensor.gradient,
               tensor.type == LATHER_FLOAT32 ? Type::float32 : Type::float64, tensor.count};
  }
  return list;
}

nlohmann::json optimizer_info(const lather_optimizer& handle) {
  nlohmann::json info = {{"name", handle.name},
                         {"memory_bytes", handle.optimizer->memory_bytes()},
                         {"diagnostics", nlohmann::json::array()}};
  for (const auto& d : handle.optimizer->diagnostics())
    info["diagnostics"].push_back(
        {{"block", std::string(d.block)}, {"quantity", std::string(d.quantity)}, {"value", d.value}});
  return info;
}

// Of a state: what its arrays belong to. Settings may change, a learning rate for instance.
std::uint64_t identity_of(const optim::ParameterLayout& layout) {
  std::string shapes;
  for (const auto& block : layout.blocks())
    shapes += fmt::format("{} {} {}\n", block.rows, block.cols, block.matrix);
  return checksum(shapes);
}

void load(optim::Optimizer& optimizer, std::string_view bytes) {
  train::Checkpoint saved;
  try {
    saved = train::decode_checkpoint(bytes);
  } catch (const Error& error) {
    throw Error("saved optimizer: " + error.message());
  }
  if (saved.identity != identity_of(optimizer.layout()))
    throw Error("saved optimizer: it was made for other blocks than this one");
  restore_state(optimizer, saved.state);
}

// A step that Ctrl-C breaks off has not been taken: the optimizer is as before. After a short step the
// next one is simply completed.
optim::StepReport whole_step(lather_optimizer& handle, optim::Objective& function, std::span<double> x) {
  constexpr double kShort = 0.05;  // seconds
  auto& method = *handle.optimizer;
  if (!StopScope::current()) return method.step(function, x);
  if (handle.seconds < kShort) {
    const auto completed = StopScope::only(nullptr);
    return method.step(function, x);
  }
  StateWriter writer;
  method.state(writer);
  try {
    return method.step(function, x);
  } catch (const Interrupted&) {
    StateReader reader(writer.bytes());
    method.state(reader);
    throw;
  }
}

}  // namespace

extern "C" {

std::int32_t lather_optimizer_catalogue(const char** json) {
  return guarded([&] { give_json(json, catalogue_json()); });
}

std::int32_t lather_optimizer_create(const char* settings, const char* blocks, std::int32_t device,
                                     lather_optimizer** optimizer) {
  return guarded([&] {
    required(optimizer, "the pointer for the result");
    *optimizer = make_optimizer(settings, blocks, device).release();
  });
}

void lather_optimizer_free(lather_optimizer* optimizer) { free_handle(optimizer); }

std::uint64_t lather_optimizer_size(const lather_optimizer* optimizer) {
  return size_of(optimizer, [](const lather_optimizer& handle) { return handle.optimizer->layout().size(); });
}

std::int32_t lather_optimizer_step(lather_optimizer* optimizer, lather_objective* objective, double* x,
                                   lather_step* step) {
  return guarded([&] {
    require_room(step);
    const In method(optimizer, "optimizer");
    const In function(objective, "objective");
    const std::span<double> point(&required(x, "x"), function->objective->size());
    std::vector<double> next(point.begin(), point.end());  // a step that fails leaves x alone
    const Stopwatch watch;
    const auto report = whole_step(*method, *function->objective, next);
    method->seconds = watch.seconds();
    std::copy(next.begin(), next.end(), point.begin());
    fill(step, report, 1);
  });
}

std::int32_t lather_optimizer_apply(lather_optimizer* optimizer, const lather_tensor* tensors,
                                    std::uint64_t count, double loss, void* stream, lather_step* step) {
  return guarded([&] {
    require_room(step);
    const In handle(optimizer, "optimizer");
    require_gradient_method(*handle);
    const auto blocks = foreign_blocks(*handle, tensors, count);
    if (!handle->foreign)
      handle->foreign = optim::make_foreign_parameters(handle->optimizer->layout(), handle->device);
    // An unknown loss is not an error; a gradient that is not finite is detected anyway.
    const double known = std::isnan(loss) ? 0 : loss;
    auto report = handle->foreign->step(*handle->optimizer, blocks, known, stream);
    report.loss = loss;
    fill(step, report, 1);
  });
}

std::int32_t lather_optimizer_set_rate_factor(lather_optimizer* optimizer, double factor) {
  return guarded([&] {
    if (!(factor >= 0) || std::isinf(factor))
      throw Error(fmt::format("learning-rate factor {}: expected a number of at least 0", factor));
    In(optimizer, "optimizer")->optimizer->set_learning_rate_factor(factor);
  });
}

std::int32_t lather_optimizer_objective_changed(lather_optimizer* optimizer) {
  return guarded([&] { In(optimizer, "optimizer")->optimizer->objective_changed(); });
}

std::int32_t lather_optimizer_info(const lather_optimizer* optimizer, const char** json) {
  return guarded([&] { give_json(json, optimizer_info(*In(optimizer, "optimizer"))); });
}

std::int32_t lather_optimizer_save(lather_optimizer* optimizer, const void** bytes, std::uint64_t* count) {
  return guarded([&] {
    required(bytes, "bytes");
    required(count, "count");
    const In handle(optimizer, "optimizer");
    StateWriter writer;
    handle->optimizer->state(writer);
    const auto identity = identity_of(handle->optimizer->layout());
    const auto& kept = keep_bytes(train::encode_checkpoint({0, identity, writer.bytes()}));
    *bytes = kept.data();
    *count = kept.size();
  });
}

std::int32_t lather_optimizer_load(lather_optimizer* optimizer, const void* bytes, std::uint64_t count) {
  return guarded([&] {
    if (!bytes) throw Error("bytes is NULL");
    load(*In(optimizer, "optimizer")->optimizer, {static_cast<const char*>(bytes), count});
  });
}

}  // extern "C"

}  // namespace lather::capi
