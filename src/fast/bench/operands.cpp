#include "fast/bench/operands.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>

namespace attn::bench {

namespace {

constexpr double rise_per_key = 0.1;

/// For the check of all queries: a fraction of a second of plain loops.
constexpr double most_multiply_adds = 5e7;
constexpr std::size_t fewest_queries = 3;

using Shape4 = std::array<std::size_t, 4>;

/// The first component of each query is √d_k and that of key j is 0.1 · j, so that, divided by √d_k, they add
/// 0.1 · j to the score.
template <class T>
void make_scores_rise(Operands<T>& operands) {
  const std::size_t n_k = operands.key.shape(2), d_k = operands.key.shape(3);
  for (std::size_t i = 0; i < operands.query.size(); i += d_k)
    operands.query.data()[i] = static_cast<T>(std::sqrt(static_cast<double>(d_k)));
  for (std::size_t row = 0; row * d_k < operands.key.size(); ++row)
    operands.key.data()[row * d_k] = static_cast<T>(rise_per_key * static_cast<double>(row % n_k));
}

template <class T>
void clear_unchecked_rows(Array<T, 4>& d_output, const Setting& setting) {
  const auto checked = checked_queries(setting);
  for (std::size_t head = 0; head < setting.heads; ++head)
    for (std::size_t query = 0; query < setting.n; ++query)
      if (!std::binary_search(checked.begin(), checked.end(), query))
        std::fill_n(&d_output(0, head, query, 0), setting.d_v, T{0});
}

}  // namespace

double nearly_normal(std::uint64_t bits) {
  const auto sum =
      static_cast<double>((bits & 0xFFFF) + (bits >> 16 & 0xFFFF) + (bits >> 32 & 0xFFFF) + (bits >> 48));
  return (sum / 65535.0 - 2.0) * std::sqrt(3.0);
}

template <class T>
Operands<T> draw_operands(const Setting& setting) {
  const std::size_t n = setting.n, d_k = setting.d_k, d_v = setting.d_v;
  std::mt19937_64 generator(42);
  const auto drawn = [&](std::size_t heads, std::size_t width) {
    Array<T, 4> tensor(Shape4{1, heads, n, width});
    for (T& element : tensor) element = static_cast<T>(nearly_normal(generator()));
    return tensor;
  };
  const auto zeros = [&](std::size_t heads, std::size_t width) {
    return Array<T, 4>(Shape4{1, heads, n, width}, T{0});
  };

  Operands<T> operands;
  operands.query = drawn(setting.heads, d_k);
  operands.key = drawn(setting.kv_heads, d_k);
  operands.value = drawn(setting.kv_heads, d_v);
  operands.output = zeros(setting.heads, d_v);
  operands.log_sum_exp = Array<T, 3>({1, setting.heads, n}, T{0});
  if (setting.scores == Scores::rising) make_scores_rise(operands);
  if (!setting.backward) return operands;
  operands.d_output = drawn(setting.heads, d_v);
  clear_unchecked_rows(operands.d_output, setting);
  operands.d_query = zeros(setting.heads, d_k);
  operands.d_key = zeros(setting.kv_heads, d_k);
  operands.d_value = zeros(setting.kv_heads, d_v);
  return operands;
}

double operand_bytes(const Setting& setting, std::size_t element_size) {
  const double passes = setting.backward ? 2.0 : 1.0;
  const auto d_k = static_cast<double>(setting.d_k), d_v = static_cast<double>(setting.d_v);
  const double a_head = passes * (d_k + d_v) + 1.0, a_kv_head = passes * (d_k + d_v);
  const double a_token =
      static_cast<double>(setting.heads) * a_head + static_cast<double>(setting.kv_heads) * a_kv_head;
  return static_cast<double>(setting.n) * a_token * static_cast<double>(element_size);
}

std::vector<std::size_t> checked_queries(const Setting& setting) {
  const double for_each =
      static_cast<double>(setting.n) * static_cast<double>(setting.heads * (setting.d_k + setting.d_v));
  const auto affordable = static_cast<std::size_t>(most_multiply_adds / for_each);
  const std::size_t count = std::min(setting.n, std::max(fewest_queries, affordable));
  std::vector<std::size_t> queries;
  for (std::size_t i = 0; i < count; ++i)
    queries.push_back(count == 1 ? 0 : i * (setting.n - 1) / (count - 1));
  return queries;
}

template Operands<float> draw_operands(const Setting&);
template Operands<double> draw_operands(const Setting&);

}  // namespace attn::bench
