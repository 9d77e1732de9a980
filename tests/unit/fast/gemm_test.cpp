#include "fast/gemm.hpp"

#include <catch2/catch.hpp>
#include <vector>

namespace fast = attn::fast;

namespace {

/// Small integers, so that sums are exact in any order.
std::vector<float> integers(std::size_t count, std::size_t step) {
  std::vector<float> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<float>(i * step % 7) - 3;
  return numbers;
}

void check_parts(const fast::Matrix<float>& a, const fast::Matrix<float>& b) {
  auto whole = integers(a.rows * b.columns, 5), parts = whole;
  fast::add_product(a, b, whole.data());
  fast::add_product_in_parts(a, b, parts.data());
  CHECK(parts == whole);
}

}  // namespace

TEST_CASE("BLAS: a product in parts is the product, in all forms and from small to large") {
  struct Sizes {
    std::size_t rows, inner, columns;
  };
  for (const auto [rows, inner, columns] : {Sizes{3, 4, 5},
                                            {64, 384, 128},
                                            {70, 96, 384},
                                            {384, 64, 128},
                                            {33, 1000, 100},
                                            {0, 4, 5},
                                            {130, 300, 300}}) {
    const auto a = integers(rows * inner, 3), b = integers(inner * columns, 4);
    const fast::Matrix<float> left = {a.data(), rows, inner}, right = {b.data(), inner, columns};
    const fast::Matrix<float> left_turned = {a.data(), inner, rows},
                              right_turned = {b.data(), columns, inner};
    check_parts(left, right);
    check_parts(left, fast::transposed(right_turned));
    check_parts(fast::transposed(left_turned), right);
    check_parts(fast::transposed(left_turned), fast::transposed(right_turned));
  }
}

TEST_CASE("BLAS: a transpose") {
  const std::vector<float> a = {1, 2, 3, 4, 5, 6};
  std::vector<float> turned(6);
  fast::transpose(fast::Matrix<float>{a.data(), 2, 3}, turned.data());
  CHECK(turned == std::vector<float>{1, 4, 2, 5, 3, 6});
}
