#include <algorithm>
#include <catch2/catch.hpp>

#include "fast/bench/benchmark.hpp"

using attn::bench::Kernel;
using attn::bench::Setting;

namespace {

Kernel<float> named(const std::string& name) {
  const auto all = attn::bench::kernels<float>(true);
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == name; });
  REQUIRE(found != all.end());
  return *found;
}

}  // namespace

TEST_CASE("a kernel says why it cannot run", "[bench]") {
  CHECK(named("simd").unsupported({.d_k = 256}).empty());
  CHECK(named("simd").unsupported({.d_k = 257}) == "takes d_k and d_v up to 256");
  CHECK(named("blas").unsupported({.n = 1 << 15}) == "takes up to 2^29 scores of a head");
  CHECK(named("linear-simd").unsupported({.window = 2}) == "takes no window");
}

TEST_CASE("where all keys are visible no mask prevents a run", "[bench]") {
  for (const auto* name : {"simd-full", "linear-simd-full"})
    CHECK(named(name).unsupported({.causal = true, .window = 2}).empty());
}

TEST_CASE("scores are held for each thread that has a head", "[bench]") {
  const auto blas = named("blas");
  const double matrix = 64.0 * 64.0 * sizeof(float);
  CHECK(blas.score_bytes({.n = 64, .heads = 8, .threads = 1}) == matrix);
  CHECK(blas.score_bytes({.n = 64, .heads = 8, .threads = 2}) == 2 * matrix);
  CHECK(blas.score_bytes({.n = 64, .heads = 1, .kv_heads = 1, .threads = 64}) == matrix);
  CHECK(blas.score_bytes({.n = 64, .heads = 8, .kv_heads = 2, .threads = 8, .backward = true}) == 8 * matrix);
  CHECK(blas.score_bytes({.n = 64, .heads = 8, .kv_heads = 8, .threads = 8, .backward = true}) ==
        16 * matrix);
  CHECK(named("simd").score_bytes({.n = 64}) == 0.0);
}
