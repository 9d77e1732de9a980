#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "attn/tensor.hpp"
#include "tests/unit/numbers.hpp"

/// Reads what tests/fixtures/make_ops.py wrote.
namespace fixture {

using nlohmann::json;

/// The cases of one subject.
inline json cases(const std::string& subject) {
  std::ifstream file(ATTN_FIXTURES "/ops.json");
  return json::parse(file).at(subject);
}

/// The cases of one subject whose tensor `name` has rank N.
template <std::size_t N>
std::vector<json> cases_of_rank(const std::string& subject, const std::string& name) {
  std::vector<json> selected;
  for (const auto& one : cases(subject))
    if (one.at(name).at("shape").size() == N) selected.push_back(one);
  return selected;
}

template <class T, std::size_t N>
attn::Array<T, N> tensor(const json& value) {
  attn::Array<T, N> result(value.at("shape").get<std::array<std::size_t, N>>());
  const json& data = value.at("data");
  for (std::size_t i = 0; i < result.size(); ++i) result.data()[i] = data.at(i).get<T>();
  return result;
}

template <std::size_t N>
attn::Tensor<N> tensor(const json& value) {
  return tensor<double, N>(value);
}

/// A mask [batch×query×key], or none where the fixture says null.
inline std::optional<attn::Mask<3>> mask(const json& value) {
  if (value.is_null()) return std::nullopt;
  return tensor<bool, 3>(value);
}

/// How closely an element type can follow a fixture, relative to the largest element expected.
template <class T>
constexpr double tolerance = std::is_same_v<T, double> ? 1e-10 : 1e-5;

/// The largest difference over the largest |expected|; infinite for another shape or a NaN.
template <class T, std::size_t N>
double relative_error(const attn::Array<T, N>& actual, const attn::Tensor<N>& expected) {
  if (actual.shape() != expected.shape()) return infinity;
  const double error = largest_difference(actual, expected);
  return error == 0.0 ? 0.0 : error / largest(expected);
}

template <class T, std::size_t N>
double relative_error(const attn::Array<T, N>& actual, const json& expected) {
  return relative_error(actual, tensor<double, N>(expected));
}

}  // namespace fixture
