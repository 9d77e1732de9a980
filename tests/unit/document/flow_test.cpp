#include "document/flow.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <catch2/catch.hpp>

#include "attn/text/width.hpp"
#include "formula/parse.hpp"

namespace {

using Lines = std::vector<std::string>;
using document::Flow;
using document::Graph;

Lines drawing(const Graph& graph, std::size_t columns = 78) {
  return document::drawn(document::layout_of(graph, columns));
}

/// Tensors of two samples, of which only axes and lengths are known.
class Steps {
 public:
  Steps() {
    const std::map<std::string, std::size_t> lengths = {{"batch", 2}, {"token", 5}, {"query", 5}, {"key", 5},
                                                        {"d", 8},     {"d_k", 4},   {"head", 2},  {"d_v", 4},
                                                        {"wide", 8},  {"inner", 16}};
    for (const auto& [axis, length] : lengths) sheet_.axis(axis, length);
  }

  Steps& input(const std::string& name, formula::Axes axes, bool is_truth = false) {
    auto view = view_of(std::move(axes));
    view.is_truth = is_truth;
    sheet_.set(name, std::move(view));
    return *this;
  }

  Steps& step(const std::string& text) {
    auto definition = sheet_.resolved(formula::parse_definition(text));
    auto view = view_of(definition.axes);
    sheet_.keep(std::move(definition), std::move(view));
    return *this;
  }

  Lines flow(Flow flow, std::size_t columns = 78) const {
    return drawing(document::graph_of(sheet_, flow), columns);
  }

 private:
  formula::View view_of(formula::Axes axes) const {
    formula::View view{.axes = axes, .strides = std::vector<std::ptrdiff_t>(axes.size())};
    for (const auto& axis : axes) view.shape.push_back(sheet_.size_of(axis));
    return view;
  }

  formula::Sheet sheet_;
};

Steps projections() {
  Steps steps;
  steps.input("X", {"batch", "token", "d"});
  for (const std::string name : {"Q", "K", "V"}) {
    steps.input("W_" + name, {"d", "d_k"});
    const auto* axis = name == "Q" ? "query" : "key";
    steps.step(fmt::format("{0}[{1}, d_k] = sum(d) X[{1}, d] * W_{0}", name, axis));
  }
  return steps;
}

Steps attention() {
  auto steps = projections();
  steps.step("scores[query, key] = sum(d_k) Q * K")
      .step("scaled[query, key] = scores / sqrt(d_k)")
      .step("weights[query, key] = softmax(key) scaled")
      .step("output[query, d_k] = sum(key) weights * V");
  return steps;
}

}  // namespace

TEST_CASE("A chain of steps stands in one line, and only where the shape changes a tensor is named",
          "[flow]") {
  Steps steps;
  steps.input("X", {"batch", "token", "d"})
      .input("W_1", {"d", "inner"})
      .input("W_2", {"inner", "d"})
      .input("b", {"inner"})
      .step("before[token, inner] = sum(d) X * W_1 + b")
      .step("hidden[token, inner] = relu(before)")
      .step("output[token, d] = sum(inner) hidden * W_2");
  CHECK(steps.flow({.results = {"output"}}) ==
        Lines{"X [5×8] → W_1 + b → relu → hidden [5×16] → W_2 → output [5×8]",
              "with W_1 [8×16], b [16], W_2 [16×8]"});
  CHECK(steps.flow({.results = {"before", "output"}})[0] ==
        "X [5×8] → W_1 + b → before [5×16] → relu → hidden [5×16] → W_2 → output [5×8]");
  CHECK(steps.flow({.results = {"output"}, .words = {{"hidden", "keep what is positive"}}})[0] ==
        "X [5×8] → W_1 + b → keep what is positive → hidden [5×16] → W_2 → output [5×8]");
  CHECK(steps.flow({.results = {"hidden"}, .sources = {"before"}}) ==
        Lines{"before [5×16] → relu → hidden [5×16]"});
}

TEST_CASE("Two tensors join in the row between them, what begins with one branches", "[flow]") {
  CHECK(attention().flow({.results = {"output"}, .sources = {"Q", "K", "V"}}) ==
        Lines{"Q [5×4] ┐",                                          //
              "        ├ Q Kᵀ → / √4 → softmax → weights [5×5] ┐",  //
              "K [5×4] ┘                                       ├ output [5×4]",
              "V [5×4] ────────────────────────────────────────┘"});
  CHECK(attention().flow({.results = {"weights"}}) ==
        Lines{"X [5×8] ┬ W_Q → Q [5×4] ┐",  //
              "        │               ├ Q Kᵀ → / √4 → softmax → weights [5×5]",
              "        └ W_K → K [5×4] ┘",  //
              "with W_Q [8×4], W_K [8×4]"});
}

TEST_CASE("Three tensors join in the row of the second", "[flow]") {
  const Graph graph = {{{"a", "2"}, {"b", "2"}, {"c", "2"}, {"all", "6", {}, {0, 1, 2}}}, {}};
  CHECK(drawing(graph) == Lines{"a [2] ┐", "b [2] ┼ all [6]", "c [2] ┘"});
}

TEST_CASE("Steps that are wider than the columns go on below from the names that were reached", "[flow]") {
  CHECK(attention().flow({.results = {"output"}}, 70) ==
        Lines{"X [5×8] ┬ W_Q → Q [5×4] ┐", "        ├ W_K → K [5×4] ┴ Q Kᵀ → / √4 → softmax → weights [5×5]",
              "        └ W_V → V [5×4]",  //
              "weights ┐",                //
              "V ──────┴ output [5×4]",   //
              "with W_Q [8×4], W_K [8×4], W_V [8×4]"});
  for (std::size_t columns = 45; columns <= 90; ++columns)
    for (const auto& line : attention().flow({.results = {"output"}}, columns)) {
      CAPTURE(columns, line);
      CHECK(attn::display_width(line) <= columns);
    }
}

TEST_CASE("A tensor from which the other operand follows stands in words", "[flow]") {
  auto steps = attention();
  steps.input("W_O", {"d_k", "d"})
      .step("mixed[query, d] = sum(d_k) output * W_O")
      .step("residual[query, d] = mixed + X[query, d]")
      .step("normalized[query, d] = layer_norm(d) residual");
  const auto lines = steps.flow({.results = {"normalized"}, .sources = {"output", "X"}});
  CHECK(lines == Lines{"output [5×4] → W_O → mixed [5×8] ┐",
                       "                                 ├ mixed + X → layer_norm → normalized [5×8]",
                       "X [5×8] ─────────────────────────┘", "with W_O [4×8]"});
  const auto whole = steps.flow({.results = {"mixed", "normalized"}});
  CHECK(whole.at(whole.size() - 2) == "output → W_O → mixed [5×8] → + X → layer_norm → normalized [5×8]");
}

TEST_CASE("A tensor that several steps need is drawn once", "[flow]") {
  Steps steps;
  steps.input("X", {"batch", "token", "d"})
      .input("P", {"batch", "token", "d"})
      .step("sum[token, d] = X + P")
      .step("squares[token, d] = sum ^ 2")
      .step("roots[token, d] = sqrt(sum)")
      .step("output[token, d] = squares - roots");
  CHECK(steps.flow({.results = {"output"}}) == Lines{"X [5×8] ┐",            //
                                                     "P [5×8] ┴ sum [5×8]",  //
                                                     "sum ┬ sum² → squares [5×8] ┐",
                                                     "    └ √sum → roots [5×8] ──┴ output [5×8]"});
}

TEST_CASE("A mask that somebody gives is a word, one that is computed a tensor", "[flow]") {
  Steps given;
  given.input("scores", {"batch", "query", "key"})
      .input("mask", {"batch", "query", "key"}, true)
      .step("causal[query, key] = key <= query")
      .step("masked[query, key] = where(mask, scores, -inf)")
      .step("weights[query, key] = softmax(key) masked")
      .step("looking_back/masked[query, key] = where(causal, scores, -inf)")
      .step("looking_back/weights[query, key] = softmax(key) looking_back/masked");
  CHECK(given.flow({.results = {"weights"}, .words = {{"masked", "mask"}}}) ==
        Lines{"scores [5×5] → mask → softmax → weights [5×5]"});
  CHECK(given.flow({.results = {"weights"}}) ==
        Lines{"scores [5×5] → where mask, −∞ elsewhere → softmax → weights [5×5]"});
  CHECK(given.flow({.results = {"looking_back/weights"}, .words = {{"looking_back/masked", "hide"}}}) ==
        Lines{"scores [5×5] ┐", "             ├ hide → softmax → weights [5×5]", "causal [5×5] ┘"});
}

TEST_CASE("Where a formula is too long for a word the tensor has its name", "[flow]") {
  Steps steps;
  steps.input("x", {"batch", "token", "d"})
      .step("cubic[token, d] = x * x * x / 6 + x * x / 2 + x + 1")
      .step("output[token, d] = tanh(cubic)");
  CHECK(steps.flow({.results = {"output"}}) == Lines{"x [5×8] → cubic [5×8] → tanh → output [5×8]"});
}

TEST_CASE("Heads are split and merged in words that tell the shapes on the way", "[flow]") {
  Steps steps;
  steps.input("Q", {"batch", "query", "wide"})
      .step("Q_heads[head, query, d_k] = Q[query, head * size(d_k) + d_k]")
      .step("again[query, wide] = Q_heads[floor(wide / size(d_k)), query, mod(wide, size(d_k))]");
  CHECK(steps.flow({.results = {"again"}}, 100) ==
        Lines{"Q [5×8] → reshape [5×2×4] → transpose → Q_heads [2×5×4] → transpose [5×2×4] → reshape → "
              "again [5×8]"});
}
