#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "lessons/lesson.hpp"
#include "tests/unit/watches.hpp"
#include "trace/any_tensor.hpp"

inline const lessons::Lesson& lesson_called(std::string_view name) {
  for (const auto* one : lessons::all_lessons())
    if (one->name == name) return *one;
  throw std::invalid_argument("there is no such lesson");
}

/// Keeps what a lesson tells.
class Listener : public attn::Sink {
 public:
  void receive(const attn::Event& event) override {
    kinds[event.id] = event.kind;
    formulas[event.id] = event.formula;
    notes[event.id] = event.note;
    if (event.tensor) titles[event.id] = event.title;
    if (event.measurement) measurements[event.id] = *event.measurement;
    if (event.tensor) tensors.emplace(event.id, attn::AnyTensor(*event.tensor));
  }

  bool has(const std::string& id) const { return kinds.count(id) > 0; }
  bool holds(const std::string& claim) const { return measurements.at(claim).holds(); }

  /// The elements of the tensor `id`, as numbers.
  std::vector<double> elements(const std::string& id) const {
    const auto view = tensors.at(id).view();
    std::vector<double> numbers;
    for (std::size_t i = 0; i < attn::element_count(view.shape); ++i) numbers.push_back(view.at(i));
    return numbers;
  }

  std::map<std::string, attn::Kind> kinds;
  std::map<std::string, std::string> formulas, notes, titles;
  std::map<std::string, attn::Measurement> measurements;
  std::map<std::string, attn::AnyTensor> tensors;
};

template <std::size_t N>
std::vector<double> elements(const attn::Tensor<N>& tensor) {
  return {tensor.begin(), tensor.end()};
}

/// Most tests know the numbers that one stream gives; a test of --draws types it.
inline lessons::Options with_one_stream(lessons::Options options) {
  if (options.typed.count("draws") == 0) options.draws = "stream";
  return options;
}

/// A lesson's page with options of a test's own: what the page's functions compute on, and what they tell.
struct Page {
  explicit Page(std::string_view lesson, const lessons::Options& options)
      : plan(lessons::make_plan(lesson_called(lesson), with_one_stream(options))),
        trace(told, {.batched = plan.is_batched(), .dtype = plan.dtype()}),
        bench(plan, trace),
        mute(bench.mute()) {}

  lessons::Plan plan;
  Listener told;
  attn::Trace trace;
  lessons::Workbench bench;
  lessons::Workbench mute;
};

/// What a whole run of the lesson tells, with tensors given in the place of its inputs and with steps
/// replaced.
inline Listener told_by(std::string_view name, const lessons::Options& options,
                        const attn::GivenTensors& given = {}, const attn::Watch& watch = {}) {
  const auto& lesson = lesson_called(name);
  auto plan = lessons::make_plan(lesson, with_one_stream(options));
  plan.given = given;
  Listener told;
  lessons::run(lesson, plan, told, watch);
  return told;
}

/// A change of the step `id` by 1 %.
inline attn::Watch one_percent_more(const std::string& id) {
  return attn::replacing([id](const std::string& step, const attn::Shape& shape, double* elements) {
    if (step != id) return;
    for (std::size_t i = 0; i < attn::element_count(shape); ++i) elements[i] *= 1.01;
  });
}

/// The tensor `id` as --input gives it.
inline attn::GivenTensors given_tensor(const std::string& id, const attn::Shape& shape,
                                       const std::vector<double>& elements) {
  attn::AnyTensor tensor(attn::Dtype::float64, shape);
  std::copy(elements.begin(), elements.end(), tensor.elements<double>());
  attn::GivenTensors given;
  given.emplace(id, std::move(tensor));
  return given;
}
