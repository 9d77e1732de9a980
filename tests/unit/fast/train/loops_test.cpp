#include "fast/train/loops.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "attn/random/random.hpp"
#include "tests/unit/fast/each_isa.hpp"

using attn::train::loops;

namespace {

constexpr std::size_t largest_size = 70, guard = 16;

/// Numbers with some behind them that nobody may write.
template <class T>
class Guarded {
 public:
  Guarded(std::size_t size, attn::Random* random, double deviation = 2)
      : size_(size), numbers_(size + guard, sentinel) {
    if (random)
      for (std::size_t i = 0; i < size; ++i) numbers_[i] = static_cast<T>(random->normal(0, deviation));
  }

  T* data() { return numbers_.data(); }
  T& operator[](std::size_t i) { return numbers_[i]; }
  long double at(std::size_t i) const { return numbers_[i]; }
  bool is_intact() const {
    return std::all_of(numbers_.begin() + static_cast<std::ptrdiff_t>(size_), numbers_.end(),
                       [](T number) { return number == sentinel; });
  }

 private:
  static constexpr T sentinel = T{123};
  std::size_t size_;
  std::vector<T> numbers_;
};

/// Whether the difference is a few units in the last place of `unit`.
template <class T>
bool is_near(T actual, long double expected, long double unit = 1, long double units = 4) {
  return std::abs(static_cast<long double>(actual) - expected) <=
         units * static_cast<long double>(std::numeric_limits<T>::epsilon()) * unit;
}

/// Small integers, so that sums are exact in any order.
template <class T>
std::vector<T> integers(std::size_t count, std::size_t step) {
  std::vector<T> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<T>(i * step % 7) - 3;
  return numbers;
}

template <class T>
T entry(const attn::fast::Matrix<T>& matrix, std::size_t row, std::size_t column) {
  return matrix.is_transposed ? matrix.data[column * matrix.row_length() + row]
                              : matrix.data[row * matrix.row_length() + column];
}

template <class T>
void check_product(const attn::fast::Matrix<T>& a, const attn::fast::Matrix<T>& b) {
  Guarded<T> sums(a.rows * b.columns, nullptr);
  auto expected = integers<T>(a.rows * b.columns, 5);
  std::copy(expected.begin(), expected.end(), sums.data());
  for (std::size_t row = 0; row < a.rows; ++row)
    for (std::size_t column = 0; column < b.columns; ++column)
      for (std::size_t i = 0; i < a.columns; ++i)
        expected[row * b.columns + column] += entry(a, row, i) * entry(b, i, column);
  loops<T>().add_product(a, b, sums.data());
  REQUIRE(std::equal(expected.begin(), expected.end(), sums.data()));
  REQUIRE(sums.is_intact());
}

long double sigmoid_of(long double x) {
  return 1 / (1 + std::exp(-x));
}

}  // namespace

TEMPLATE_TEST_CASE("training loops: tanh and softmax of every size follow the standard library's", "", float,
                   double) {
  for_each_isa([] {
    attn::RandomState random(1);
    for (std::size_t size = 1; size <= largest_size; ++size) {
      Guarded<TestType> x(size, &random, 4), y(size, nullptr), share(size, nullptr);
      loops<TestType>().tanh(size, x.data(), y.data());
      const auto [largest, total] = loops<TestType>().softmax(size, x.data(), share.data());
      REQUIRE(largest == *std::max_element(x.data(), x.data() + size));
      long double expected_total = 0;
      for (std::size_t i = 0; i < size; ++i)
        expected_total += std::exp(x.at(i) - static_cast<long double>(largest));
      REQUIRE(is_near(total, expected_total, expected_total, 10));
      for (std::size_t i = 0; i < size; ++i) {
        REQUIRE(is_near(y[i], std::tanh(x.at(i))));
        const long double moved = x.at(i) - static_cast<long double>(largest);
        const long double expected = std::exp(moved) / expected_total;
        REQUIRE(is_near(share[i], expected, expected, 15 + std::abs(moved)));
      }
      REQUIRE(y.is_intact());
      REQUIRE(share.is_intact());
      loops<TestType>().softmax(size, x.data(), x.data());
      REQUIRE(std::equal(x.data(), x.data() + size, share.data()));
    }
  });
}

TEMPLATE_TEST_CASE("training loops: tanh of large numbers is ± 1, and exp far below the largest 0", "", float,
                   double) {
  for_each_isa([] {
    std::vector<TestType> x = {-1e30F, -1000, -50, 0, 50, 1000, 1e30F}, y(7), share(7);
    loops<TestType>().tanh(7, x.data(), y.data());
    CHECK(y == std::vector<TestType>{-1, -1, -1, 0, 1, 1, 1});
    std::vector<TestType> below = {0, -5000, -1e30F, -std::numeric_limits<TestType>::max(), 0, 0, -20000};
    const auto [largest, total] = loops<TestType>().softmax(7, below.data(), share.data());
    CHECK(largest == 0);
    CHECK(total == 3);
    const TestType third = TestType{1} / 3;
    CHECK(share == std::vector<TestType>{third, 0, 0, 0, third, third, 0});
  });
}

TEMPLATE_TEST_CASE("training loops: dot products and sums of every size", "", float, double) {
  for_each_isa([] {
    attn::RandomState random(2);
    for (std::size_t size = 0; size <= largest_size; ++size) {
      Guarded<TestType> a(size, &random), b(size, &random);
      const auto before = b;
      long double product = 0, magnitude = 0;
      for (std::size_t i = 0; i < size; ++i) {
        product += a.at(i) * b.at(i);
        magnitude += std::abs(a.at(i) * b.at(i));
      }
      REQUIRE(is_near(loops<TestType>().dot(size, a.data(), b.data()), product, magnitude, 10));
      loops<TestType>().add_scaled(size, TestType{-0.75}, a.data(), b.data());
      for (std::size_t i = 0; i < size; ++i)
        REQUIRE(is_near(b[i], before.at(i) - 0.75L * a.at(i), std::abs(before.at(i)) + std::abs(a.at(i))));
      REQUIRE(b.is_intact());
    }
  });
}

TEMPLATE_TEST_CASE("training loops: matrix products in all forms", "", float, double) {
  struct Sizes {
    std::size_t rows, inner, columns;
  };
  for_each_isa([] {
    for (const auto [rows, inner, columns] : {Sizes{1, 1, 1},
                                              {3, 4, 5},
                                              {64, 48, 192},
                                              {7, 129, 65},
                                              {13, 300, 131},
                                              {33, 31, 17},
                                              {0, 4, 5},
                                              {4, 0, 5},
                                              {4, 5, 0}}) {
      const auto a = integers<TestType>(rows * inner, 3);
      const auto b = integers<TestType>(inner * columns, 4);
      const auto matrix = [](const auto& numbers, std::size_t n, std::size_t m) {
        return attn::fast::Matrix<TestType>{.data = numbers.data(), .rows = n, .columns = m};
      };
      const auto left = matrix(a, rows, inner), left_turned = transposed(matrix(a, inner, rows));
      const auto right = matrix(b, inner, columns), right_turned = transposed(matrix(b, columns, inner));
      check_product(left, right);
      check_product(left, right_turned);
      check_product(left_turned, right);
      check_product(left_turned, right_turned);
    }
  });
}

TEMPLATE_TEST_CASE("training loops: additive scores of every width, and their backward", "", float, double) {
  constexpr std::size_t keys = 3, gap = 2;
  for_each_isa([] {
    attn::RandomState random(3);
    for (std::size_t width = 1; width <= largest_size; ++width) {
      const std::size_t stride = width + gap;
      Guarded<TestType> query(width, &random), key(keys * stride, &random), v(width, &random),
          hidden(keys * width, nullptr), score(keys, nullptr);
      loops<TestType>().additive_scores(width, keys, query.data(), {key.data(), stride}, v.data(),
                                        hidden.data(), score.data());
      Guarded<TestType> d_query(width, &random), d_key(keys * stride, &random), d_v(width, &random),
          d_score(keys, &random);
      const auto query_before = d_query, key_before = d_key, v_before = d_v;
      loops<TestType>().additive_scores_backward(width, keys, d_score.data(), hidden.data(), v.data(),
                                                 d_query.data(), {d_key.data(), stride}, d_v.data());
      std::vector<long double> of_score(keys), of_query(width), of_v(width);
      for (std::size_t i = 0; i < keys; ++i) {
        for (std::size_t k = 0; k < width; ++k) {
          const long double sum = query.at(k) + key.at(i * stride + k), h = hidden.at(i * width + k);
          REQUIRE(is_near(hidden[i * width + k], std::tanh(sum), 1 + std::abs(sum)));
          const long double slope = d_score.at(i) * v.at(k) * (1 - h * h);
          REQUIRE(is_near(d_key[i * stride + k], key_before.at(i * stride + k) + slope, 20));
          of_score[i] += v.at(k) * std::tanh(sum);
          of_query[k] += slope;
          of_v[k] += d_score.at(i) * h;
        }
        REQUIRE(is_near(score[i], of_score[i], 20 * static_cast<long double>(width), 10));
        for (std::size_t k = width; k < stride; ++k)
          REQUIRE(d_key.at(i * stride + k) == key_before.at(i * stride + k));
      }
      for (std::size_t k = 0; k < width; ++k) {
        REQUIRE(is_near(d_query[k], query_before.at(k) + of_query[k], 40));
        REQUIRE(is_near(d_v[k], v_before.at(k) + of_v[k], 40));
      }
      REQUIRE((hidden.is_intact() && score.is_intact() && d_query.is_intact()));
      REQUIRE((d_key.is_intact() && d_v.is_intact()));
    }
  });
}

TEMPLATE_TEST_CASE("training loops: weighted sums of every width, and their backward", "", float, double) {
  constexpr std::size_t rows = 3, gap = 2;
  for_each_isa([] {
    attn::RandomState random(6);
    for (std::size_t width = 1; width <= largest_size; ++width) {
      const std::size_t stride = width + gap;
      Guarded<TestType> weight(rows, &random), row(rows * stride, &random), sum(width, nullptr);
      loops<TestType>().weighted_sum(width, rows, weight.data(), {row.data(), stride}, sum.data());
      Guarded<TestType> d_sum(width, &random), d_weight(rows, &random), d_row(rows * stride, &random);
      const auto weight_before = d_weight, row_before = d_row;
      loops<TestType>().weighted_sum_backward(width, rows, weight.data(), {row.data(), stride}, d_sum.data(),
                                              d_weight.data(), {d_row.data(), stride});
      for (std::size_t k = 0; k < width; ++k) {
        long double expected = 0;
        for (std::size_t i = 0; i < rows; ++i) {
          const std::size_t at = i * stride + k;
          expected += weight.at(i) * row.at(at);
          REQUIRE(is_near(d_row[at], row_before.at(at) + weight.at(i) * d_sum.at(k), 20));
        }
        REQUIRE(is_near(sum[k], expected, 40));
      }
      for (std::size_t i = 0; i < rows; ++i) {
        long double expected = weight_before.at(i);
        for (std::size_t k = 0; k < width; ++k) expected += d_sum.at(k) * row.at(i * stride + k);
        REQUIRE(is_near(d_weight[i], expected, 20 * static_cast<long double>(width), 10));
        for (std::size_t k = width; k < stride; ++k)
          REQUIRE(d_row.at(i * stride + k) == row_before.at(i * stride + k));
      }
      REQUIRE((sum.is_intact() && d_weight.is_intact() && d_row.is_intact()));
    }
  });
}

TEMPLATE_TEST_CASE("training loops: an LSTM cell of every size, and its backward", "", float, double) {
  for_each_isa([] {
    attn::RandomState random(4);
    for (std::size_t size = 1; size <= largest_size; ++size) {
      Guarded<TestType> gates(4 * size, &random), before(size, &random), c(size, nullptr),
          shown(size, nullptr), h(size, nullptr);
      const auto sums = gates;
      loops<TestType>().lstm_forward(size, gates.data(), before.data(), c.data(), shown.data(), h.data());
      Guarded<TestType> d_h(size, &random), d_c(size, &random), d_before(size, &random),
          d_sums(4 * size, nullptr);
      const auto added_to = d_before;
      loops<TestType>().lstm_backward(size, gates.data(), before.data(), shown.data(), d_h.data(), d_c.data(),
                                      d_before.data(), d_sums.data());
      loops<TestType>().lstm_backward(size, gates.data(), before.data(), shown.data(), d_h.data(), d_c.data(),
                                      nullptr, d_sums.data());
      for (std::size_t k = 0; k < size; ++k) {
        const long double i = sigmoid_of(sums.at(k)), f = sigmoid_of(sums.at(size + k));
        const long double g = std::tanh(sums.at(2 * size + k)), o = sigmoid_of(sums.at(3 * size + k));
        const long double cell = f * before.at(k) + i * g, tanh_c = std::tanh(cell);
        const long double unit = 2 + std::abs(cell);
        REQUIRE(is_near(gates[k], i, 4));
        REQUIRE(is_near(gates[size + k], f, 4));
        REQUIRE(is_near(gates[2 * size + k], g, 4));
        REQUIRE(is_near(gates[3 * size + k], o, 4));
        REQUIRE(is_near(c[k], cell, unit, 20));
        REQUIRE(is_near(shown[k], tanh_c, unit, 20));
        REQUIRE(is_near(h[k], o * tanh_c, unit, 20));
        const long double d_cell = d_c.at(k) + d_h.at(k) * o * (1 - tanh_c * tanh_c);
        const long double scale = (1 + std::abs(d_cell) + std::abs(d_h.at(k))) * (1 + std::abs(before.at(k)));
        REQUIRE(is_near(d_before[k], added_to.at(k) + d_cell * f, scale * unit, 40));
        REQUIRE(is_near(d_sums[k], d_cell * g * i * (1 - i), scale * unit, 40));
        REQUIRE(is_near(d_sums[size + k], d_cell * before.at(k) * f * (1 - f), scale * unit, 40));
        REQUIRE(is_near(d_sums[2 * size + k], d_cell * i * (1 - g * g), scale * unit, 40));
        REQUIRE(is_near(d_sums[3 * size + k], d_h.at(k) * tanh_c * o * (1 - o), scale * unit, 40));
      }
      REQUIRE((gates.is_intact() && c.is_intact() && shown.is_intact() && h.is_intact()));
      REQUIRE((d_before.is_intact() && d_sums.is_intact()));
    }
  });
}

TEMPLATE_TEST_CASE("training loops: a step of Adam of every size", "", float, double) {
  for_each_isa([] {
    attn::RandomState random(5);
    attn::train::AdamStep<TestType> step;
    step.rate = static_cast<TestType>(0.01);
    step.first_decay = static_cast<TestType>(0.9);
    step.second_decay = static_cast<TestType>(0.999);
    step.epsilon = static_cast<TestType>(1e-8);
    step.gradient_scale = static_cast<TestType>(0.5);
    for (std::size_t size = 1; size <= largest_size; ++size) {
      Guarded<TestType> gradient(size, &random), first(size, &random), second(size, &random),
          weight(size, &random);
      for (std::size_t i = 0; i < size; ++i) second[i] = std::abs(second[i]) + TestType{0.5};
      const auto first_before = first, second_before = second, weight_before = weight;
      loops<TestType>().adam(size, step, gradient.data(), first.data(), second.data(), weight.data());
      for (std::size_t i = 0; i < size; ++i) {
        const long double g = gradient.at(i) / 2, decay = step.first_decay, second_decay = step.second_decay;
        const long double m = decay * first_before.at(i) + (1 - decay) * g;
        const long double v = second_decay * second_before.at(i) + (1 - second_decay) * g * g;
        REQUIRE(is_near(first[i], m, 10));
        REQUIRE(is_near(second[i], v, 10));
        REQUIRE(is_near(weight[i], weight_before.at(i) - step.rate * m / (std::sqrt(v) + step.epsilon), 10));
      }
      REQUIRE((first.is_intact() && second.is_intact() && weight.is_intact()));
    }
  });
}
