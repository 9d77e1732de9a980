#include "formula/numpy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>

#include "formula/parse.hpp"
#include "random_formula.hpp"
#include "tests/unit/temporary_file.hpp"

namespace formula {

namespace {

std::vector<double> numbers_of(const View& view) {
  const auto count = attn::element_count(view.shape);
  const auto* numbers = static_cast<const double*>(view.data);
  const auto* truths = static_cast<const bool*>(view.data);
  return view.is_truth ? std::vector<double>(truths, truths + count)
                       : std::vector<double>(numbers, numbers + count);
}

/// Whether the lines are written for one sample.
bool is_sample(const Sheet& sheet) {
  return sheet.has_axis("batch") && sheet.size_of("batch") == 1;
}

std::vector<std::size_t> shape_of(const View& view, bool is_sample) {
  std::vector<std::size_t> shape;
  for (std::size_t i = 0; i < view.axes.size(); ++i)
    if (!is_sample || view.axes[i] != "batch") shape.push_back(view.shape[i]);
  return shape;
}

std::string python_number(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0.0 ? "-inf" : "inf";
  return fmt::format("{}", number);
}

/// With the type that the lab's scripts give it.
std::string python_array(const View& view, bool is_sample) {
  std::vector<std::string> numbers;
  for (const double number : numbers_of(view)) numbers.push_back(python_number(number));
  return fmt::format("np.array([{}], {}).reshape([{}])", fmt::join(numbers, ","),
                     view.is_truth   ? "bool"
                     : view.is_whole ? "int"
                                     : "float",
                     fmt::join(shape_of(view, is_sample), ","));
}

const char* const script_head = R"(
import math, sys
import numpy as np
from numpy import inf, nan
np.seterr(all="ignore")
failed = 0
def expect(name, lines, computed, expected):
    global failed
    size = np.max(np.abs(expected[np.isfinite(expected)]), initial=1.0)
    if np.shape(computed) == expected.shape and np.allclose(computed, expected, rtol=0, atol=1e-9 * size, equal_nan=True):
        return
    failed += 1
    if failed < 4: print(name, lines, computed, "is not", expected, sep="\n")
def run(name, lines, names, expected):
    try:
        exec(lines, names)
    except Exception as error:
        names["result"] = error
    expect(name, lines, names["result"], expected)
)";

std::size_t count_of(const char* variable, std::size_t count) {
  const char* text = std::getenv(variable);
  return text == nullptr ? count : std::strtoul(text, nullptr, 10);
}

}  // namespace

TEST_CASE("numpy_lines compute what the sheet does, for random formulas") {
  const auto seed = count_of("FORMULA_SEED", std::random_device()());
  const auto count = count_of("RANDOM_FORMULAS", 2000);
  RandomFormulas formulas(static_cast<unsigned>(seed));
  std::string script = script_head;
  for (std::size_t i = 0; i < count; ++i) {
    const auto [sheet, definition] = formulas();
    std::string names;
    for (const auto& [name, view] : sheet.tensors())
      names += fmt::format("\"{}\": {}, ", identifier(name), python_array(view, is_sample(sheet)));
    auto lines = numpy_functions(definition);
    for (const auto& line : numpy_lines(sheet, definition, is_sample(sheet))) lines.push_back(line);
    script +=
        fmt::format("run({}, '''{}''', {{\"np\": np, \"math\": math, {}}}, {})\n", i, fmt::join(lines, "\n"),
                    names, python_array(sheet.value(definition), is_sample(sheet)));
  }
  const TemporaryFile file(script + "sys.exit(failed > 0)\n");
  CAPTURE(seed);
  CHECK(std::system(fmt::format("{} {}", PYTHON_WITH_NUMPY, file.path()).c_str()) == 0);
}

namespace {

std::string cpp_array(const View& view, bool is_sample) {
  std::vector<std::string> numbers;
  for (const double number : numbers_of(view)) {
    const auto text = std::isnan(number)   ? "lab::nan"
                      : std::isinf(number) ? "lab::inf"
                                           : fmt::format("{}", number);
    numbers.push_back(std::isinf(number) && number < 0.0 ? "-" + text : text);
  }
  return fmt::format("array<{}>({{{}}}, {{{}}})", view.is_truth ? "bool" : "double",
                     fmt::join(shape_of(view, is_sample), ", "), fmt::join(numbers, ", "));
}

const char* const program_head = R"(
#include <cstdio>

template <class Element>
xt::xarray<Element> array(const std::vector<std::size_t>& shape, const std::vector<double>& numbers) {
  xt::xarray<Element> result = xt::zeros<Element>(shape);
  for (std::size_t i = 0; i < numbers.size(); ++i) result.flat(i) = static_cast<Element>(numbers[i]);
  return result;
}

bool failed = false;

void expect(int i, const xt::xarray<double>& computed, const xt::xarray<double>& expected) {
  double size = 1.0;
  for (const double x : expected) size = std::isfinite(x) ? std::max(size, std::abs(x)) : size;
  bool is_equal = computed.shape() == expected.shape();
  for (std::size_t j = 0; is_equal && j < expected.size(); ++j) {
    const double x = computed.flat(j), y = expected.flat(j);
    is_equal = x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= 1e-9 * size;
    if (!is_equal) std::printf("formula %d: entry %zu is %.17g, not %.17g\n", i, j, x, y);
  }
  failed = failed || !is_equal;
}
)";

/// A program of the lines in xtensor of formulas called `result`.
class XtensorProgram {
 public:
  void add(const Sheet& sheet, const Definition& definition) {
    text_ += fmt::format("void formula_{}() {{\n", count_);
    for (const auto& [name, view] : sheet.tensors())
      text_ += fmt::format("  [[maybe_unused]] const auto {} = {};\n", identifier(name),
                           cpp_array(view, is_sample(sheet)));
    for (const auto& line : xtensor_lines(sheet, definition, is_sample(sheet))) text_ += "  " + line + "\n";
    text_ += fmt::format("  expect({}, result, {});\n}}\n", count_,
                         cpp_array(sheet.value(definition), is_sample(sheet)));
    calls_ += fmt::format("  formula_{}();\n", count_++);
  }

  /// Whether it compiles and computes what the sheets do.
  bool agrees() const {
    const TemporaryFile source(text_ + "int main() {\n" + calls_ + "  return failed;\n}\n");
    return std::system(fmt::format("{0} -std=c++20 -O0 -x c++ {1} -o {1}.program -lopenblas && {1}.program; "
                                   "result=$?; rm -f {1}.program; exit $result",
                                   COMPILER_WITH_XTENSOR, source.path())
                           .c_str()) == 0;
  }

 private:
  std::string text_ = xtensor_head() + program_head, calls_;
  std::size_t count_ = 0;
};

}  // namespace

TEST_CASE("xtensor_lines compile and compute what the sheet does, for random formulas", "[thorough]") {
  const auto seed = count_of("FORMULA_SEED", std::random_device()());
  const auto count = count_of("RANDOM_PROGRAM", 100);
  RandomFormulas formulas(static_cast<unsigned>(seed));
  XtensorProgram program;
  for (std::size_t i = 0; i < count; ++i) {
    const auto [sheet, definition] = formulas();
    program.add(sheet, definition);
  }
  CAPTURE(seed);
  CHECK(program.agrees());
}

TEST_CASE("The largest and the smallest keep a NaN in xtensor, too", "[xtensor]") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  auto numbers = std::make_shared<Numbers>(Numbers::shape_type{3, 2});
  const std::vector<double> elements = {nan, 1.0, 2.0, nan, -1.0, 3.0};
  std::copy(elements.begin(), elements.end(), numbers->begin());
  XtensorProgram program;
  for (const char* formula :
       {"result[row] = max(key) x", "result[row] = min(key) x", "result[key] = max(row) x",
        "result = max(row, key) x", "result = min(row, key) x", "result[row, key] = x - max(key) x",
        "result[row, key] = max(x, 1.5)", "result[row, key] = max(1.5, x)", "result[row, key] = min(x, 1.5)",
        "result[row, key] = min(1.5, x)", "result[row, key] = relu(x)", "result[row] = max(key) mod(x, 2)",
        "result[row] = min(key) mod(x, 2)", "result[row, key] = max(mod(x, 2), 1)",
        "result[row, key] = min(1, mod(x, 2))"}) {
    Sheet sheet;
    sheet.set("x", view_of({"row", "key"}, std::shared_ptr<const Numbers>(numbers)));
    program.add(sheet, sheet.resolved(parse_definition(formula)));
  }
  CHECK(program.agrees());
}

namespace {

/// Axes of several lengths, and inputs [query×d_k], [key×d_k] … by their usual names.
class Attention {
 public:
  Attention() {
    for (const auto& [axis, size] : std::vector<std::pair<std::string, std::size_t>>{{"batch", 1},
                                                                                     {"query", 5},
                                                                                     {"key", 5},
                                                                                     {"d_k", 4},
                                                                                     {"d_v", 4},
                                                                                     {"d_model", 8},
                                                                                     {"feature", 8},
                                                                                     {"d_out", 3},
                                                                                     {"head", 2},
                                                                                     {"query_head", 4},
                                                                                     {"way", 3}})
      sheet_.axis(axis, size);
    for (const auto& [name, axes] :
         std::vector<std::pair<std::string, Axes>>{{"Q", {"batch", "query", "d_k"}},
                                                   {"K", {"batch", "key", "d_k"}},
                                                   {"V", {"batch", "key", "d_v"}},
                                                   {"X", {"batch", "query", "d_model"}},
                                                   {"W_Q", {"d_model", "feature"}},
                                                   {"W_O", {"head", "d_v", "d_out"}},
                                                   {"bias", {"feature"}},
                                                   {"slope", {"head"}}}) {
      Numbers::shape_type shape;
      for (const auto& axis : axes) shape.push_back(sheet_.size_of(axis));
      sheet_.set(name, view_of(axes, std::make_shared<const Numbers>(shape, 0.5)));
    }
  }

  std::string numpy(const std::string& text) {
    return fmt::format("{}", fmt::join(numpy_lines(sheet_, added(text), true), "\n"));
  }

  std::string xtensor(const std::string& text) {
    return fmt::format("{}", fmt::join(xtensor_lines(sheet_, added(text), true), "\n"));
  }

 private:
  Definition added(const std::string& text) {
    const auto definition = parse_definition(text);
    sheet_.compute(definition);
    return sheet_.definitions().back();
  }

  Sheet sheet_;
};

}  // namespace

TEST_CASE("NumPy's lines are those that a person would write") {
  Attention of;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"scores[query, key] = sum(d_k) Q * K", "scores = Q @ K.T"},
      {"turned[key, query] = sum(d_k) Q * K", "turned = K @ Q.T"},
      {"scaled = scores / sqrt(size(d_k))", "scaled = scores / np.sqrt(4)"},
      {"once[query, key] = (sum(d_k) Q * K) / sqrt(size(d_k))", "once = Q @ K.T / np.sqrt(Q.shape[1])"},
      {"mask[query, key] = key <= query", "mask = np.arange(5) <= np.arange(5)[:, None]"},
      {"masked[query, key] = where(mask, scaled, -inf)", "masked = np.where(mask, scaled, -np.inf)"},
      {"weights = softmax(key) masked",
       "powers = np.exp(masked - masked.max(axis=-1, keepdims=True))\n"
       "weights = powers / powers.sum(axis=-1, keepdims=True)"},
      {"output[query, d_v] = sum(key) weights * V", "output = weights @ V"},
      {"steep[query, d_v] = layer_norm(d_v) output / sqrt(mean(d_v) (output - mean(d_v) output) ^ 2 + 1e-5)",
       "centred = output - output.mean(axis=-1, keepdims=True)\n"
       "spread = np.sqrt(output.var(axis=-1) + 1e-05)\n"
       "steep = centred / spread[:, None] / spread[:, None]"},
      {"strongest[query] = argmax(key) weights", "strongest = weights.argmax(axis=-1)"},
      {"taken[query, d_v] = V[strongest, d_v]", "taken = V[strongest]"},
      {"before[query, d_k] = where(0 < query, Q[query - 1, d_k], 0)",
       "before = np.where(0 < np.arange(5)[:, None], Q[np.arange(5) - 1], 0)"},
      {"twice[query, feature] = where(feature < size(d_k), Q[query, mod(feature, size(d_k))], Q[query, "
       "feature - 4])",
       "twice = np.concatenate([Q, Q], axis=1)"},
      {"pairs[query, key, feature] = where(feature < 4, Q[query, mod(feature, 4)], K[key, feature - 4])",
       "pairs = np.concatenate([np.broadcast_to(Q[:, None, :], (5, 5, 4)), np.broadcast_to(K, (5, 5, 4))], "
       "axis=2)"},
      {"three[way, query, key] = stack(way, scores, bias[0], 0)",
       "three = np.stack([scores, np.broadcast_to(bias[0], (5, 5)), np.broadcast_to(0, (5, 5))])"},
      {"centred = X - mean(d_model) X", "centred = X - X.mean(axis=-1, keepdims=True)"},
      {"projected[query, feature] = (sum(d_model) X * W_Q) + bias", "projected = X @ W_Q + bias"},
      {"Q_heads[head, query, d_k] = projected[query, head * size(d_k) + d_k]",
       "Q_heads = projected.reshape(5, 2, 4).swapaxes(0, 1)"},
      {"head_scores[head, query, key] = sum(d_k) Q_heads * Q_heads[head, key, d_k]",
       "head_scores = Q_heads @ Q_heads.swapaxes(1, 2)"},
      {"sloped[head, query, key] = head_scores - slope * (query - key)",
       "sloped = head_scores - slope[:, None, None] * (np.arange(5)[:, None] - np.arange(5))"},
      {"grouped[query_head, query, d_k] = Q_heads[floor(query_head / 2), query, d_k]",
       "grouped = Q_heads[np.arange(4) // 2]"},
      {"concat[query, feature] = Q_heads[floor(feature / size(d_k)), query, mod(feature, size(d_k))]",
       "concat = Q_heads.swapaxes(0, 1).reshape(5, 8)"},
      {"at_once[query, d_out] = sum(head) sum(d_v) Q_heads[head, query, d_v] * W_O",
       "at_once = np.einsum(\"hqd,hdo->qo\", Q_heads, W_O)"},
      {"moved[query, d_v] = again(output, V = V + 1) - output",
       "V_again = V + 1\noutput_again = weights @ V_again\nmoved = output_again - output"},
  };
  for (const auto& [text, lines] : cases) CHECK(of.numpy(text) == lines);
}

TEST_CASE("xtensor's lines assign to containers") {
  Attention of;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"scores[query, key] = sum(d_k) Q * K",
       "const xt::xarray<double> scores = xt::linalg::dot(Q, xt::transpose(K));"},
      {"mask[query, key] = key < 4",
       "const xt::xarray<bool> mask = xt::broadcast(xt::arange<double>(5) < 4.0, {5, 5});"},
      {"masked[query, key] = where(mask, scores, -inf)",
       "const xt::xarray<double> masked = xt::where(mask, scores, -lab::inf);"},
      {"weights = softmax(key) masked",
       "const xt::xarray<double> weights_largest = lab::amax(masked, {1}, xt::keep_dims);\n"
       "const xt::xarray<double> weights_powers = xt::exp(masked - weights_largest);\n"
       "const xt::xarray<double> weights_total = xt::sum(weights_powers, {1}, xt::keep_dims);\n"
       "const xt::xarray<double> weights = weights_powers / weights_total;"},
      {"Q_heads[head, query, d_k] = X[query, head * size(d_k) + d_k]",
       "const xt::xarray<double> Q_heads_part = xt::reshape_view(X, {5, 2, 4});\n"
       "const xt::xarray<double> Q_heads = xt::transpose(Q_heads_part, {1, 0, 2});"},
      {"shifted[query] = where(0 < query, scores[query - 1, 0], 0)",
       "xt::xarray<double> shifted = xt::zeros<double>({5});\n"
       "for (long query = 0; query < 5; ++query)\n"
       "  shifted(query) = 0.0 < query ? lab::at(scores, query - 1.0, 0.0) : 0.0;"},
  };
  for (const auto& [text, lines] : cases) CHECK(of.xtensor(text) == lines);
}

}  // namespace formula
