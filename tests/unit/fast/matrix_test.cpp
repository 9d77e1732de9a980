#include <catch2/catch.hpp>
#include <vector>

#include "fast/gemm.hpp"

namespace fast = attn::fast;

TEST_CASE("matrix: a transpose") {
  const std::vector<float> a = {1, 2, 3, 4, 5, 6};
  std::vector<float> turned(6);
  fast::transpose(fast::Matrix<float>{a.data(), 2, 3}, turned.data());
  CHECK(turned == std::vector<float>{1, 4, 2, 5, 3, 6});
}

TEST_CASE("matrix: the transpose of rows that lie apart") {
  const std::vector<float> a = {1, 2, 0, 3, 4, 0};
  std::vector<float> turned(4);
  fast::transpose(fast::Matrix<float>{.data = a.data(), .rows = 2, .columns = 2, .stride = 3}, turned.data());
  CHECK(turned == std::vector<float>{1, 3, 2, 4});
}
