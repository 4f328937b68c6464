#include "lather/experiment/kept_fields.hpp"

#include <nlohmann/json.hpp>
#include <vector>

#include "lather/report/run_data.hpp"

namespace lather::experiment {

namespace {

using Json = nlohmann::json;

// For every axis, how many points to go from one that is kept to the next.
std::vector<std::size_t> strides_of(const Json& axes) {
  std::vector<std::size_t> strides;
  for (const auto& axis : axes) {
    std::size_t stride = 1;
    const std::size_t cells = axis.empty() ? 0 : axis.size() - 1;
    while (cells / stride + 1 > kMostMapPoints && cells % (2 * stride) == 0) stride *= 2;
    strides.push_back(stride);
  }
  return strides;
}

// Array indices, first coordinate slowest, that are kept.
std::vector<std::size_t> kept_places(const Json& axes, const std::vector<std::size_t>& strides) {
  std::vector<std::size_t> places{0};
  for (std::size_t k = 0; k < axes.size(); ++k) {
    std::vector<std::size_t> finer;
    for (const std::size_t place : places)
      for (std::size_t i = 0; i < axes[k].size(); i += strides[k])
        finer.push_back(place * axes[k].size() + i);
    places = std::move(finer);
  }
  return places;
}

Json kept(const Json& array, const std::vector<std::size_t>& places) {
  Json list = Json::array();
  for (const std::size_t place : places) {
    const Json& value = array.at(place);
    list.push_back(value.is_number_float() ? Json(report::six_digits(value.get<double>())) : value);
  }
  return list;
}

}  // namespace

Json kept_fields(const Json& fields) {
  Json result = fields;
  const auto strides = strides_of(fields.at("axes"));
  const auto places = kept_places(fields.at("axes"), strides);
  for (std::size_t k = 0; k < strides.size(); ++k) {
    std::vector<std::size_t> along;
    for (std::size_t i = 0; i < fields["axes"][k].size(); i += strides[k]) along.push_back(i);
    result["axes"][k] = kept(fields["axes"][k], along);
  }
  for (const char* kind : {"arrays", "physical"}) {
    if (!fields.contains(kind)) continue;
    result[kind] = Json::object();
    for (const auto& [name, array] : fields[kind].items())
      if (!name.starts_with("residual.")) result[kind][name] = kept(array, places);
  }
  return result;
}

}  // namespace lather::experiment
