#pragma once

#include <map>
#include <string>
#include <utility>

#include "lessons/documents/document_run.hpp"

namespace lessons {

/// Tensors by the names that a part has for them: "attention/W_Q".
using Views = std::map<std::string, formula::View>;

/// What a PartRun runs on.
struct Silence {
  explicit Silence(const Workbench& beside) : mute(beside.mute()) {}
  Silence(const Lesson& lesson, Options options)
      : plan{.lesson = &lesson, .options = std::move(options)}, mute(plan) {}

  Plan plan{};
  Workbench mute;
  Functions none{};
};

/// Parts of documents on tensors of the caller's own, of which nobody is told: what a claim computes again,
/// or what a trained model computes beside the lesson's run.
class PartRun : private Silence, public DocumentRun {
 public:
  /// In the format and with the options of a run, but without dropout.
  explicit PartRun(const Workbench& beside) : Silence(beside), DocumentRun(mute, none) {}

  /// In float64, with the options that the parts ask for.
  PartRun(const Lesson& lesson, Options options)
      : Silence(lesson, std::move(options)), DocumentRun(mute, none) {}
};

}  // namespace lessons
