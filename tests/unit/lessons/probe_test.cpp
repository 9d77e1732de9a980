/// The inputs of probes: none stands for another unnoticed, and no convention for a mistake.

#include "lessons/workbench/exercises.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/sample.hpp"
#include "trace/diagnosis/catalogue.hpp"
#include "trace/diagnosis/diagnosis.hpp"

namespace {

using attn::AnyTensor;

/// The probe of a lesson, or of one of its parts, under some options.
struct Probe {
  std::string name;
  lessons::Plan plan;
  std::shared_ptr<const lessons::Lesson> lesson;  ///< which the plan points to
};

struct Change {
  std::string name;
  std::function<void(lessons::Options&)> make;
};

/// With and without a mask, causal and not, with one head, several and a memory, as far as the lesson has the
/// options.
std::vector<Change> changes_of(const lessons::Lesson& part) {
  const auto& usual = part.probe->options;
  std::vector<Change> changes = {{"", [](lessons::Options&) {}}};
  if (part.uses("causal"))
    changes.push_back({usual.causal ? ", not causal" : ", causal", [](lessons::Options& options) {
                         options.causal = !options.causal;
                         options.typed.insert("causal");
                       }});
  if (part.takes_batches)
    changes.push_back({", without a mask", [&part](lessons::Options& options) {
                         options.causal = false;
                         options.typed.insert("causal");
                         if (part.uses("window")) {
                           options.typed.insert("window");
                           options.window.reset();
                         }
                         if (options.sentence.empty() && options.source.empty())
                           options.sentence = {"a b c d e f g"};
                         for (auto* texts : {&options.sentence, &options.source, &options.target})
                           if (!texts->empty()) texts->resize(1);
                       }});
  if (usual.heads)
    changes.push_back({", one head", [&part](lessons::Options& options) {
                         options.heads = 1;
                         options.typed.insert("heads");
                         if (!part.uses("kv-heads")) return;
                         options.kv_heads.reset();
                         options.typed.insert("kv-heads");
                       }});
  if (part.uses("memory"))
    changes.push_back({", with a memory", [](lessons::Options& options) { options.memory = "q r s t u"; }});
  if (part.uses("attention"))
    for (const char* attention : {"bahdanau", "luong-dot", "luong-general", "multihead"})
      changes.push_back({fmt::format(", {}", attention), [attention](lessons::Options& options) {
                           options.attention = attention;
                           if (options.attention == "multihead") options.heads = 3;
                           options.d_a.reset();
                           options.typed.insert("d-a");
                         }});
  return changes;
}

/// Calls `look` with the probe of each lesson and part, under all of these options or as it is.
void for_each_probe(bool is_changed, const std::function<void(const Probe&)>& look) {
  for (const auto* one : lessons::all_lessons()) {
    if (!one->probe) continue;
    const auto lesson = lessons::lesson_of_probe(*one);
    const auto parts = one->parts.empty() ? std::vector{one} : one->parts;
    for (const auto* part : parts) {
      if (!part->probe) continue;
      const auto name =
          std::string(one->name) + (one->parts.empty() ? "" : " --through ") + std::string(part->through);
      for (const auto& change : changes_of(*part)) {
        if (!is_changed && !change.name.empty()) continue;
        auto options = lesson->defaults;
        if (!one->parts.empty()) {
          options.sentence.clear();
          options.through = part->through;
        }
        change.make(options);
        look({name + change.name, lessons::plan_of_probe(*lesson, options), lesson});
      }
    }
  }
}

std::vector<double> numbers_of(const AnyTensor& tensor) {
  std::vector<double> numbers(attn::element_count(tensor.shape()));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = tensor.view().at(i);
  return numbers;
}

/// Sorted, and divided by the one that is farthest from 0: the same for tensors that are equal up to a factor
/// and a permutation.
std::vector<double> signature_of(const AnyTensor& tensor) {
  auto numbers = numbers_of(tensor);
  const double farthest = *std::max_element(numbers.begin(), numbers.end(),
                                            [](double a, double b) { return std::abs(a) < std::abs(b); });
  for (auto& number : numbers) number /= farthest;
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

bool are_near(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
    return x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= 1e-9 * (1.0 + std::abs(y));
  });
}

/// Calls `look` with each ordered pair of different floating-point inputs of one shape.
template <class Look>
void for_each_pair(const attn::Tensors& inputs, const Look& look) {
  for (const auto& [id, tensor] : inputs)
    for (const auto& [other, numbers] : inputs)
      if (id != other && attn::is_floating(tensor.dtype()) && attn::is_floating(numbers.dtype()) &&
          tensor.shape() == numbers.shape())
        look(id, tensor, other, numbers);
}

attn::Dump dump_of(const std::vector<attn::Prediction>& steps, const Probe& probe,
                   const std::vector<std::string>* ids = nullptr) {
  attn::Dump dump;
  for (const auto& step : steps)
    if (ids == nullptr || std::find(ids->begin(), ids->end(), step.id) != ids->end())
      dump.tensors.emplace(step.id, step.tensor());
  const auto& queries = probe.plan.target.size() > 0 ? probe.plan.target : probe.plan.sentence;
  if (queries.is_padded()) dump.lengths = queries.lengths();
  return dump;
}

attn::Rerun rerun_of(const Probe& probe) {
  return [&probe](const attn::Watch& watch) { lessons::run_watched(*probe.plan.lesson, probe.plan, watch); };
}

/// Whether one of the steps, or of those that `ids` names, differs.
bool differ(const std::vector<attn::Prediction>& a, const std::vector<attn::Prediction>& b,
            const std::vector<std::string>* ids = nullptr) {
  for (std::size_t i = 0; i < b.size(); ++i)
    if (ids == nullptr || std::find(ids->begin(), ids->end(), b[i].id) != ids->end())
      if (a[i].expected_shape != b[i].expected_shape || !are_near(a[i].expected, b[i].expected)) return true;
  return false;
}

/// Whether the first step that differs, or another one, is neither right nor a convention.
bool is_wrong(const Probe& probe, const attn::Dump& dump, const std::vector<attn::Prediction>& wrong,
              const std::vector<attn::Prediction>& right) {
  for (std::size_t i = 0; i < right.size(); ++i)
    if (dump.tensors.count(right[i].id) > 0 && !are_near(wrong[i].expected, right[i].expected)) {
      if (!attn::differing_steps(dump, rerun_of(probe), {}, {right[i].id}).empty()) return true;
      break;
    }
  return !attn::differing_steps(dump, rerun_of(probe)).empty();
}

}  // namespace

TEST_CASE("no two inputs of a probe are equal up to a factor and a permutation", "[probe]") {
  for_each_probe(true, [](const Probe& probe) {
    for_each_pair(lessons::inputs_of(probe.plan),
                  [&](const auto& id, const auto& tensor, const auto& other, const auto& numbers) {
                    if (id > other) return;
                    CAPTURE(probe.name, id, other);
                    CHECK_FALSE(are_near(signature_of(tensor), signature_of(numbers)));
                  });
  });
}

TEST_CASE("an input in the place of another of its shape is wrong, from all tensors and from the results",
          "[probe][thorough]") {
  Sample sample("pairs", 3), sample_of_backward("pairs of backward", 30),
      sample_of_diagnoses("pairs that are diagnosed", 10), sample_of_searches("pairs that are searched");
  INFO(Sample::setting());
  std::size_t pairs = 0;
  for_each_probe(true, [&](const Probe& probe) {
    const auto right = lessons::steps_with({}, probe.plan);
    const auto results = lessons::results_of(probe.plan, right);
    for_each_pair(lessons::inputs_of(probe.plan),
                  [&](const auto& id, const auto&, const auto& other, const auto& numbers) {
                    ++pairs;
                    const bool takes_long = probe.name.starts_with("backward");
                    if (!(takes_long ? sample_of_backward : sample).takes_next()) return;
                    const auto wrong = lessons::steps_with_input(id, numbers, probe.plan);
                    CAPTURE(probe.name, id, other);
                    CHECK(differ(wrong, right));
                    CHECK(differ(wrong, right, &results));
                    if (!sample_of_diagnoses.takes_next()) return;
                    const auto all = dump_of(wrong, probe), shown = dump_of(wrong, probe, &results);
                    CHECK(is_wrong(probe, all, wrong, right));
                    CHECK(is_wrong(probe, shown, wrong, right));
                    if (!sample_of_searches.takes_next())
                      return;  // seconds each of what looks for two mistakes at once
                    CHECK_FALSE(attn::diagnose(all, rerun_of(probe)).is_right());
                    CHECK_FALSE(attn::diagnose(shown, rerun_of(probe)).is_right());
                  });
  });
  CHECK(pairs > 600);
}

TEST_CASE("no convention that a probe leaves open gives the results of a mistake", "[probe][thorough]") {
  std::size_t conventions = 0;
  for_each_probe(true, [&](const Probe& probe) {
    const auto right = lessons::steps_with({}, probe.plan);
    const auto results = lessons::results_of(probe.plan, right);
    std::map<std::string, std::vector<attn::Prediction>> open, mistakes;
    for (const auto& id : lessons::mistakes_of(probe.plan)) {
      const auto& known = *attn::find_mistake(id);
      const bool is_open = known.is_convention() && known.stated.empty();
      auto steps = lessons::steps_with({id}, probe.plan);
      if (differ(steps, right, &results)) (is_open ? open : mistakes).emplace(id, std::move(steps));
    }
    conventions += open.size();
    for (const auto& [convention, as_convention] : open)
      for (const auto& [mistake, as_mistake] : mistakes) {
        CAPTURE(probe.name, convention, mistake);
        CHECK(differ(as_mistake, as_convention, &results));
      }
  });
  CHECK(conventions > 20);
}
