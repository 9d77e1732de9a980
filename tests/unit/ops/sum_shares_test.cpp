#include <array>
#include <catch2/catch.hpp>
#include <limits>

#include "attn/ops/softmax.hpp"

namespace {

constexpr double hidden = -std::numeric_limits<double>::infinity();
using Row = std::array<double, 4>;

Row shares_of(const Row& scores) {
  Row shares{};
  attn::sum_shares(scores.data(), shares.data(), scores.size(), 1);
  return shares;
}

}  // namespace

TEST_CASE("shares are scores divided by their sum") {
  CHECK(shares_of({1, 2, 3, 4}) == Row{0.1, 0.2, 0.3, 0.4});
  CHECK(shares_of({1, 0, hidden, 3}) == Row{0.25, 0, 0, 0.75});
  CHECK(shares_of({1, -5, 1, 2}) == Row{0.25, 0, 0.25, 0.5});
}

TEST_CASE("a row of zeros is shared equally among what may be seen") {
  CHECK(shares_of({0, 0, 0, 0}) == Row{0.25, 0.25, 0.25, 0.25});
  CHECK(shares_of({-1, hidden, 0, hidden}) == Row{0.5, 0, 0.5, 0});
  CHECK(shares_of({hidden, hidden, hidden, hidden}) == Row{0, 0, 0, 0});
}

TEST_CASE("shares down a column leave the other columns alone") {
  const Row scores{1, 9, 3, 9};
  Row shares{7, 7, 7, 7};
  attn::sum_shares(scores.data(), shares.data(), 2, 2);
  CHECK(shares == Row{0.25, 7, 0.75, 7});
}

TEST_CASE("what is worked out is the share") {
  for (const Row& scores : {Row{1, 2, 3, 4}, Row{1, -5, hidden, 2}, Row{0, 0, hidden, 0}}) {
    const auto shares = shares_of(scores);
    const auto worked = attn::worked_sum_shares(
        [&](const attn::Index& at) {
          return attn::Worked({"scores", at}, scores[at[1]]);
        },
        scores.size());
    for (std::size_t j = 0; j < scores.size(); ++j) CHECK(worked({0, j}).value() == shares[j]);
  }
}
