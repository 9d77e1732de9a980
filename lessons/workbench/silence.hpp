#pragma once

#include "lessons/lesson.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// Where a trained model computes beside the lesson's own run, whose options are no matter to it: nobody is
/// told of its steps.
class Silence {
 public:
  Silence(const Lesson& lesson, std::size_t heads);

  /// With the options that the functions ask for.
  Silence(const Lesson& lesson, Options options);

  Workbench mute() const { return bench_.mute(); }

 private:
  struct Nobody final : attn::Sink {
    void receive(const attn::Event&) override {}
  };

  Nobody nobody_;
  Plan plan_;
  attn::Trace trace_;
  Workbench bench_;
};

}  // namespace lessons
