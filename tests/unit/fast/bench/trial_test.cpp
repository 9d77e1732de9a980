#include "fast/bench/trial.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <new>
#include <stdexcept>
#include <thread>

using namespace attn::bench;

namespace {

const Setting small = {.n = 64, .d_k = 8, .d_v = 8, .heads = 2, .kv_heads = 2};

/// Exact attention, and something else with it.
Contestant<double> plain_and(const std::function<void(const Setting&)>& also) {
  for (auto& contestant : contestants<double>(false)) {
    if (contestant.name != "plain") continue;
    auto result = contestant;
    result.prepare = [contestant, also](Operands<double>& operands, const Setting& setting) {
      auto passes = contestant.prepare(operands, setting);
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

std::variant<Trials, Ending> tried(const Contestant<double>& contestant, const Setting& setting = small) {
  auto operands = draw_operands<double>(setting);
  return try_out(contestant, operands, setting, 5.0);
}

}  // namespace

#ifndef __SANITIZE_ADDRESS__  // the sanitizer maps memory of its own
TEST_CASE("a trial measures what a kernel maps at one time, to a page") {
  const auto holding = [](std::size_t bytes) {
    return plain_and([bytes](const Setting& setting) {
      if (setting.n != small.n) return;
      for (int i = 0; i < 3; ++i) {
        const std::vector<char> first(bytes / 2, 'a');
        const std::vector<char> second(bytes / 2, 'b');
      }
    });
  };
  for (const std::size_t bytes : {std::size_t{1} << 17, std::size_t{1} << 20, std::size_t{5} << 20}) {
    const auto trials = std::get<Trials>(tried(holding(bytes)));
    if (!trials.forward.extra_bytes) {
      WARN("the system does not tell what a process maps");
      return;
    }
    CHECK(*trials.forward.extra_bytes >= static_cast<double>(bytes));
    CHECK(*trials.forward.extra_bytes <= static_cast<double>(bytes) + 32768.0);
  }
}
#endif

TEST_CASE("a trial leaves the operands as they are") {
  auto setting = small;
  setting.backward = true;
  auto operands = draw_operands<double>(setting);
  const auto before = operands;
  const auto trials = std::get<Trials>(try_out(plain_and([](const Setting&) {}), operands, setting, 5.0));
  CHECK(trials.backward.has_value());
  CHECK((operands.output == before.output));
  CHECK((operands.d_output == before.d_output));
}

TEST_CASE("a trial that takes too long is ended") {
  auto operands = draw_operands<double>(small);
  const auto slow = plain_and([](const Setting& setting) {
    if (setting.n == small.n) std::this_thread::sleep_for(std::chrono::seconds(30));
  });
  CHECK(std::get<Ending>(try_out(slow, operands, small, 0.05)) == Ending::too_slow);
}

TEST_CASE("the limit of a trial is that of each run") {
  auto operands = draw_operands<double>(small);
  const auto nearly_too_slow = plain_and([](const Setting& setting) {
    if (setting.n == small.n) std::this_thread::sleep_for(std::chrono::milliseconds(400));
  });
  CHECK(std::holds_alternative<Trials>(try_out(nearly_too_slow, operands, small, 0.7)));
}

TEST_CASE("a trial tells how it ended") {
  const auto throwing = [](const auto& exception) {
    return plain_and([exception](const Setting&) { throw exception; });
  };
  CHECK(std::get<Ending>(tried(throwing(std::bad_alloc()))) == Ending::out_of_memory);
  CHECK(std::get<Ending>(tried(throwing(std::runtime_error("no")))) == Ending::failed);
}

TEST_CASE("a trial measures time and error") {
  const auto slow_and_wrong =
      plain_and([](const Setting&) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
  const auto trials = std::get<Trials>(tried(slow_and_wrong));
  CHECK(trials.forward.seconds >= 0.02);
  CHECK(trials.forward.error == 0.0);
  CHECK_FALSE(trials.backward.has_value());
}

TEST_CASE("work in a process of its own hands numbers back") {
  const auto outcome = run_in_child([] { return std::vector<double>{1.5, -2.0}; });
  CHECK(std::get<std::vector<double>>(outcome) == std::vector<double>{1.5, -2.0});
}
