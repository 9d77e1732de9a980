#include <catch2/catch.hpp>

#include "lessons/lesson.hpp"
#include "page/text/text.hpp"
#include "tests/unit/fast/each_isa.hpp"
#include "tests/unit/lessons/page.hpp"

using lessons::Options;

namespace {

std::string page_of(const lessons::Lesson& lesson, const Options& options) {
  const auto plan = lessons::make_plan(lesson, options);
  attn::TextRenderer renderer(plan.header(), {});
  lessons::run(lesson, plan, renderer);
  return renderer.finish();
}

}  // namespace

TEST_CASE("the lessons that run fast kernels print the same with all instructions that there are") {
  const auto& shown = lesson_called(
      GENERATE("sdpa", "self-attention", "cross-attention", "multihead", "efficient", "backward"));
  auto options = shown.defaults;
  options.dtype = GENERATE("float64", "float32");
  if (shown.uses("causal")) options.causal = GENERATE(false, true);
  if (shown.uses("temperature")) options.temperature = GENERATE(1.0, 1e-4);
  if (shown.uses("d-k")) options.d_k = options.d_v = GENERATE(4, 36);
  CAPTURE(shown.name, options.dtype, options.causal, options.temperature);
  const auto expected = page_of(shown, options);
  for_each_isa([&] { CHECK((page_of(shown, options) == expected)); });
}
