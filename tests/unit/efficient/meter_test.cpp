#include "attn/efficient/meter.hpp"

#include <catch2/catch.hpp>
#include <vector>

using attn::Meter;

TEST_CASE("a meter counts the products that it does", "[meter]") {
  Meter meter;
  const std::vector<float> x = {1, 2, 3}, y = {4, 5, 6};
  std::vector<double> sum = {1, 1};
  CHECK(meter.dot(x.data(), y.data(), 3) == 32.0);
  CHECK(meter.work().multiply_adds == 3);
  meter.add_scaled(2.0, x.data(), std::span(sum));
  CHECK(sum == std::vector<double>{3, 5});
  CHECK(meter.work().multiply_adds == 5);
  meter.scale(10.0, std::span(sum));
  CHECK(sum == std::vector<double>{30, 50});
  CHECK(meter.work().multiply_adds == 7);
}

TEST_CASE("a meter knows the most that was held at one time", "[meter]") {
  Meter meter;
  {
    const auto one = meter.hold<double>(3);
    const auto other = meter.hold<float>(2);
    CHECK(meter.work().score_bytes == 32);
  }
  {
    auto later = meter.hold<double>(4);
    CHECK(later.size() == 4);
    CHECK(later[3] == 0.0);
  }
  CHECK(meter.work().score_bytes == 32);
  const auto largest = meter.hold<double>(5);
  CHECK(meter.work().score_bytes == 40);
}

TEST_CASE("a meter records who reads whom where it is asked to", "[meter]") {
  attn::Wiring wiring(3);
  Meter recording(wiring), silent;
  for (Meter* meter : {&recording, &silent}) {
    const auto first = meter->operation(), second = meter->operation();
    meter->read_token(first, 0);
    meter->read(second, first);
    meter->deliver(second, 2);
  }
  CHECK(wiring.sequential_steps() == 2);
  CHECK(wiring.path_length(0, 2) == 2);
}
