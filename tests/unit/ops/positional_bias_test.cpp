#include "attn/ops/positional_bias.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>

#include "tests/unit/random_tensor.hpp"

using attn::Tensor;
using Catch::Contains;

TEST_CASE("T5's buckets are those of the published models", "[positional]") {
  const std::map<std::int64_t, std::int64_t> buckets = {
      {0, 0},   {1, 1},   {7, 7},   {8, 8},   {11, 8},   {12, 9},   {15, 9},
      {16, 10}, {22, 10}, {23, 11}, {31, 11}, {32, 12},  {45, 12},  {46, 13},
      {63, 13}, {64, 14}, {90, 14}, {91, 15}, {127, 15}, {128, 15}, {500, 15}};
  for (const auto& [distance, bucket] : buckets) {
    CHECK(attn::t5_bucket(-distance) == bucket);
    if (distance != 0) CHECK(attn::t5_bucket(distance) == 16 + bucket);
  }
}

TEST_CASE("a longer distance is never in an earlier bucket, and only bucket 16 is empty", "[positional]") {
  std::set<std::int64_t> used;
  for (std::int64_t distance = 0; distance <= 300; ++distance) {
    CHECK(attn::t5_bucket(-distance) <= attn::t5_bucket(-distance - 1));
    used.insert({attn::t5_bucket(distance), attn::t5_bucket(-distance)});
  }
  CHECK(used.size() == attn::t5_bucket_count - 1);
  CHECK(used.count(16) == 0);
}

TEST_CASE("T5's bias is read from the row of the bucket and the column of the head", "[positional]") {
  const auto table = random_tensor<2>({32, 3}, 1);
  const auto buckets = attn::t5_buckets(12);
  const auto bias = attn::t5_bias(table, buckets);
  CHECK(buckets(4, 1) == 3);
  CHECK(buckets(1, 4) == 19);
  for (std::size_t h = 0; h < 3; ++h) {
    CHECK(bias(h, 4, 1) == table(3, h));
    CHECK(bias(h, 1, 4) == table(19, h));
    CHECK(bias(h, 0, 11) == table(24, h));
  }
}

TEST_CASE("ALiBi's slopes end at 1/256 whatever the number of heads", "[positional]") {
  CHECK((attn::alibi_slopes(8) ==
         Tensor<1>{0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625}));
  for (const std::size_t heads : {1, 2, 3, 6}) CHECK(attn::alibi_slopes(heads)(heads - 1) == 0.00390625);
}

TEST_CASE("ALiBi's bias falls with the distance on both sides, from 0 without a sign", "[positional]") {
  const auto bias = attn::alibi_bias(attn::alibi_slopes(2), 3);
  CHECK((bias ==
         Tensor<3>{
             {{0, -0.0625, -0.125}, {-0.0625, 0, -0.0625}, {-0.125, -0.0625, 0}},
             {{0, -0.00390625, -0.0078125}, {-0.00390625, 0, -0.00390625}, {-0.0078125, -0.00390625, 0}}}));
  CHECK(!std::signbit(bias(0, 1, 1)));
}

TEST_CASE("every head has the same scores and a bias of its own", "[positional]") {
  const Tensor<3> scores = {{{1, 2}, {3, 4}}};
  const Tensor<3> bias = {{{10, 20}, {30, 40}}, {{100, 200}, {300, 400}}};
  CHECK((attn::add_bias(scores, bias) == Tensor<4>{{{{11, 22}, {33, 44}}, {{101, 202}, {303, 404}}}}));
}

TEST_CASE("biases refuse what does not fit", "[positional]") {
  CHECK_THROWS_WITH(attn::t5_bias(random_tensor<2>({31, 2}, 1), attn::t5_buckets(3)),
                    Contains("[t5_bias]") && Contains("31×2") && Contains("32"));
  CHECK_THROWS_WITH(attn::add_bias(random_tensor<3>({1, 2, 3}, 1), random_tensor<3>({2, 3, 3}, 2)),
                    Contains("[add_bias]") && Contains("1×2×3") && Contains("2×3×3"));
}
