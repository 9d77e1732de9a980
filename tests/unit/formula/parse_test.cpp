#include "formula/parse.hpp"

#include <catch2/catch.hpp>

namespace {

using formula::parse;

/// The error's place, and what it says.
std::pair<std::size_t, std::string> refused(const std::string& text) {
  try {
    parse(text);
  } catch (const formula::Error& error) {
    return {error.at(), error.what()};
  }
  return {text.size() + 1, "parsed"};
}

std::string repeated(const std::string& part, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += part;
  return all;
}

void require_same(const std::string& text, const formula::Expr& expected) {
  INFO(text << " is " << formula::text(parse(text)));
  CHECK(same(parse(text), expected));
}

}  // namespace

TEST_CASE("a formula is parsed, tight operators first") {
  using namespace formula;
  const auto a = name("a"), b = name("b"), c = name("c");
  require_same("a + b * c", a + b * c);
  require_same("a - b - c", (a - b) - c);
  require_same("a * b / c", (a * b) / c);
  require_same("a / b / c", (a / b) / c);
  require_same("a * -b ^ 2 ^ c", a * -call("^", {b, call("^", {2.0, c})}));
  require_same("-2 ^ b", -call("^", {2.0, b}));
  require_same("(-2) ^ -b", call("^", {-2.0, -b}));
  require_same("-1e-9 - - 1", Expr(-1e-9) - -Expr(1.0));
  require_same(
      "a <= b and not c = -inf or c",
      call("or", {call("and", {call("<=", {a, b}), call("not", {call("=", {c, Expr(-HUGE_VAL)})})}), c}));
}

TEST_CASE("a function over an axis takes the product that follows or one operand") {
  using namespace formula;
  const auto a = name("a"), b = name("b");
  require_same("sum(k) a * b / 2", over("sum", "k", a * b) / Expr(2.0));
  require_same("a / sum(k) a * b", a / over("sum", "k", a * b));
  require_same("softmax(k) a * b", over("softmax", "k", a) * b);
  require_same("sum(a, b) a * b", over("sum", "a", over("sum", "b", a * b)));
  require_same("max(a, b)", call("max", {a, b}));
  require_same("max(a) b", over("max", "a", b));
  require_same("max(a, b) (b)", over("max", "a", over("max", "b", b)));
  require_same("max(a, b) - b", call("max", {a, b}) - b);
}

TEST_CASE("entries, lengths, choices and steps with other formulas are parsed") {
  using namespace formula;
  require_same("K[floor(head / group), key, d_k]",
               entry("K", {call("floor", {name("head") / name("group")}), name("key"), name("d_k")}));
  require_same("size(d_k)", size("d_k"));
  require_same("where(mask, one-step/scaled=0.1, -inf)",
               call("where", {name("mask"), name("one-step/scaled=0.1"), Expr(-HUGE_VAL)}));
  const auto again = parse("again(weights, X = X + 1, mask = a <= b)");
  CHECK(again->name == "weights");
  CHECK(again->changed == std::vector<std::string>{"X", "mask"});
  CHECK(same(again->parts[0], name("X") + Expr(1.0)));
  CHECK(parse("  a + b")->parts[1]->at == 6);

  const auto definition = parse_definition("causal/scores[query, key] = sum(d_k) Q * K");
  CHECK(definition.name == "causal/scores");
  CHECK(definition.axes == Axes{"query", "key"});
  CHECK(same(definition.expr, over("sum", "d_k", name("Q") * name("K"))));
  CHECK(parse_definition("x = 1").axes.empty());
  CHECK(parse_declaration("Q[query, d_k]").axes == Axes{"query", "d_k"});
}

TEST_CASE("what users of Python write without blanks, and their power, is read where it can mean one thing") {
  using namespace formula;
  require_same("scores/sqrt(d_k)", name("scores") / call("sqrt", {name("d_k")}));
  require_same("2-exp(x)", Expr(2.0) - call("exp", {name("x")}));
  require_same("x ** 2 + d_k**(1 / 2)", parse("x ^ 2 + d_k ^ (1 / 2)"));
  CHECK(same(parse("step=0/scaled"), name("step=0/scaled")));
  CHECK(refused("scores/squareroot(d_k)").second.find("scores/squareroot is no function") == 0);
}

TEST_CASE("what is no formula is refused at its place, with what would be valid") {
  using Refusal = std::pair<std::size_t, std::string>;
  CHECK(refused("a + )") ==
        Refusal{4, "expected an operand, found ')'; valid: a number, a name, a function, ("});
  CHECK(refused("a +") ==
        Refusal{3, "expected an operand, found the end; valid: a number, a name, a function, ("});
  CHECK(refused("a b") ==
        Refusal{2,
                "expected an operator or the end, found 'b'; valid: + - * / ^ < <= = and or, "
                "each between blanks"});
  CHECK(refused("a- b").second ==
        "expected an operator or the end, found 'b' ('a-' is one name: operators stand between blanks); "
        "valid: + - "
        "* / ^ < <= = and or, each between blanks");
  CHECK(refused("a / b * c") == Refusal{2, "a / b * c may mean two things; valid: (a / b) * c, a / (b * c)"});
  CHECK(refused("2 * softmix(key) x").first == 4);
  CHECK(refused("2 * softmix(key) x").second.find("softmix is no function; did you mean softmax?") == 0);
  CHECK(
      refused("softmax(scaled)") ==
      Refusal{15, "softmax goes over an axis, which stands in its parentheses; valid: softmax(key) scores"});
  CHECK(refused("softmax(a, b) x") == Refusal{11, "softmax goes over one axis; valid: softmax(a)"});
  CHECK(refused("sum(a + 1) x") == Refusal{4, "sum goes over axes; valid: the name of one"});
  CHECK(refused("where(a, b)") == Refusal{0, "where of 2 operands; valid: 3"});
  CHECK(refused("1e999") == Refusal{0, "1e999 is no number; valid: 2, 0.5, 1e-9"});
  CHECK(refused("again(X, X=1)").first == 12);
  CHECK(refused("a < b < c").first == 6);
  for (const auto* const text :
       {"", "()", "f()", "K[]", "K[a", "sum() x", "and", "a and", "size(2)", "again()", "?"}) {
    INFO(text);
    CHECK(refused(text).first <= std::string(text).size());
  }
  CHECK_THROWS_AS(formula::parse_definition("a + b"), formula::Error);
  CHECK_THROWS_AS(formula::parse_definition("a[query = 1"), formula::Error);
  CHECK_THROWS_AS(formula::parse_declaration("a[query] b"), formula::Error);
}

TEST_CASE("formulas that are deep or long are refused") {
  CHECK_NOTHROW(parse(repeated("(", 63) + "a" + repeated(")", 63)));
  for (const auto* const opening :
       {"(", "-", "exp(", "K[", "not ", "a ^ ", "sum(k) ", "softmax(k) ", "a ^ -"}) {
    INFO(opening);
    CHECK(refused(repeated(opening, 500)).second.find("more than 64 levels") != std::string::npos);
  }
  CHECK_NOTHROW(parse("a" + repeated(" + a", 999)));
  CHECK(refused("a" + repeated(" + a", 1000)).second.find("2000 operands") != std::string::npos);
  CHECK(refused("sum(a" + repeated(",a", 2000) + ") x").second.find("2000 operands") != std::string::npos);
  CHECK(refused(repeated("a", 10'001)) ==
        std::pair(std::size_t{10'000}, std::string("a formula of 10001 bytes; valid: at most 10000")));
}

TEST_CASE("a byte has a line and a column in characters") {
  const auto place = formula::place_of("ω +\n ωω )", 11);
  CHECK(place.line == 2);
  CHECK(place.column == 5);
}

TEST_CASE("a name may have formulas in it, whose values then stand there") {
  const auto hop = parse("where(hop = 0, 1, hop={hop - 1}/m[query] * sum(step={t}/key) X)");
  const auto& product = hop->parts[2];
  CHECK(product->parts[0]->name == "hop={hop - 1}/m");
  CHECK(product->parts[1]->axis == "step={t}/key");
  const auto value = [](const formula::Expr& x) { return x->op == formula::Op::name ? 2.0 : 0.5; };
  CHECK(formula::with_values("step={t}/layer={t}/x", value) == "step=2/layer=2/x");
  CHECK(formula::with_values("x", value) == "x");
  CHECK_THROWS_AS(formula::with_values("step={0.5}/x", value), formula::Error);
  CHECK(refused("a{t") == std::pair(std::size_t{1}, std::string("a { without its }")));
  CHECK(refused("1 + a={t +}").first == 10);
  CHECK(refused("a{b{c}}").second.find("braces in the braces") == 0);
}
