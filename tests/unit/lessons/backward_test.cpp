#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>
#include <xtensor/xmath.hpp>

#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "attn/ops/softmax.hpp"
#include "formula/parse.hpp"
#include "formula/sheet.hpp"
#include "lessons/backward/moved.hpp"
#include "tests/unit/lessons/parts.hpp"
#include "tests/unit/numbers.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::Mask;
using attn::Tensor;
using Catch::Contains;
using lessons::MovedCheck;

namespace {

lessons::Options at_temperature(double temperature, const std::string& dtype = "float64") {
  auto options = lesson_called("backward").defaults;
  options.temperature = temperature;
  options.dtype = dtype;
  return options;
}

struct AttentionGradients {
  Tensor<3> d_V, d_weights, d_scaled, d_scores, d_Q, d_K;
};

/// Back through attention by hand, to be held against differences. Source: Dao et al. 2022, "FlashAttention",
/// appendix B.2.
AttentionGradients attention_backward(const Tensor<3>& Q, const Tensor<3>& K, const Tensor<3>& V,
                                      const Tensor<3>& weights, double temperature,
                                      const Tensor<3>& d_output) {
  AttentionGradients d;
  d.d_V = attn::matmul(attn::transpose(weights), d_output);
  d.d_weights = attn::matmul(d_output, attn::transpose(V));
  const Tensor<3> mean = xt::sum(weights * d.d_weights, {2}, xt::keep_dims);
  d.d_scaled = weights * (d.d_weights - mean);
  d.d_scores = d.d_scaled / (std::sqrt(static_cast<double>(Q.shape(2))) * temperature);
  d.d_Q = attn::matmul(d.d_scores, K);
  d.d_K = attn::matmul(attn::transpose(d.d_scores), Q);
  return d;
}

struct Inputs {
  Tensor<3> Q, K, V;
  std::optional<Mask<3>> mask;
};

/// Attention forward and backward as the page computes them, told to nobody.
struct Case {
  Inputs in;
  Tensor<3> d_output;
  Attention<3> attention;
  double temperature = 1.0;

  AttentionGradients gradients() const { return gradients_at(temperature); }
  AttentionGradients gradients_at(double backward_temperature) const {
    return attention_backward(in.Q, in.K, in.V, attention.weights, backward_temperature, d_output);
  }
  MovedCheck check(const AttentionGradients& d, const std::string& dtype = "float64") const {
    Page page("backward", at_temperature(temperature, dtype));
    lessons::Gradients gradients;
    const auto keep = [&](const char* of, const Tensor<3>& gradient) {
      gradients.push_back({of, {gradient.begin(), gradient.end()}});
    };
    keep("V", d.d_V);
    keep("weights", d.d_weights);
    keep("scaled", d.d_scaled);
    keep("scores", d.d_scores);
    keep("Q", d.d_Q);
    keep("K", d.d_K);
    return lessons::check_by_moving(page.mute, sheet(),
                                    {.magnitude = lessons::magnitude_of_loss(attention.output, d_output),
                                     .curved = {"scaled"},
                                     .of_its_size = {"output"}},
                                    gradients);
  }

 private:
  formula::Sheet sheet() const {
    formula::Sheet sheet;
    const auto set = [&](const char* name, const formula::Axes& axes, const auto& tensor) {
      for (std::size_t i = 0; i < axes.size(); ++i) sheet.axis(axes[i], tensor.shape(i));
      sheet.set(name, formula::view_of(axes, attn::view_of(tensor)));
    };
    set("Q", {"batch", "query", "d_k"}, in.Q);
    set("K", {"batch", "key", "d_k"}, in.K);
    set("V", {"batch", "key", "d_v"}, in.V);
    set("d_output", {"batch", "query", "d_v"}, d_output);
    if (in.mask) set("mask", {"batch", "query", "key"}, *in.mask);
    const auto divisor = std::sqrt(static_cast<double>(in.Q.shape(2))) * temperature;
    for (const auto& step : {std::string("scores[batch, query, key] = sum(d_k) Q * K"),
                             fmt::format("scaled[batch, query, key] = scores / {}", divisor),
                             fmt::format("weights[batch, query, key] = softmax(key) {}",
                                         in.mask ? "where(mask, scaled, -inf)" : "scaled"),
                             std::string("output[batch, query, d_v] = sum(key) weights * V"),
                             std::string("L = sum(batch) sum(query) sum(d_v) output * d_output")})
      sheet.compute(formula::parse_definition(step));
    return sheet;
  }
};

Case case_of(const Inputs& in, double temperature) {
  Page page("backward", at_temperature(temperature));
  const auto shape = in.Q.shape();
  return {in, random_tensor<3>({shape[0], shape[1], in.V.shape(2)}, 4),
          attend(page, in.Q, in.K, in.V, in.mask), temperature};
}

/// Two samples with n queries and n + 1 keys, d_k = 3 and d_v = 5.
Case random_case(std::size_t n, std::optional<Mask<3>> mask = std::nullopt, double temperature = 1.0) {
  return case_of({random_tensor<3>({2, n, 3}, 1), random_tensor<3>({2, n + 1, 3}, 2),
                  random_tensor<3>({2, n + 1, 5}, 3), std::move(mask)},
                 temperature);
}

std::size_t wrong_ones(const MovedCheck& check) {
  std::size_t count = 0;
  for (const auto& one : check.deviations)
    if (!(one.deviation <= one.allowed)) ++count;
  return count;
}

}  // namespace

TEST_CASE("all gradients of attention agree with central differences", "[attention_backward]") {
  const double temperature = GENERATE(1e-3, 0.3, 1.0, 50.0);
  const auto mask = attn::padding_mask({5, 2}, 4, 5);
  for (const auto& one :
       {random_case(4, std::nullopt, temperature), random_case(4, mask, temperature), random_case(1)}) {
    const auto check = one.check(one.gradients());
    CHECK(check.entry_by_entry);
    REQUIRE(check.deviations.size() == 6);
    for (const auto& deviation : check.deviations) {
      INFO(deviation.of);
      CHECK(deviation.deviation <= deviation.allowed);
    }
  }
}

TEST_CASE("the gradients of many tokens are checked along one direction", "[attention_backward]") {
  const auto one = random_case(100, attn::repeat_mask(attn::causal_mask(100, 101), 2));
  const auto check = one.check(one.gradients());
  CHECK_FALSE(check.entry_by_entry);
  CHECK(wrong_ones(check) == 0);
}

TEST_CASE("each wrong gradient breaks its own check and no other", "[attention_backward]") {
  const auto n = GENERATE(std::size_t{4}, std::size_t{100});
  const auto one = random_case(n);
  Tensor<3> AttentionGradients::*const all[] = {&AttentionGradients::d_V,      &AttentionGradients::d_weights,
                                                &AttentionGradients::d_scaled, &AttentionGradients::d_scores,
                                                &AttentionGradients::d_Q,      &AttentionGradients::d_K};
  for (std::size_t i = 0; i < 6; ++i) {
    auto gradients = one.gradients();
    (gradients.*all[i])(1, 0, 2) += 1.0;
    const auto check = one.check(gradients);
    CHECK(wrong_ones(check) == 1);
    CHECK(check.deviations[i].deviation == Approx(1.0).epsilon(0.01));
  }
}

TEST_CASE("typical mistakes in the backward pass break the check", "[attention_backward]") {
  const auto one = random_case(4, std::nullopt, 2.0);
  const auto right = one.gradients();
  const auto breaks = [&](auto change) {
    auto wrong = right;
    change(wrong);
    return wrong_ones(one.check(wrong)) > 0;
  };
  CHECK(breaks([&](auto& g) { g.d_scores = g.d_scaled; }));
  CHECK(breaks([&](auto& g) {
    for (std::size_t i = 0; i < g.d_scaled.size(); ++i)
      g.d_scaled.data()[i] = one.attention.weights.data()[i] * g.d_weights.data()[i];
  }));
  CHECK(breaks([&](auto& g) { g = one.gradients_at(1.0); }));
}

TEST_CASE("gradients of tiny and of zero queries are checked, too", "[attention_backward]") {
  const double size = GENERATE(0.0, 1e-300, 1e-20);
  auto one = random_case(3);
  one = case_of({one.in.Q * size, one.in.K, one.in.V, std::nullopt}, 1.0);
  const auto check = one.check(one.gradients());
  CHECK(wrong_ones(check) == 0);
  for (const auto& deviation : check.deviations) CHECK(std::isfinite(deviation.deviation));
}

TEST_CASE("gradients that are 1 % off break their check, at any temperature and in float32",
          "[attention_backward]") {
  const double temperature = GENERATE(1.0, 0.05);
  const std::string dtype = GENERATE("float64", "float32");
  const auto one = random_case(4, std::nullopt, temperature);
  for (auto gradient : {&AttentionGradients::d_V, &AttentionGradients::d_scaled, &AttentionGradients::d_Q,
                        &AttentionGradients::d_K}) {
    auto gradients = one.gradients();
    for (double& element : gradients.*gradient) element *= 1.01;
    CHECK(wrong_ones(one.check(gradients, dtype)) == 1);
  }
}

TEST_CASE("hidden keys and queries that see nothing have gradient 0", "[attention_backward]") {
  auto mask = attn::padding_mask({3, 1}, 2, 3);
  for (std::size_t j = 0; j < 3; ++j) mask(1, 0, j) = false;
  const auto gradients = random_case(2, mask).gradients();
  for (std::size_t i = 0; i < mask.size(); ++i)
    if (!mask.data()[i]) CHECK(gradients.d_scaled.data()[i] == 0.0);
  for (std::size_t c = 0; c < 3; ++c) {
    CHECK(gradients.d_Q(1, 0, c) == 0.0);
    CHECK(gradients.d_K(1, 2, c) == 0.0);
    CHECK(gradients.d_V(1, 2, c) == 0.0);
  }
  CHECK(attn::max_abs(gradients.d_Q) > 0.01);
}

namespace {

/// The lesson `backward` as it is told with other numbers than its own.
Listener backward(const lessons::Options& options, const attn::GivenTensors& given = {}) {
  return told_by("backward", options, given);
}

lessons::Options usual(const std::string& through, const std::string& dtype = "float64") {
  auto options = lessons::part_of(lesson_called("backward"), through).defaults;
  options.through = through;
  options.dtype = dtype;
  options.model = "none";
  return options;
}

/// Every claim about a gradient that holds by less than 1 % of the gradient, and every other that does not
/// hold.
std::vector<std::string> empty_or_wrong(const Listener& told) {
  std::vector<std::string> ids;
  for (const auto& [id, measurement] : told.measurements) {
    const auto name = id.substr(id.find('/') + 1);
    const bool is_check = id.rfind("check/", 0) == 0;
    const bool is_empty = is_check && told.tensors.count(name) > 0 &&
                          measurement.limit.bound > 0.01 * largest(told.elements(name));
    if (is_empty || !measurement.holds()) ids.push_back(id);
  }
  return ids;
}

}  // namespace

TEST_CASE("no claim is made of a gradient that is smaller than what a difference may be off by",
          "[backward]") {
  const std::string dtype = GENERATE("float64", "float32");
  auto options = usual("sdpa", dtype);
  CHECK(backward(options).kinds.at("check/d_scores") == attn::Kind::claim);
  options.temperature = 1e-4;
  const auto told = backward(options);
  CHECK(told.kinds.at("check/d_scores") == attn::Kind::note);
  if (dtype == "float64") CHECK(told.kinds.at("check/d_V") == attn::Kind::claim);
  CHECK(empty_or_wrong(told).empty());
}

TEST_CASE("what is claimed of gradients could fail, through any lesson and in float32", "[backward]") {
  const std::string through = GENERATE("sdpa", "multihead", "transformer-block");
  const std::string dtype = GENERATE("float64", "float32");
  INFO(through << " in " << dtype);
  auto options = usual(through, dtype);
  CHECK(empty_or_wrong(backward(options)).empty());
  if (through == "multihead") options.temperature = 0.01;
  if (through == "transformer-block") options.weight_scale = "3";
  CHECK(empty_or_wrong(backward(options)).empty());
}

TEST_CASE("gradients of tiny weights and inputs hold or are not checked", "[backward]") {
  const std::string dtype = GENERATE("float64", "float32");
  for (const auto* through : {"sdpa", "multihead"})
    for (const auto* scale : {"1e-200", "1e-320", "1e-42"}) {
      INFO(through << " " << scale << " in " << dtype);
      auto options = usual(through, dtype);
      options.weight_scale = scale;
      CHECK(empty_or_wrong(backward(options)).empty());
    }
  const auto plain = backward(usual("sdpa", dtype));
  for (const auto* id : {"V", "d_output"})
    for (const double size : {0.0, 5e-324, 1e-320, 1e-160, 1e-43, 1e-40}) {
      INFO(id << " times " << size << " in " << dtype);
      auto numbers = plain.elements(id);
      for (double& number : numbers) number *= size;
      const auto given = given_tensor(id, plain.tensors.at(id).shape(), numbers);
      CHECK(empty_or_wrong(backward(usual("sdpa", dtype), given)).empty());
    }
}

TEST_CASE("gradients of huge values are held against differences as wide", "[backward]") {
  const auto plain = backward(usual("sdpa"));
  auto numbers = plain.elements("V");
  for (double& number : numbers) number *= 1e29;
  const auto given = given_tensor("V", plain.tensors.at("V").shape(), numbers);
  CHECK(empty_or_wrong(backward(usual("sdpa"), given)).empty());
}
