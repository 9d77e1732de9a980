#include "attn/train/schedule.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <stdexcept>

using attn::Tensor;
using attn::warmup_schedule;

TEST_CASE("the rate rises in a straight line and falls with the root", "[schedule]") {
  const std::int64_t d_model = 512, warmup = 4000;
  const double peak = warmup_schedule(warmup, d_model, warmup).rate;
  CHECK(peak == Approx(1.0 / std::sqrt(512.0 * 4000.0)).epsilon(1e-14));
  CHECK(warmup_schedule(1000, d_model, warmup).rate == Approx(peak / 4.0).epsilon(1e-14));
  CHECK(warmup_schedule(16000, d_model, warmup).rate == Approx(peak / 2.0).epsilon(1e-14));
}

TEST_CASE("the rate is highest at the end of the warm-up", "[schedule]") {
  const std::int64_t warmup = GENERATE(1, 2, 7, 100);
  const double peak = warmup_schedule(warmup, 64, warmup).rate;
  for (std::int64_t step = 0; step <= 5 * warmup + 5; ++step) {
    const double rate = warmup_schedule(step, 64, warmup).rate;
    CHECK((step == warmup ? rate == peak : rate < peak));
  }
}

TEST_CASE("step 0 has the rate 0, although step^−0.5 is infinite there", "[schedule]") {
  const auto schedule = warmup_schedule(0, 64, 10);
  CHECK(std::isinf(schedule.falling));
  CHECK(schedule.rising == 0.0);
  CHECK(schedule.rate == 0.0);
}

TEST_CASE("a step before the first and an empty warm-up are refused", "[schedule]") {
  CHECK_THROWS_AS(warmup_schedule(-1, 64, 10), std::invalid_argument);
  CHECK_THROWS_AS(warmup_schedule(1, 0, 10), std::invalid_argument);
  CHECK_THROWS_AS(warmup_schedule(1, 64, 0), std::invalid_argument);
}

TEST_CASE("the step of the largest rate is found, also where it is not the warm-up", "[schedule]") {
  const Integers<1> steps = {0, 10, 20, 30};
  CHECK(attn::step_of_largest(steps, Tensor<1>{0, 1, 3, 2}) == 20);
  CHECK(attn::step_of_largest(steps, Tensor<1>{4, 1, 3, 2}) == 0);
  CHECK(attn::step_of_largest(steps, Tensor<1>{1, 2, 2, 2}) == 10);
  CHECK_THROWS_AS(attn::step_of_largest(steps, Tensor<1>{1, 2}), std::invalid_argument);
}
