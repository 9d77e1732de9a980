#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <thread>

#include "fast/bench/baselines.hpp"
#include "fast/bench/benchmark.hpp"

using namespace attn::bench;

namespace {

const Setting small = {.n = 64, .d_k = 8, .d_v = 8, .heads = 2, .kv_heads = 2};

/// Exact attention that also does something else.
Kernel<double> plain_and(const std::function<void(const Setting&)>& also) {
  for (auto& kernel : kernels<double>(false)) {
    if (kernel.name != "plain") continue;
    auto result = kernel;
    result.prepare = [kernel, also](Operands<double>& operands, const Setting& setting) {
      auto passes = kernel.prepare(operands, setting);
      passes.forward = [forward = passes.forward, also, setting] {
        forward();
        also(setting);
      };
      return passes;
    };
    return result;
  }
  throw std::logic_error("there is no plain kernel");
}

std::optional<Trials> tried(const Kernel<double>& kernel, const Setting& setting = small) {
  auto operands = draw_operands<double>(setting);
  return try_out(kernel, operands, setting, 5.0);
}

/// As a program does that reports its allocations.
class ReportedBlock {
 public:
  explicit ReportedBlock(std::size_t bytes) : block_(std::malloc(bytes)) { count_allocation(block_); }
  ReportedBlock(const ReportedBlock&) = delete;
  ReportedBlock& operator=(const ReportedBlock&) = delete;
  ~ReportedBlock() {
    count_release(block_);
    std::free(block_);
  }

 private:
  void* block_;
};

}  // namespace

TEST_CASE("a trial measures what a kernel allocates at one time", "[bench]") {
  for (const std::size_t bytes : {std::size_t{1} << 10, std::size_t{1} << 17, std::size_t{5} << 20}) {
    const auto trials = tried(plain_and([bytes](const Setting&) {
      for (int i = 0; i < 3; ++i) {
        const ReportedBlock first(bytes / 2);
        const ReportedBlock second(bytes / 2);
      }
    }));
    const double measured = trials.value().forward.extra_bytes.value();
    CHECK(measured >= static_cast<double>(bytes));
    CHECK(measured <= static_cast<double>(bytes) + 8192.0);
  }
}

TEST_CASE("memory that was allocated before a meter does not count, nor does what is not metered",
          "[bench]") {
  auto before = std::make_unique<ReportedBlock>(std::size_t{1} << 20);
  const AllocationMeter meter;
  before.reset();
  const ReportedBlock smaller(std::size_t{1} << 10);
  CHECK(meter.growth().value() == 0.0);
}

TEST_CASE("a trial measures both passes", "[bench]") {
  auto setting = small;
  setting.backward = true;
  const auto trials = tried(plain_and([](const Setting&) {}), setting);
  REQUIRE(trials.value().backward.has_value());
  CHECK(trials->backward->error < 1e-12);
  CHECK(trials->backward->seconds > 0.0);
}

TEST_CASE("the time of a kernel is measured at short lengths first, and no further than it is quick",
          "[bench]") {
  std::vector<std::size_t> lengths;
  const auto slow = plain_and([&](const Setting& setting) {
    lengths.push_back(setting.n);
    std::this_thread::sleep_for(std::chrono::milliseconds(setting.n));
  });
  const Setting long_setting = {.n = 4096, .d_k = 2, .d_v = 2, .heads = 1, .kv_heads = 1};
  const double rate = seconds_per_operation(slow, long_setting, 0.5);
  CHECK(lengths == std::vector<std::size_t>{16, 16, 64, 64});
  CHECK(rate * operations_of(slow.task(long_setting)) > 0.5);
}

TEST_CASE("a trial tells when memory runs out", "[bench]") {
  CHECK_FALSE(tried(plain_and([](const Setting&) { throw std::bad_alloc(); })).has_value());
  CHECK_THROWS_WITH(tried(plain_and([](const Setting&) { throw std::runtime_error("no"); })), "no");
}

TEST_CASE("a trial measures time and error", "[bench]") {
  const auto slow =
      plain_and([](const Setting&) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
  const auto trials = tried(slow);
  CHECK(trials.value().forward.seconds >= 0.02);
  CHECK(trials->forward.error == 0.0);
  CHECK_FALSE(trials->backward.has_value());
}
