#include "formula/gradient.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <optional>
#include <random>

#include "formula/parse.hpp"
#include "formula/text.hpp"
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

/// Σ d_result · result, with one element of `tensor` moved by `step`.
double loss(const Sheet& given, const std::string& tensor, std::size_t element, double step) {
  Sheet sheet;
  for (const auto& [axis, length] : given.axes()) sheet.axis(axis, length);
  for (const auto& [name, view] : given.tensors())
    if (given.definition_of(name) == nullptr)
      sheet.set(name, name == tensor ? moved(view, element, step) : view);
  for (const auto& definition : given.definitions()) sheet.compute(definition);
  const auto &result = sheet.tensor("result"), &d_result = sheet.tensor("d_result");
  double sum = 0.0;
  for (std::size_t i = 0; i < size_of(result); ++i)
    sum += result.at(place_of(result, i)) * d_result.at(place_of(d_result, i));
  return sum;
}

/// Nothing where the loss is not finite, or has a kink nearby.
std::optional<double> difference(const std::function<double(double step)>& moved) {
  constexpr double h = 1e-5;
  const double before = moved(-h), here = moved(0.0), after = moved(h), farther = moved(2.0 * h);
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
    return Definition{"d_" + tensor, sheet.tensor(tensor).axes, gradient(sheet, tensor)};
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

TEST_CASE("The gradient of a tensor that a part reads at an index is that of the whole tensor", "[formula]") {
  auto sheet = attention();
  const Expr K(Node{.op = Op::entry, .name = "K", .parts = {Expr(2.0), name("d_k")}});
  const auto at_index =
      sheet.resolved({"d_K", {"key", "d_k"}, Expr(Node{.op = Op::call, .name = "gradient", .parts = {K}})});
  const auto whole = sheet.resolved(parse_definition("d_K[key, d_k] = gradient(K)"));
  CHECK(page_text(at_index.expr) == page_text(whole.expr));
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
  CHECK(refused("d_Q[query, d_k] = gradient(Q + 1)") == "29: expected ')', found '+'; valid: ), an operator");
}

}  // namespace formula
