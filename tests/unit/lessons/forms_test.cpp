/// Right tensors that are expressed otherwise, and mistakes that show in one place of several.

#include <algorithm>
#include <catch2/catch.hpp>
#include <numbers>
#include <string>
#include <vector>

#include "lessons/workbench/exercises.hpp"
#include "tests/unit/numbers.hpp"
#include "trace/diagnosis/catalogue.hpp"
#include "trace/diagnosis/diagnosis.hpp"
#include "trace/diagnosis/dump.hpp"

namespace {

using attn::AnyTensor;
using attn::Finding;
using Ids = std::vector<std::string>;

class Probed {
 public:
  explicit Probed(const std::string& name) {
    for (const auto* lesson : lessons::all_lessons())
      if (lesson->name == name) lesson_ = lessons::lesson_of_probe(*lesson);
    plan_ = lessons::plan_of_probe(*lesson_, lesson_->defaults);
  }

  /// The steps of a program that makes these mistakes: all of them, or those of these ids.
  attn::Dump dump(const attn::Hypothesis& mistakes = {}, const Ids& ids = {}) const {
    attn::Dump dump;
    for (const auto& step : lessons::steps_with(mistakes, plan_))
      if (ids.empty() || std::find(ids.begin(), ids.end(), step.id) != ids.end())
        dump.tensors.emplace(step.id, step.tensor());
    return dump;
  }

  /// What is said of the dump after its forms were settled.
  attn::Diagnosis diagnose(attn::Dump& dump) const {
    const auto rerun = [this](const attn::Watch& watch) {
      lessons::run_watched(*plan_.lesson, plan_, watch);
    };
    std::vector<attn::ExpectedTensor> expected;
    rerun([&](const attn::Tapped& tapped) {
      auto axes = tapped.axes;
      if (tapped.shape.size() > axes.size()) axes.insert(axes.begin(), "batch");
      expected.push_back({tapped.id, tapped.kind, tapped.dtype, tapped.shape, axes});
    });
    attn::settle_forms(dump, expected, rerun);
    return attn::diagnose(dump, rerun);
  }

 private:
  std::shared_ptr<const lessons::Lesson> lesson_;
  lessons::Plan plan_;
};

template <class F>
void change(AnyTensor& tensor, F f) {
  auto* const numbers = tensor.elements<double>();
  for (std::size_t i = 0; i < attn::element_count(tensor.shape()); ++i) numbers[i] = f(i, numbers[i]);
}

void reverse_columns(AnyTensor& tensor) {
  const auto width = static_cast<std::ptrdiff_t>(tensor.shape().back());
  auto* const begin = tensor.elements<double>();
  for (auto* row = begin; row != begin + attn::element_count(tensor.shape()); row += width)
    std::reverse(row, row + width);
}

const attn::StepVerdict& verdict_on(const attn::Diagnosis& diagnosis, const std::string& id) {
  return *std::find_if(diagnosis.steps.begin(), diagnosis.steps.end(),
                       [&](const auto& step) { return step.id == id; });
}

}  // namespace

TEST_CASE("columns of queries and keys that are permuted alike are another form, of one alone a mistake",
          "[forms]") {
  const Probed probed("positional");
  auto both = probed.dump();
  for (const auto* id : {"rope/Q_rotated", "rope/K_rotated"}) reverse_columns(both.tensors.at(id));
  const auto diagnosis = probed.diagnose(both);
  CHECK(diagnosis.is_right());
  CHECK(verdict_on(diagnosis, "rope/Q_rotated").finding == Finding::form);
  CHECK(verdict_on(diagnosis, "rope/K_rotated").finding == Finding::form);
  auto one = probed.dump();
  reverse_columns(one.tensors.at("rope/Q_rotated"));
  CHECK_FALSE(probed.diagnose(one).is_right());
}

TEST_CASE("queries and keys whose factors cancel are another form", "[forms]") {
  const Probed probed("multihead");
  const double of_keys = GENERATE(0.25, 0.5);
  auto dump = probed.dump();
  for (const auto& [id, factor] : {std::pair("Q_heads", 4.0), std::pair("K_heads", of_keys)})
    change(dump.tensors.at(id), [by = factor](std::size_t, double x) { return by * x; });
  CAPTURE(of_keys);
  CHECK(probed.diagnose(dump).is_right() == (of_keys == 0.25));
}

TEST_CASE(
    "scores in base 2 are another form where 2^x makes the weights of them, and a mistake where exp does",
    "[forms]") {
  const Probed probed("sdpa");
  const auto in_base_2 = [](std::size_t, double x) { return std::numbers::log2e * x; };
  auto dump = probed.dump();
  change(dump.tensors.at("scaled"), in_base_2);
  change(dump.tensors.at("masked"), in_base_2);
  const auto diagnosis = probed.diagnose(dump);
  CHECK(diagnosis.is_right());
  CHECK(verdict_on(diagnosis, "scaled").finding == Finding::form);
  auto by_exp = probed.dump();
  change(by_exp.tensors.at("scaled"), in_base_2);
  by_exp.tensors.erase("masked");
  change(by_exp.tensors.at("weights"), [](std::size_t i, double x) { return i % 2 == 0 ? x : 0.5 * x; });
  CHECK_FALSE(probed.diagnose(by_exp).is_right());
}

TEST_CASE("weights of noise beside a right output are wrong, and the output is said to be right", "[forms]") {
  const Probed probed("sdpa");
  auto dump = probed.dump();
  change(dump.tensors.at("weights"),
         [](std::size_t i, double) { return 0.1 + 0.01 * static_cast<double>(i % 7); });
  const auto diagnosis = probed.diagnose(dump);
  CHECK_FALSE(diagnosis.is_right());
  CHECK(verdict_on(diagnosis, "weights").finding == Finding::wrong);
  CHECK(verdict_on(diagnosis, "output").finding == Finding::right);
  CHECK(verdict_on(diagnosis, "output").not_from == Ids{"weights"});
}

TEST_CASE("a mistake in one sublayer of several is named from the output", "[forms]") {
  const Probed probed("transformer-block");
  for (const auto& [mistake, step] :
       {std::pair("residual-normed", "residual_2"), std::pair("residual-missing", "residual_1")}) {
    auto dump = probed.dump({attn::Supposed(mistake, step)}, {"output"});
    const auto diagnosis = probed.diagnose(dump);
    CAPTURE(mistake);
    CHECK(attn::ids_without_variants(diagnosis.steps.front().mistakes) == Ids{mistake});
  }
}

TEST_CASE("values alone that are split by a reshape are named from the output", "[forms]") {
  const Probed probed("multihead");
  auto dump = probed.dump({attn::Supposed("heads-reshape-only", "V_heads")}, {"output"});
  CHECK(attn::ids_without_variants(probed.diagnose(dump).steps.front().mistakes) ==
        Ids{"heads-reshape-only"});
}

TEST_CASE("a fused weight that is packed by group and cut in thirds is named, and the reverse", "[forms]") {
  const Probed probed("multihead");
  for (const std::string mistake :
       {"qkv-layout:by-group-cut-in-thirds", "qkv-layout:in-thirds-cut-by-group"}) {
    auto dump = probed.dump({mistake}, {"output"});
    const auto diagnosis = probed.diagnose(dump);
    CAPTURE(mistake);
    CHECK(attn::ids_without_variants(diagnosis.steps.front().mistakes) == Ids{"qkv-layout"});
  }
}

TEST_CASE("a mistake of the mask is named whatever large negative number fills it", "[forms]") {
  const Probed probed("multihead");
  auto dump = probed.dump({"mask-inverted"}, {"masked"});
  change(dump.tensors.at("masked"), [](std::size_t, double x) { return x == -infinity ? -1e8 : x; });
  const auto diagnosis = probed.diagnose(dump);
  CHECK(attn::ids_without_variants(diagnosis.steps.front().mistakes) == Ids{"mask-inverted"});
  CHECK(diagnosis.steps.front().conventions == Ids{"large-negative-fill"});
}

TEST_CASE("softmax over the heads is named beside a large negative fill, from the output", "[forms]") {
  const Probed probed("multihead");
  auto dump = probed.dump({"softmax-axis:heads", "large-negative-fill:unseen"}, {"output"});
  const auto verdict = probed.diagnose(dump).steps.front();
  CHECK(attn::ids_without_variants(verdict.mistakes) == Ids{"softmax-axis"});
  CHECK(attn::ids_without_variants(verdict.conventions) == Ids{"large-negative-fill"});
}
