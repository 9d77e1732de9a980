#include "formula/gradient.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "formula/parse.hpp"
#include "tests/unit/formula/random_formula.hpp"

namespace formula {

namespace {

View drawn(std::mt19937& random, const View& like) {
  std::normal_distribution<double> normal;
  Numbers numbers(Numbers::shape_type(like.shape.begin(), like.shape.end()));
  for (double& number : numbers) number = normal(random);
  return view_of(like.axes, std::make_shared<const Numbers>(std::move(numbers)));
}

std::size_t size_of(const View& view) {
  std::size_t size = 1;
  for (const auto length : view.shape) size *= length;
  return size;
}

attn::Index place_of(const View& view, std::size_t element) {
  attn::Index place(view.shape.size());
  for (std::size_t i = place.size(); i-- > 0; element /= view.shape[i]) place[i] = element % view.shape[i];
  return place;
}

View moved(const View& view, std::size_t element, double step) {
  Numbers numbers(Numbers::shape_type(view.shape.begin(), view.shape.end()));
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers.data()[i] = view.at(place_of(view, i)) + (i == element ? step : 0.0);
  return view_of(view.axes, std::make_shared<const Numbers>(std::move(numbers)));
}

struct Loss {
  double value = 0.0;
  double magnitude = 0.0;  ///< of its terms together: what it is rounded to is a share of this
};

/// Σ d_result · result, with one element of `tensor` moved by `step`.
Loss loss(const Sheet& given, const std::string& tensor, std::size_t element, double step) {
  Sheet sheet;
  for (const auto& [axis, length] : given.axes()) sheet.axis(axis, length);
  for (const auto& [name, view] : given.tensors())
    if (given.definition_of(name) == nullptr)
      sheet.set(name, name == tensor ? moved(view, element, step) : view);
  for (const auto& definition : given.definitions()) {
    const auto* const recurrence = given.recurrence_of(definition.name);
    if (recurrence == nullptr)
      sheet.compute(definition);
    else if (sheet.definition_of(definition.name) == nullptr)
      sheet.compute(*recurrence);
  }
  const auto &result = sheet.tensor("result"), &d_result = sheet.tensor("d_result");
  Loss sum;
  for (std::size_t i = 0; i < size_of(result); ++i) {
    const double term = result.at(place_of(result, i)) * d_result.at(place_of(d_result, i));
    sum.value += term;
    sum.magnitude += std::abs(term);
  }
  return sum;
}

/// Nothing where the loss is not finite, is so large that it rounds the difference away, or has a kink
/// nearby.
std::optional<double> difference(const std::function<Loss(double step)>& moved) {
  constexpr double h = 1e-5;
  const auto [here, magnitude] = moved(0.0);
  if (std::numeric_limits<double>::epsilon() * magnitude / h > 1e-5) return std::nullopt;
  const double before = moved(-h).value, after = moved(h).value, farther = moved(2.0 * h).value;
  const double left = (here - before) / h, right = (after - here) / h, further = (farther - after) / h;
  const double tolerance = 1e-3 * (1.0 + std::abs(left) + std::abs(here));
  const bool is_smooth = std::abs(right - left) < tolerance && std::abs(further - right) < tolerance;
  if (!is_smooth) return std::nullopt;
  return (after - before) / (2.0 * h);
}

Sheet attention() {
  Sheet sheet;
  std::mt19937 random(7);
  sheet.set("X", drawn(random, {.axes = {"token", "d_model"}, .shape = {3, 4}}));
  sheet.set("W_Q", drawn(random, {.axes = {"d_model", "d_k"}, .shape = {4, 2}}));
  sheet.set("W_K", drawn(random, {.axes = {"d_model", "d_k"}, .shape = {4, 2}}));
  sheet.axis("query", 3);
  sheet.axis("key", 3);
  for (const auto* step :
       {"Q[query, d_k] = sum(d_model) X[query, d_model] * W_Q",
        "K[key, d_k] = sum(d_model) X[key, d_model] * W_K", "scores[query, key] = sum(d_k) Q * K",
        "scaled[query, key] = scores / sqrt(d_k)", "masked[query, key] = where(key <= query, scaled, -inf)",
        "weights[query, key] = softmax(key) masked",
        "output[query, d_model] = sum(key) weights * X[key, d_model]"})
    sheet.compute(parse_definition(step));
  sheet.set("d_output", drawn(random, sheet.tensor("output")));
  return sheet;
}

/// None where no gradient leads to the tensor, or where the way to it goes through `again`.
std::optional<Definition> gradient_if_any(Sheet& sheet, const std::string& tensor) {
  try {
    return Definition{"d_" + tensor, sheet.tensor(tensor).axes,
                      gradient(sheet, tensor, sheet.tensor(tensor).axes)};
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

TEST_CASE("Gradients of random formulas are those of central differences", "[formula]") {
  const auto seed = std::random_device()();
  CAPTURE(seed);
  RandomFormulas random(seed, RandomFormulas::Elements::normal);
  std::mt19937 numbers(seed);
  std::size_t compared = 0, kinks = 0;
  while (compared < 2000) {
    auto [sheet, result] = random();
    sheet.keep(result, sheet.value(result));
    sheet.set("d_result", drawn(numbers, sheet.tensor("result")));
    for (const auto* tensor : {"Q", "K", "V", "X", "W_O", "bias", "Q_heads", "K_heads", "K_groups", "gain",
                               "temperature=0.5/slope", "relation", "scale"}) {
      const auto of_tensor = gradient_if_any(sheet, tensor);
      if (!of_tensor) continue;
      const auto found = sheet.value(*of_tensor);
      const auto element = numbers() % size_of(found);
      const auto expected = difference([&](double step) { return loss(sheet, tensor, element, step); });
      if (!expected) {
        ++kinks;
        continue;
      }
      INFO(text(result) << "\n" << tensor << ": " << text(*of_tensor));
      CHECK(found.at(place_of(found, element)) == Approx(*expected).epsilon(1e-4).margin(1e-4));
      ++compared;
    }
  }
  CHECK(kinks < compared / 2);
}

TEST_CASE("The backward pass of attention reads as its formulas", "[formula]") {
  auto sheet = attention();
  const auto said = [&](const std::string& definition) {
    sheet.compute(parse_definition(definition));
    return page_text(sheet.definitions().back().expr);
  };
  CHECK(said("d_weights[query, key] = gradient(weights)") == "d_output Xᵀ");
  CHECK(said("d_scaled[query, key] = gradient(scaled)") ==
        "weights · (d_weights − Σ_key weights · d_weights) where key ≤ query, 0 elsewhere");
  CHECK(said("d_scores[query, key] = gradient(scores)") == "d_scaled / √d_k");
  CHECK(said("d_Q[query, d_k] = gradient(Q)") == "d_scores K");
  CHECK(said("d_K[key, d_k] = gradient(K)") == "d_scoresᵀ Q");
  CHECK(said("d_W_Q[d_model, d_k] = gradient(W_Q)") == "Xᵀ d_Q");
  CHECK(said("d_X[token, d_model] = gradient(X)") == "d_Q W_Qᵀ + d_K W_Kᵀ + weightsᵀ d_output");
}

namespace {

/// A residual connection around a network, then layer norm.
Sheet sublayer() {
  Sheet sheet;
  std::mt19937 random(7);
  sheet.set("X", drawn(random, {.axes = {"token", "d_model"}, .shape = {3, 4}}));
  sheet.set("W", drawn(random, {.axes = {"d_model", "d_ff"}, .shape = {4, 2}}));
  sheet.set("gain", drawn(random, {.axes = {"d_model"}, .shape = {4}}));
  sheet.axis("query", 3);
  for (const auto* step :
       {"ffn/linear[token, d_ff] = sum(d_model) X * W", "ffn/hidden[token, d_ff] = relu(ffn/linear)",
        "ffn/output[token, d_model] = sum(d_ff) ffn/hidden * W", "residual[token, d_model] = X + ffn/output",
        "output[token, d_model] = layer_norm(d_model) residual * gain"})
    sheet.compute(parse_definition(step));
  sheet.set("d_output", drawn(random, {.axes = {"query", "d_model"}, .shape = {3, 4}}));
  return sheet;
}

}  // namespace

TEST_CASE("What a group sends back to a tensor outside of it stands for the group", "[formula]") {
  auto sheet = sublayer();
  const auto said = [&](const std::string& definition) {
    sheet.compute(parse_definition(definition));
    return page_text(sheet.definitions().back().expr);
  };
  const auto whole = sheet.value(sheet.resolved(parse_definition("d[token, d_model] = gradient(X)")));
  said("d_residual[token, d_model] = gradient(residual)");
  CHECK(said("ffn/d_output[token, d_model] = gradient(ffn/output)") == "d_residual");
  said("ffn/d_hidden[token, d_ff] = gradient(ffn/hidden)");
  CHECK(said("ffn/d_linear[token, d_ff] = gradient(ffn/linear)") == "ffn/d_hidden · (0 < ffn/hidden)");
  CHECK(said("ffn/d_X[token, d_model] = gradient(X)") == "ffn/d_linear Wᵀ");
  CHECK(said("d_X[token, d_model] = gradient(X)") == "d_residual + ffn/d_X");
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t c = 0; c < 4; ++c) CHECK(sheet.tensor("d_X").at({i, c}) == Approx(whole.at({i, c})));
}

TEST_CASE("The gradient of layer norm is worked out with the numbers of its row", "[formula]") {
  auto sheet = sublayer();
  const auto worked = [&](const std::string& definition, const attn::Index& at) {
    const auto resolved = sheet.resolved(parse_definition(definition));
    const auto entry = sheet.worked(resolved, at);
    CHECK(entry.value() == Approx(sheet.value(resolved).at(at)));
    return entry.text([](const attn::Worked&) { return "x"; }, 8);
  };
  CHECK(worked("d_residual[token, d_model] = gradient(residual)", {1, 2}) == "(x · x − x − x · x) / x");
  CHECK(worked("d_gain[d_model] = gradient(gain)", {2}) == "x · x + x · x + x · x");
}

TEST_CASE("A gradient may have axes of other names", "[formula]") {
  auto sheet = sublayer();
  sheet.compute(parse_definition("d_residual[query, d_model] = gradient(residual)"));
  CHECK(sheet.tensor("d_residual").axes == Axes{"query", "d_model"});
  sheet.compute(parse_definition("d_gain[d_model] = gradient(gain)"));
  CHECK(sheet.value(sheet.resolved(parse_definition("d_W[d_model, d_ff] = gradient(W)"))).shape ==
        attn::Shape{4, 2});
}

TEST_CASE("The gradient of a tensor that a part reads at an index is that of the whole tensor", "[formula]") {
  auto sheet = attention();
  const Expr K(Node{.op = Op::entry, .name = "K", .parts = {Expr(2.0), name("d_k")}});
  const auto at_index =
      sheet.resolved({"d_K", {"key", "d_k"}, Expr(Node{.op = Op::call, .name = "gradient", .parts = {K}})});
  const auto whole = sheet.resolved(parse_definition("d_K[key, d_k] = gradient(K)"));
  CHECK(page_text(at_index.expr) == page_text(whole.expr));
}

TEST_CASE("A place past the end of an axis is no entry of it", "[formula]") {
  Sheet sheet;
  std::mt19937 random(7);
  for (const auto* tensor : {"x", "y", "d_weights"})
    sheet.set(tensor, drawn(random, {.axes = {"key"}, .shape = {1}}));
  for (const auto* step : {"weights[key] = softmax(key) where(key = size(key), x[mod(key, 1)] * y, -inf)",
                           "d_x[key] = gradient(x)"})
    sheet.compute(parse_definition(step));
  CHECK(sheet.tensor("d_x").at({0}) == 0.0);
}

TEST_CASE("What is rounded goes back as it is, and entropy as the sum that it stands for", "[formula]") {
  auto sheet = attention();
  for (const auto* step :
       {"free[query, key] = softmax(key) scaled", "rounded[query, key] = float16(free * 3) + free",
        "spread[query] = entropy(key) free", "d_rounded[query, key] = where(query < 9, 1, 0)",
        "d_spread[query] = where(query < 9, 1, 0)", "d_free[query, key] = gradient(free)",
        "off = max(query, key) abs(d_free - 4 + log(free) + 1)"})
    sheet.compute(parse_definition(step));
  CHECK(sheet.tensor("off").at({}) < 1e-12);
}

namespace {

/// Computes steps that take one another's entries at other places.
void compute_together(Sheet& sheet, const std::vector<const char*>& formulas) {
  std::vector<Definition> steps;
  for (const auto* formula : formulas) {
    steps.push_back(parse_definition(formula));
    attn::Shape shape;
    for (const auto& axis : steps.back().axes) shape.push_back(sheet.size_of(axis));
    sheet.set(steps.back().name, view_of(steps.back().axes, std::make_shared<const Numbers>(shape, 0.0)));
  }
  for (auto& step : steps) step = sheet.resolved(step);
  sheet.compute(sheet.together(std::move(steps)));
}

/// Of two sentences, the second one shorter: their words, and what a network of that size learns.
Sheet two_sentences() {
  Sheet sheet;
  std::mt19937 random(7);
  const auto add = [&](const char* name, const Axes& axes, const attn::Shape& shape) {
    sheet.set(name, drawn(random, {.axes = axes, .shape = shape}));
  };
  auto lengths = std::make_shared<Numbers>(attn::Shape{2});
  (*lengths)(0) = 4.0, (*lengths)(1) = 2.0;
  sheet.set("lengths", view_of({"batch"}, std::shared_ptr<const Numbers>(lengths)));
  add("x", {"batch", "t", "d"}, {2, 4, 3});
  add("W", {"gate", "d"}, {8, 3});
  add("U", {"gate", "hidden"}, {8, 2});
  add("b", {"gate"}, {8});
  add("E", {"hidden", "out"}, {2, 2});
  sheet.axis("before", 2);
  return sheet;
}

void compare_with_differences(Sheet& sheet, const std::vector<const char*>& tensors) {
  for (const auto* tensor : tensors) {
    const Definition of_tensor{"d_" + std::string(tensor), sheet.tensor(tensor).axes,
                               gradient(sheet, tensor, sheet.tensor(tensor).axes)};
    INFO(tensor << ": " << text(of_tensor));
    const auto found = sheet.value(of_tensor);
    for (std::size_t element = 0; element < size_of(found); ++element) {
      const auto expected = difference([&](double step) { return loss(sheet, tensor, element, step); });
      REQUIRE(expected);
      CHECK(found.at(place_of(found, element)) == Approx(*expected).epsilon(1e-6).margin(1e-7));
    }
  }
}

}  // namespace

TEST_CASE("The gradient through a recurrence is a recurrence the other way", "[formula]") {
  auto sheet = two_sentences();
  compute_together(
      sheet, {"h[batch, t, hidden] = where(t < lengths, tanh(sum(d) W[0 + hidden, d] * x + where(t = 0, 0, "
              "sum(before) U[2 + hidden, before] * h[batch, t - 1, before])), 0)"});
  sheet.compute(parse_definition("result[batch, t, out] = sum(hidden) h * E"));
  std::mt19937 random(3);
  sheet.set("d_result", drawn(random, sheet.tensor("result")));
  CHECK(steps_around(sheet, "h") == std::set<std::string>{"h"});
  CHECK(steps_around(sheet, "result").empty());
  compute_together(sheet, {"d_h[batch, t, hidden] = gradient(h)"});
  CHECK(sheet.recurrence_of("d_h")->is_reversed);
  CHECK(text(*sheet.definition_of("d_h")) ==
        "d_h[batch, t, hidden] = where(t + 1 < size(t), sum(hidden') where(t + 1 < lengths[batch], "
        "d_h[batch, t + 1, "
        "hidden'] * (1 - h[batch, t + 1, hidden'] ^ 2) * U[2 + hidden', hidden], 0), 0) + sum(out) "
        "d_result[batch, t, "
        "out] * E[hidden, out]");
  compare_with_differences(sheet, {"x", "W", "U", "E"});
}

TEST_CASE("Gradients of steps that take one another take one another", "[formula]") {
  const bool is_backwards = GENERATE(false, true);
  CAPTURE(is_backwards);
  auto sheet = two_sentences();
  compute_together(
      sheet,
      {"sums[batch, t, gate] = sum(d) W * x[batch, t, d] + b",
       is_backwards
           ? "all[batch, t, gate] = sums + where(t = size(t) - 1, 0, sum(before) U[gate, before] * h[batch, "
             "t + 1, before])"
           : "all[batch, t, gate] = sums + where(t = 0, 0, sum(before) U[gate, before] * h[batch, t - 1, "
             "before])",
       "i[batch, t, hidden] = where(t < lengths, sigmoid(all[batch, t, 0 + hidden]), 0)",
       "f[batch, t, hidden] = where(t < lengths, sigmoid(all[batch, t, size(hidden) + hidden]), 0)",
       "g[batch, t, hidden] = where(t < lengths, tanh(all[batch, t, 2 * size(hidden) + hidden]), 0)",
       "o[batch, t, hidden] = where(t < lengths, sigmoid(all[batch, t, 3 * size(hidden) + hidden]), 0)",
       is_backwards
           ? "c[batch, t, hidden] = where(t = size(t) - 1, i * g, f * c[batch, t + 1, hidden] + i * g)"
           : "c[batch, t, hidden] = where(t = 0, i * g, f * c[batch, t - 1, hidden] + i * g)",
       "h[batch, t, hidden] = o * tanh(c)"});
  sheet.compute(
      parse_definition("last[batch, hidden] = h[batch, lengths - 1, hidden] + c[batch, 0, hidden]"));
  sheet.compute(parse_definition("result[batch, t, out] = sum(hidden) (h + last) * E"));
  std::mt19937 random(3);
  sheet.set("d_result", drawn(random, sheet.tensor("result")));
  CHECK(steps_around(sheet, "c") == std::set<std::string>{"all", "c", "f", "g", "h", "i", "o"});
  sheet.compute(parse_definition("d_last[batch, hidden] = gradient(last)"));
  SECTION("by the names of those through which all ways go") {
    compute_together(sheet, {"d_h[batch, t, hidden] = gradient(h)", "d_c[batch, t, hidden] = gradient(c)"});
    compare_with_differences(sheet, {"x", "W", "U", "b", "E"});
  }
  SECTION("by the names of all") {
    compute_together(sheet, {"d_h[batch, t, hidden] = gradient(h)", "d_o[batch, t, hidden] = gradient(o)",
                             "d_c[batch, t, hidden] = gradient(c)", "d_i[batch, t, hidden] = gradient(i)",
                             "d_f[batch, t, hidden] = gradient(f)", "d_g[batch, t, hidden] = gradient(g)",
                             "d_all[batch, t, gate] = gradient(all)"});
    const auto& recurrence = *sheet.recurrence_of("d_h");
    CHECK(recurrence.is_reversed != is_backwards);
    for (const auto& [step, formula] : std::map<std::string, std::string>{
             {"d_h",
              "where(t + 1 < size(t), sum(gate) d_all[batch, t + 1, gate] * U[gate, hidden], 0) + "
              "where(lengths[batch] - 1 = t, d_last[batch, hidden], 0) + sum(out) d_result[batch, t, out] * "
              "E[hidden, out]"},
             {"d_c",
              "where(t + 1 < size(t), d_c[batch, t + 1, hidden] * f[batch, t + 1, hidden], 0) + d_h[batch, "
              "t, "
              "hidden] * o[batch, t, hidden] * (1 - tanh(c[batch, t, hidden]) ^ 2) + where(0 = t, "
              "d_last[batch, hidden], 0)"},
             {"d_i", "d_c[batch, t, hidden] * g[batch, t, hidden]"},
             {"d_f", "where(t = 0, 0, d_c[batch, t, hidden] * c[batch, t - 1, hidden])"}})
      if (!is_backwards) CHECK(text(sheet.definition_of(step)->expr) == formula);
    compare_with_differences(sheet, {"x", "W", "U", "b", "E"});
  }
}

TEST_CASE("A recurrence along a single place goes back as one, and reads the first entries of what is longer",
          "[formula]") {
  Sheet sheet;
  std::mt19937 random(7);
  sheet.set("x", drawn(random, {.axes = {"t", "d"}, .shape = {1, 2}}));
  sheet.set("W", drawn(random, {.axes = {"two", "d"}, .shape = {4, 2}}));
  sheet.axis("hidden", 2);
  compute_together(sheet,
                   {"h[t, hidden] = where(t = 0, x[t, 0 + hidden], x[t, 0 + hidden] * h[t - 1, hidden])"});
  sheet.compute(parse_definition("result[t, d] = sum(two) where(two < size(hidden), h[t, 0 + two], 1) * W"));
  sheet.set("d_result", drawn(random, sheet.tensor("result")));
  compute_together(sheet, {"d_h[t, hidden] = gradient(h)"});
  CHECK(text(*sheet.definition_of("d_h")) ==
        "d_h[t, hidden] = where(t + 1 < size(t), where(t + 1 = 0, 0, d_h[t + 1, hidden] * x[t + 1, 0 + "
        "hidden]), 0) + "
        "sum(d) d_result[t, d] * W[0 + hidden, d]");
  compare_with_differences(sheet, {"x", "W"});
}

TEST_CASE("The gradient goes through a recurrence that attends", "[formula]") {
  auto sheet = two_sentences();
  sheet.axis("query", 3);
  std::mt19937 random(3);
  sheet.set("y", drawn(random, {.axes = {"batch", "query", "hidden"}, .shape = {2, 3, 2}}));
  sheet.set("s_0", drawn(random, {.axes = {"batch", "hidden"}, .shape = {2, 2}}));
  sheet.compute(parse_definition("keys[batch, t, hidden] = sum(d) x[batch, t, d] * W[0 + hidden, d]"));
  compute_together(
      sheet,
      {"asks[batch, query, hidden] = where(query = 0, s_0[batch, hidden], h[batch, query - 1, hidden])",
       "scores[batch, query, t] = sum(out) b[0 + out] * tanh(sum(hidden) asks[batch, query, hidden] * E + "
       "keys[batch, t, 0 + out])",
       "masked[batch, query, t] = where(t < lengths, scores, -inf)",
       "shares[batch, query, t] = softmax(t) masked",
       "context[batch, query, hidden] = sum(t) shares[batch, query, t] * keys[batch, t, hidden]",
       "h[batch, query, hidden] = tanh(y[batch, query, hidden] + context[batch, query, hidden] * asks[batch, "
       "query, hidden])"});
  sheet.compute(parse_definition("result[batch, query, out] = sum(hidden) (h + context) * E"));
  sheet.set("d_result", drawn(random, sheet.tensor("result")));
  compute_together(sheet, {"d_h[batch, query, hidden] = gradient(h)"});
  compare_with_differences(sheet, {"x", "W", "b", "E", "y", "s_0"});
}

TEST_CASE("A gradient that does not exist is refused", "[formula]") {
  auto sheet = attention();
  const auto refused = [&](const std::string& definition) {
    try {
      sheet.compute(parse_definition(definition));
    } catch (const Error& error) {
      return fmt::format("{}: {}", error.at(), error.what());
    }
    return std::string("nothing");
  };
  CHECK(
      refused("d_Y[token] = gradient(Y)") ==
      "22: gradient(Y): Y is no tensor; valid: K, Q, W_K, W_Q, X, d_output, masked, output, scaled, scores, "
      "weights");
  CHECK(refused("d[query, d_model] = gradient(d_output)") ==
        "20: no gradient leads to d_output; valid: a tensor from which a step follows whose gradient stands "
        "before, d_d_output of d_output");
  CHECK(
      refused("d_Q[query] = gradient(Q)") ==
      "22: the axis d_k of Q is neither of the result [query] nor summed over; valid: sum(d_k) …, Q[…] with "
      "an index, or a result with d_k");
  sheet.compute(parse_definition("moved[query, key] = again(weights, X = X + 1) * weights"));
  sheet.set("d_moved", sheet.tensor("weights"));
  CHECK(refused("d[query, key] = gradient(masked)") ==
        "16: the gradient by weights goes through moved, which has again(…)");
  auto recurrent = two_sentences();
  compute_together(recurrent, {"h[batch, t, d] = x + where(t = 0, 0, h[batch, t - 1, d])"});
  recurrent.set("d_h_sum", recurrent.tensor("x"));
  recurrent.compute(parse_definition("h_sum[batch, t, d] = 2 * h"));
  std::swap(sheet, recurrent);
  CHECK(refused("d_x[batch, t, d] = gradient(x)") ==
        "19: the gradient by h comes back to h itself at another place; valid: before it a step of its own, "
        "d_h[…] = gradient(h)");
  CHECK(refused("d_Q[query, d_k] = gradient(Q + 1)") == "29: expected ')', found '+'; valid: ), an operator");
}

}  // namespace formula
