#include <rapidcheck/catch.h>

#include <cmath>
#include <cstdlib>

#include "formula/parse.hpp"

namespace {

using formula::Expr;
using formula::parse;

/// Tries `property` `times` times, or as often as the environment variable ATTNLAB_FORMULAS says.
template <class Property>
void try_often(const std::string& what, int times, const Property& property) {
  const char* const wanted = std::getenv("ATTNLAB_FORMULAS");
  const int each =
      (wanted == nullptr ? times : std::stoi(wanted)) / 100;  // rapidcheck goes through it 100 times
  rc::prop(what, [&] {
    for (int i = 0; i < each; ++i) property();
  });
}

template <class T>
T any_of(std::initializer_list<T> all) {
  return *rc::gen::elementOf(std::vector<T>(all));
}

std::string any_name() {
  return any_of<std::string>({"a", "d_k", "Q", "one-step/x", "T=0.1", "ω", "sum", "size"});
}

double any_number() {
  const auto x = std::abs(*rc::gen::arbitrary<double>()) * std::pow(10.0, *rc::gen::inRange(-300, 290));
  const auto number = any_of({x, 0.0, 1.0, 1e-9, HUGE_VAL, 1e9, 1.0 / 3.0});
  return *rc::gen::arbitrary<bool>() ? -number : number;
}

/// A formula that parse can make.
Expr any_formula(int depth) {
  const auto part = [&] { return any_formula(depth - 1); };
  switch (*rc::gen::inRange(0, depth == 0 ? 3 : 12)) {
    case 0:
      return any_number();
    case 1:
      return formula::name(any_name());
    case 2:
      return formula::size(any_name());
    case 3:
      return formula::entry(any_name(), {part(), part()});
    case 4:
      return formula::call(any_of<std::string>({"neg", "not", "exp", "sqrt", "sigmoid"}), {part()});
    case 5:
      return formula::call("where", {part(), part(), part()});
    case 6:
    case 7:
      return formula::over(any_of<std::string>({"sum", "max", "argmax", "mean", "softmax", "layer_norm"}),
                           any_name(), part());
    case 8:
      return Expr({.op = formula::Op::again, .name = any_name(), .parts = {part()}, .changed = {any_name()}});
    default:
      return formula::call(
          any_of<std::string>({"+", "-", "*", "/", "^", "<", "<=", "=", "and", "or", "max", "mod"}),
          {part(), part()});
  }
}

/// A formula whose numbers have the same bits, too.
bool identical(const Expr& x, const Expr& y) {
  return same(x, y) && formula::text(x) == formula::text(y);
}

/// The text with some bytes left out, doubled, exchanged for others or moved.
std::string mutated(std::string text) {
  const std::vector<std::string> pieces = {"(",    ")",     "[",       "]",      ",",   " ",  "-",
                                           "*",    "/",     "^",       "=",      "<",   "\n", "1e",
                                           "\xFF", " not ", "sum(a) ", "again(", "inf", "ω"};
  for (int changes = *rc::gen::inRange(1, 4); changes > 0; --changes) {
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size() + 1);
    const auto count = *rc::gen::inRange<std::size_t>(0, 4);
    text.replace(at, std::min(count, text.size() - at), *rc::gen::elementOf(pieces));
  }
  return text;
}

std::string again(const std::string& text) {
  return formula::text(parse(text));
}

std::string on_page(const std::string& text) {
  return formula::page_text(parse(text));
}

Expr entry(const std::string& tensor, const std::vector<std::string>& axes) {
  std::vector<Expr> indices;
  for (const auto& axis : axes) indices.push_back(formula::position(axis));
  return formula::entry(tensor, indices);
}

Expr sum(const std::string& axis, const Expr& x) {
  return formula::over("sum", axis, x);
}

}  // namespace

TEST_CASE("for any formula: its text is parsed to the same formula") {
  try_often("text", 2000, [] {
    const auto x = any_formula(*rc::gen::inRange(0, 6));
    const auto text = formula::text(x);
    if (text.size() <= 10'000) RC_ASSERT(identical(parse(text), x));
    RC_ASSERT(!formula::page_text(x).empty());
  });
}

TEST_CASE("for any text near a formula: it is parsed or refused at a place in it") {
  try_often("mutated", 10'000, [] {
    const auto text = mutated(formula::text(any_formula(*rc::gen::inRange(0, 4))));
    try {
      const auto x = parse(text);
      RC_ASSERT(identical(parse(formula::text(x)), x));
      formula::page_text(x);
      formula::mathml(x);
    } catch (const formula::Error& error) {
      RC_ASSERT(error.at() <= text.size());
      RC_ASSERT(!std::string(error.what()).empty());
      formula::place_of(text, error.at());
    }
  });
}

TEST_CASE("the text of a formula has no parentheses that it can do without") {
  for (const auto* const text : {"sum(d_k) Q[query, d_k] * K[key, d_k]",
                                 "where(max(key) x = -inf, 0, exp(x - max(key) x))",
                                 "stack(way, a, b + c, 0)",
                                 "a / (b * c)",
                                 "sum(k) a * b / sum(k) c",
                                 "(sum(k) a) * b",
                                 "a * sum(k) b",
                                 "softmax(key) x * y",
                                 "softmax(key) (x * y)",
                                 "sum(key) (-x * y)",
                                 "sum(a, b) x ^ 2",
                                 "(a + b) ^ -c",
                                 "a - (b - c)",
                                 "not a and (b or c)",
                                 "- 1",
                                 "-x ^ 2",
                                 "(-x) ^ 2",
                                 "a * (sum(k) b) * c",
                                 "-(sum(k) a) * b",
                                 "(a / b) ^ 0.5 * c",
                                 "1e-09 + 0.1",
                                 "again(w, X = X + (a = 1))"})
    CHECK(again(text) == text);
  CHECK(again("((a)) * (b * c) + (d * e)") == "a * (b * c) + d * e");
  CHECK(again("sum(a) (sum(b) (x))") == "sum(a, b) x");
  CHECK(formula::text(formula::parse_definition("scores[query,key] = a")) == "scores[query, key] = a");
  CHECK(formula::text(formula::parse_definition("scores = (a)")) == "scores = a");
}

TEST_CASE("pages print a sum of products as a product of matrices where it is one") {
  const auto product = [](const Expr& a, const Expr& b, const std::string& axis = "d") {
    return formula::page_text(sum(axis, a * b));
  };
  CHECK(product(entry("Q", {"query", "d"}), entry("K", {"key", "d"})) == "Q Kᵀ");
  CHECK(product(entry("X", {"query", "d"}), entry("W_Q", {"d", "d_k"})) == "X W_Q");
  CHECK(product(entry("dY", {"d", "query"}), entry("X", {"d", "key"})) == "dYᵀ X");
  CHECK(product(entry("Q_heads", {"batch", "head", "query", "d"}),
                entry("K_heads", {"batch", "head", "key", "d"})) == "Q_heads K_headsᵀ");
  CHECK(product(entry("hidden", {"query", "key", "d"}), entry("v_a", {"d"})) == "hidden · v_a");
  CHECK(product(entry("v_a", {"d"}), entry("hidden", {"query", "key", "d"})) == "v_a · hidden");
  CHECK(product(sum("e", entry("queries", {"query", "e"}) * entry("W_a", {"e", "d"})),
                entry("keys", {"key", "d"})) == "queries W_a keysᵀ");
  CHECK(product(entry("heads", {"head", "query", "d"}), entry("weights", {"query", "d"})) ==
        "Σ_d heads · weights");
  CHECK(product(entry("a", {"query", "d"}), entry("b", {"query", "d"})) == "Σ_d a · b");
  CHECK(product(entry("a", {"d", "query"}), entry("b", {"key", "query"})) == "Σ_d a · b");
  CHECK(formula::page_text(sum("d", entry("Q", {"query", "d"}) * entry("K", {"key", "d"})) /
                           formula::call("sqrt", {formula::size("d_k")})) == "Q Kᵀ / √d_k");
  CHECK(on_page("sum(d_k) Q[query, d_k] * K[floor(head / group), key, d_k]") == "Q K[⌊head / group⌋]ᵀ");
}

TEST_CASE("pages print formulas in the field's signs") {
  CHECK(on_page("softmax(key) masked") == "softmax(masked)");
  CHECK(on_page("where(mask, scaled, -inf)") == "scaled where mask, −∞ elsewhere");
  CHECK(on_page("where(mask, scaled, -1e9)") == "scaled where mask, −10⁹ elsewhere");
  CHECK(on_page("1 + where(mask, a, b)") == "1 + (a where mask, b elsewhere)");
  CHECK(on_page("where(both < n, Q[query, mod(both, n)], K[key, both - n])") == "[Q; K]");
  CHECK(on_page("where(both < n, Q[query, mod(both, n)], K[key, both - m])") ==
        "Q[query, both mod n] where both < n, K[key, both − m] elsewhere");
  CHECK(on_page("stack(way, a, b + c, 0)") == "[a; b + c; 0]");
  CHECK(on_page("key <= query and not hidden") == "key ≤ query ∧ ¬hidden");
  CHECK(on_page("scores / (sqrt(size(d_k)) * t)") == "scores / (√d_k · t)");
  CHECK(on_page("sum(head) weights / size(head)") == "Σ_head weights / size(head)");
  CHECK(on_page("(sum(d_a) v) * 2") == "(Σ_{d_a} v) · 2");
  CHECK(on_page("max(key) x - 1e-5") == "max_key x − 1e−05");
  CHECK(on_page("10000 ^ (-2 * pair / size(d))") == "10000^(−2 · pair / size(d))");
  CHECK(on_page("(x - mean(d) x) ^ 2") == "(x − mean_d x)²");
  CHECK(on_page("sqrt(a + b) + abs(x)") == "√(a + b) + |x|");
  CHECK(on_page("a - (b - c) + (d + e)") == "a − (b − c) + d + e");
  CHECK(on_page("again(weights, masked = masked + 10)") == "weights(masked = masked + 10)");
  CHECK(formula::page_text(formula::entry(
            "Q", {formula::position("query"),
                  formula::position("head") * formula::size("d_k") + formula::position("d_k")})) ==
        "Q[query, head · size(d_k) + d_k]");
}

TEST_CASE("MathML has fractions, roots and indices, and needs fewer parentheses") {
  const auto mathml = [](const std::string& text) { return formula::mathml(parse(text)); };
  CHECK(mathml("sum(d_k) Q[query, d_k] * K[key, d_k] / sqrt(size(d_k))") ==
        "<mfrac><mrow><mi>Q</mi><mo>&#x2062;</mo><msup><mi>K</mi><mi>T</mi></msup></mrow>"
        "<msqrt><msub><mi>d</mi><mi>k</mi></msub></msqrt></mfrac>");
  CHECK(mathml("1 / (a + b)") == "<mfrac><mn>1</mn><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow></mfrac>");
  CHECK(mathml("x < -inf") == "<mrow><mi>x</mi><mo>&lt;</mo><mrow><mo>−</mo><mn>∞</mn></mrow></mrow>");
  CHECK(mathml("sum(key) weights") ==
        "<mrow><munder><mo>Σ</mo><mi>key</mi></munder><mo>&#x2062;</mo><mi>weights</mi></mrow>");
}

TEST_CASE("a formula that sums in sums is printed in no time") {
  std::string text = "a";
  for (int i = 0; i < 30; ++i) text = "sum(k) A[" + text + ", k] * B";
  CHECK(on_page(text).size() > 100);
  CHECK(again(text) == text);
}
