#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "attn/ops/positional.hpp"

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
