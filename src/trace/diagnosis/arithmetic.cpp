#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <utility>

#include "trace/diagnosis/catalogue.hpp"
#include "trace/diagnosis/dump.hpp"
#include "trace/diagnosis/replay.hpp"
#include "trace/number.hpp"

namespace attn {

namespace {

constexpr std::array by_width = {Dtype::bfloat16, Dtype::float16, Dtype::float32, Dtype::float64};

bool is_narrower(Dtype a, Dtype b) {
  return std::find(by_width.begin(), by_width.end(), a) < std::find(by_width.begin(), by_width.end(), b);
}

/// The float32 number that is printed as the decimal x; x itself where there is none.
double read_as_float32(double x) {
  const auto rounded = round_to(Dtype::float32, x);
  return with_fewest_digits(rounded, Dtype::float32) == x ? rounded : x;
}

/// Whether x is a number of that type, or the decimal that a float32 which holds such a number is printed as.
bool is_number_of(Dtype dtype, double x) {
  if (!std::isfinite(x) || round_to(dtype, x) == x) return true;
  const auto printed = read_as_float32(x);
  return round_to(dtype, printed) == printed;
}

/// Numbers that every type has tell nothing: small integers, and 0.75 and others of few binary digits.
bool tells_its_type(double x) {
  constexpr double largest_small = 256.0;
  constexpr int few_digits = 5;
  const auto has_no_more = [](double digits) { return std::trunc(digits) == digits; };
  int exponent = 0;
  return std::isfinite(x) && !(has_no_more(x) && std::abs(x) <= largest_small) &&
         !has_no_more(std::ldexp(std::frexp(x, &exponent), few_digits));
}

/// The type of the entries of tensors that are stored as float64 or float32.
Dtype type_of_entries(const std::vector<double>& entries, Dtype stored) {
  constexpr std::ptrdiff_t fewest_entries = 2;  // each has 13 more digits by chance once in 8192 times
  if (std::count_if(entries.begin(), entries.end(), tells_its_type) < fewest_entries) return stored;
  const auto* const narrowest = std::find_if(by_width.begin(), by_width.end(), [&](Dtype dtype) {
    return std::all_of(entries.begin(), entries.end(), [&](double x) { return is_number_of(dtype, x); });
  });
  return is_narrower(*narrowest, stored) ? *narrowest : stored;
}

/// Fractions of a small denominator come from whole numbers, in which many steps of an exercise may be.
bool is_simple_fraction(double x) {
  constexpr double denominator = 32.0;
  return std::trunc(x * denominator) == x * denominator;
}

/// The half-precision type of some tensors beside others that are kept wider, as autocast keeps softmax:
/// those of which every number is of that type, with enough numbers that tell. Float64 where there is none.
Dtype half_of_some(const std::vector<std::vector<double>>& tensors) {
  constexpr std::ptrdiff_t fewest_entries = 16;
  const auto tells = [](double x) { return tells_its_type(x) && !is_simple_fraction(x); };
  for (const auto dtype : {Dtype::bfloat16, Dtype::float16}) {
    std::ptrdiff_t count = 0;
    for (const auto& entries : tensors)
      if (std::all_of(entries.begin(), entries.end(), [&](double x) { return is_number_of(dtype, x); }))
        count += std::count_if(entries.begin(), entries.end(), tells);
    if (count >= fewest_entries) return dtype;
  }
  return Dtype::float64;
}

constexpr int fewest_decimals = 2, most_decimals = 9;
constexpr std::ptrdiff_t fewest_numbers = 8;  // that are no fractions of a power of 2
constexpr int replays_of_rounded = 4;         // with numbers moved at random
constexpr double moves_of_decimals = 4.0;

double unit_of_decimals(int decimals) {
  return std::pow(10.0, -decimals);
}

/// Decimals of the shortest text that is read as the number.
int decimals_of_number(double number, Dtype dtype) {
  for (int decimals = 0; decimals <= most_decimals; ++decimals) {
    const double rounded = rounded_to_decimals(number, decimals);
    if (rounded == number || round_to(dtype, rounded) == number) return decimals;
  }
  return most_decimals + 1;
}

/// Such as 0.375, which arithmetic in whole numbers gives as well.
bool is_fraction_of_power_of_two(double number) {
  constexpr double denominator = 1024.0;
  return std::trunc(number * denominator) == number * denominator;
}

/// Whether what is lost after so many decimals is more than rounding to the type loses.
bool is_coarser_than(Dtype dtype, double largest, int decimals) {
  return unit_of_decimals(decimals) > 4.0 * unit_of(dtype) * largest;
}

}  // namespace

Dtype arithmetic_of(const std::vector<const AnyTensor*>& computed) {
  std::map<Dtype, std::vector<double>> entries;
  std::vector<std::vector<double>> tensors;
  for (const auto* tensor : computed) {
    if (!is_floating(tensor->dtype())) continue;
    const auto* const begin = static_cast<const double*>(tensor->view().data);
    tensors.emplace_back(begin, begin + element_count(tensor->shape()));
    auto& of_type = entries[tensor->dtype()];
    of_type.insert(of_type.end(), tensors.back().begin(), tensors.back().end());
  }
  auto narrowest = half_of_some(tensors);
  for (const auto& [stored, of_type] : entries) {
    const bool is_half = stored == Dtype::float16 || stored == Dtype::bfloat16;
    const auto dtype = is_half ? stored : type_of_entries(of_type, stored);
    if (is_narrower(dtype, narrowest)) narrowest = dtype;
  }
  return narrowest;
}

std::optional<Dtype> half_precision_of(const AnyTensor& tensor, const std::vector<double>& right) {
  constexpr std::ptrdiff_t fewest_entries = 2;
  constexpr double rounding_of_float32 = 1e-5;
  if (!is_floating(tensor.dtype()) || element_count(tensor.shape()) != right.size()) return std::nullopt;
  const auto* const theirs = static_cast<const double*>(tensor.view().data);
  const auto* const end = theirs + right.size();
  const auto is_other = [](double a, double b) {
    return std::abs(a - b) > rounding_of_float32 * std::abs(b);
  };
  if (std::equal(theirs, end, right.begin(), [&](double a, double b) { return !is_other(a, b); }) ||
      std::count_if(theirs, end, tells_its_type) < fewest_entries)
    return std::nullopt;
  for (const auto dtype : {Dtype::float16, Dtype::bfloat16})
    if (std::equal(theirs, end, right.begin(), [&](double a, double b) { return a == round_to(dtype, b); }))
      return dtype;
  return std::nullopt;
}

double rounded_to_decimals(double number, int decimals) {
  if (!std::isfinite(number)) return number;
  return std::stod(fmt::format("{:.{}f}", number, decimals));
}

std::optional<int> decimals_of(const std::vector<const AnyTensor*>& tensors) {
  int most = 0;
  std::ptrdiff_t telling = 0;
  for (const auto* tensor : tensors) {
    if (!is_floating(tensor->dtype())) continue;
    double largest = 0.0;
    int of_tensor = 0;
    for (std::size_t i = 0; i < element_count(tensor->shape()); ++i) {
      const double number = tensor->view().at(i);
      if (!std::isfinite(number)) continue;
      of_tensor = std::max(of_tensor, decimals_of_number(number, tensor->dtype()));
      if (of_tensor > most_decimals) return std::nullopt;
      largest = std::max(largest, std::abs(number));
      if (!is_fraction_of_power_of_two(number)) ++telling;
    }
    if (!is_coarser_than(tensor->dtype(), largest, of_tensor)) return std::nullopt;
    most = std::max(most, of_tensor);
  }
  if (most < fewest_decimals || telling < fewest_numbers) return std::nullopt;
  return most;
}

Tolerances tolerance_of_decimals(const Dump& dump, const Rerun& rerun, const Hypothesis& hypothesis,
                                 const Predictions& still) {
  constexpr double of_the_text = 1.0 + 1e-6;  // its last digit is read as the nearest number
  const double half = 0.5 * unit_of_decimals(*dump.decimals) * of_the_text;
  Tolerances tolerance;
  for (const auto& step : still) tolerance[step.id].resize(step.expected.size());
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> direction(-half, half);
  const auto move = [&](double* numbers, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      if (numbers[i] != 0.0 && std::isfinite(numbers[i])) numbers[i] += direction(random);
  };
  for (int replay = 0; replay < replays_of_rounded; ++replay) {
    auto moved_steps = dump.tensors;
    for (auto& [id, tensor] : moved_steps)
      if (is_floating(tensor.dtype())) move(tensor.elements<double>(), element_count(tensor.shape()));
    const auto with_moved_inputs = [&](const Watch& watch) {
      rerun([&](const Tapped& tapped) {
        if (tapped.kind == Kind::input && is_floating(tapped.dtype) &&
            contains(dump.rounded_inputs, tapped.id))
          move(static_cast<double*>(tapped.elements), element_count(tapped.shape));
        watch(tapped);
      });
    };
    note_moves(still, Replay(with_moved_inputs, moved_steps).predict(hypothesis), tolerance);
  }
  for (const auto& step : still) {
    auto& of_step = tolerance[step.id];
    const auto length =
        step.expected_shape.empty() ? 1 : std::max(step.expected_shape.back(), std::size_t{1});
    for (auto* row = of_step.data(); row != of_step.data() + of_step.size(); row += length)
      std::fill_n(row, length, moves_of_decimals * *std::max_element(row, row + length) + half);
  }
  return tolerance;
}

}  // namespace attn
