#include <catch2/catch.hpp>
#include <cmath>

#include "tests/unit/lessons/page.hpp"

namespace {

lessons::Options ring_options(std::size_t ranks, const std::string& order = "contiguous") {
  return {.sentence = {"a b c d e f g"}, .d_k = 3, .d_v = 2, .ranks = ranks, .order = order};
}

bool all_claims_hold(const Listener& told) {
  return std::all_of(told.measurements.begin(), told.measurements.end(),
                     [](const auto& claim) { return claim.second.holds(); });
}

}  // namespace

TEST_CASE("a ring claims what holds, whatever its ranks, order, mask, heads and dtype", "[ring]") {
  auto options = ring_options(GENERATE(1, 2, 3, 7, 9), GENERATE("contiguous", "striped", "zigzag"));
  options.causal = GENERATE(false, true);
  options.window = GENERATE(std::optional<std::size_t>(), std::optional<std::size_t>(1));
  options.dtype = GENERATE("float64", "float16");
  if (GENERATE(false, true)) {
    options.heads = 2;
    options.sentence.push_back("h i");
  }
  const auto told = told_by("ring", options);
  CHECK(told.measurements.size() == 5);
  CHECK(all_claims_hold(told));
}

TEST_CASE("ranks that exchange heads for tokens claim what holds", "[ring]") {
  auto options = ring_options(GENERATE(1, 2, 3));
  options.heads = 6;
  options.way = "heads";
  options.causal = GENERATE(false, true);
  if (GENERATE(false, true)) options.sentence.push_back("h i");
  const auto told = told_by("ring", options);
  CHECK(told.measurements.size() == 5);
  CHECK(all_claims_hold(told));
}

TEST_CASE("a change of what a rank carries reaches the output and breaks a claim", "[ring]") {
  for (const std::string step : {"hop=0/scores", "hop=0/m", "hop=0/l", "hop=0/o", "hop=1/c", "hop=2/o"}) {
    INFO(step);
    const auto told = told_by("ring", ring_options(3), {}, one_percent_more(step));
    const bool is_a_base = step == "hop=0/m";  // any number will do in the place of the maximum
    CHECK(told.holds("equals-full-attention") == is_a_base);
  }
}

TEST_CASE("a query that sees nothing carries nothing, and no number is nan", "[ring]") {
  auto options = ring_options(3);
  const std::size_t n = 7;
  std::vector<double> mask(n * n, 1.0);
  std::fill_n(mask.begin() + 2 * n, n, 0.0);
  attn::AnyTensor given(attn::Dtype::boolean, {n, n});
  std::copy(mask.begin(), mask.end(), given.elements<bool>());
  attn::GivenTensors tensors;
  tensors.emplace("mask", std::move(given));
  const auto told = told_by("ring", options, tensors);
  CHECK(all_claims_hold(told));
  CHECK(told.has("equals-compiled-ring"));
  CHECK(told.elements("hop=2/m")[2] == -std::numeric_limits<double>::infinity());
  CHECK(told.elements("hop=2/l")[2] == 0.0);
  CHECK(told.elements("output")[4] == 0.0);
  for (const auto& [id, tensor] : told.tensors)
    for (const double element : told.elements(id)) CHECK_FALSE(std::isnan(element));
}

TEST_CASE("causal work is uneven in contiguous blocks and even in a zigzag", "[ring]") {
  const auto work_of = [](const std::string& order) {
    auto options = ring_options(2, order);
    options.sentence = {"a b c d"};
    options.causal = true;
    return told_by("ring", options).elements("work");
  };
  CHECK(work_of("contiguous") == std::vector<double>{3, 0, 3, 4});
  CHECK(work_of("zigzag") == std::vector<double>{3, 2, 3, 2});
}

TEST_CASE("a plan's network takes the place of the ranks in one process", "[ring]") {
  const auto network = attn::fast::local_network(4);
  auto plan = lessons::make_plan(lesson_called("ring"), ring_options(4));
  plan.network = network.get();
  Listener told;
  CHECK(lessons::run(lesson_called("ring"), plan, told));
  CHECK(told.elements("bytes").front() == static_cast<double>(network->bytes_sent(0)));
}
