#include "trace/diff/element_diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <type_traits>

#include "trace/number.hpp"

namespace attn {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

template <class T>
std::span<const T> elements_of(const TensorView& tensor) {
  return {static_cast<const T*>(tensor.data), element_count(tensor.shape)};
}

/// Calls `visit` with the elements in their own type.
template <class Visitor>
auto visit_elements(const TensorView& tensor, Visitor visit) {
  switch (tensor.dtype) {
    case Dtype::int64:
      return visit(elements_of<std::int64_t>(tensor));
    case Dtype::boolean:
      return visit(elements_of<bool>(tensor));
    default:
      return visit(elements_of<double>(tensor));
  }
}

template <class A, class B>
constexpr bool are_integers = std::is_integral_v<A>&& std::is_integral_v<B>;

template <class A, class B>
bool are_same(A a, B b) {
  if constexpr (are_integers<A, B>) {
    return std::int64_t{a} == std::int64_t{b};
  } else {
    const auto x = static_cast<double>(a), y = static_cast<double>(b);
    return x == y || (x != x && y != y);
  }
}

/// |a − b|, rounded once; infinite where there is no such number.
template <class A, class B>
double distance(A a, B b) {
  if constexpr (are_integers<A, B>) {
    const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
    return static_cast<double>(std::int64_t{a} > std::int64_t{b} ? x - y : y - x);
  } else {
    const double difference = std::abs(static_cast<double>(a) - static_cast<double>(b));
    return std::isnan(difference) ? infinite : difference;
  }
}

/// The largest finite magnitude in a row, or of a single element.
template <class T>
double largest_magnitude(std::span<const T> row) {
  double largest = 0.0;
  for (const auto element : row)
    if (const double size = std::abs(static_cast<double>(element)); std::isfinite(size))
      largest = std::max(largest, size);
  return largest;
}

template <class A, class B>
void add_unequal(ElementDiff& diff, std::size_t offset, A a, B b, const Tolerance& tolerance, double scale) {
  const double absolute = distance(a, b), size = std::abs(static_cast<double>(b));
  if (absolute > diff.max_absolute) diff.farthest = offset;
  diff.max_absolute = std::max(diff.max_absolute, absolute);
  if (absolute == infinite)
    diff.max_relative = infinite;
  else if (size > 0.0)
    diff.max_relative = std::max(diff.max_relative, absolute / size);
  ++diff.unequal;
  if (!tolerance.allows(absolute, scale) && diff.beyond++ == 0) diff.first = offset;
}

template <class A, class B>
ElementDiff compare(std::span<const A> a, std::span<const B> b, std::size_t row_length,
                    const Tolerance& tolerance) {
  ElementDiff diff;
  if constexpr (std::is_same_v<A, B>)
    if (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0) return diff;
  for (std::size_t begin = 0; begin < a.size(); begin += row_length) {
    std::optional<double> of_row;
    for (std::size_t i = begin; i < begin + row_length; ++i) {
      if (are_same(a[i], b[i])) continue;
      if (tolerance.is_of_row && !of_row) of_row = largest_magnitude(b.subspan(begin, row_length));
      add_unequal(diff, i, a[i], b[i], tolerance, of_row.value_or(std::abs(static_cast<double>(b[i]))));
    }
  }
  return diff;
}

/// In its own type, or in float64 where it is shown beside one of another type.
Number number_at(const TensorView& tensor, std::size_t offset, bool in_own_type) {
  if (!in_own_type) return tensor.at(offset);
  switch (tensor.dtype) {
    case Dtype::int64:
      return static_cast<const std::int64_t*>(tensor.data)[offset];
    case Dtype::boolean:
      return static_cast<const bool*>(tensor.data)[offset];
    default:
      return with_fewest_digits(tensor.at(offset), tensor.dtype);
  }
}

}  // namespace

bool Tolerance::accepts(double a, double b) const {
  if (a == b || (std::isnan(a) && std::isnan(b))) return true;
  const double distance = std::abs(a - b);
  return allows(std::isnan(distance) ? std::numeric_limits<double>::infinity() : distance, b);
}

bool Tolerance::allows(double distance, double b) const {
  return std::isfinite(distance) && distance <= absolute + relative * std::abs(b);
}

Tolerance default_tolerance(std::string_view dtype) {
  if (dtype == "float64") return {1e-12, 1e-10, true};
  if (dtype == "float32") return {1e-6, 1e-5, true};
  if (dtype == "float16") return {1e-3, 1e-3, true};
  if (dtype == "bfloat16") return {1e-2, 1e-2, true};
  return {};
}

Tolerance default_tolerance(std::string_view dtype_a, std::string_view dtype_b) {
  const auto a = default_tolerance(dtype_a), b = default_tolerance(dtype_b);
  return {std::max(a.absolute, b.absolute), std::max(a.relative, b.relative), a.is_of_row || b.is_of_row};
}

std::string to_string(const Number& number) {
  return std::visit([](auto value) { return fmt::format("{}", value); }, number);
}

ElementDiff compare_elements(const TensorView& a, const TensorView& b, const Tolerance& tolerance) {
  if (a.shape != b.shape)
    throw std::invalid_argument(
        fmt::format("[compare_elements] {} beside {}", to_string(a.shape), to_string(b.shape)));
  const auto row_length = a.shape.empty() ? 1 : std::max<std::size_t>(1, a.shape.back());
  auto diff = visit_elements(a, [&](auto from_a) {
    return visit_elements(b, [&](auto from_b) { return compare(from_a, from_b, row_length, tolerance); });
  });
  if (diff.beyond > 0) {
    diff.first_a = number_at(a, diff.first, a.dtype == b.dtype);
    diff.first_b = number_at(b, diff.first, a.dtype == b.dtype);
  }
  return diff;
}

}  // namespace attn
