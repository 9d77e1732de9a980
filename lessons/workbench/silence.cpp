#include "lessons/workbench/silence.hpp"

#include <utility>

namespace lessons {

namespace {

Options with_heads(std::size_t heads) {
  Options options;
  options.heads = heads;
  return options;
}

}  // namespace

Silence::Silence(const Lesson& lesson, std::size_t heads) : Silence(lesson, with_heads(heads)) {}

Silence::Silence(const Lesson& lesson, Options options)
    : plan_{.lesson = &lesson, .options = std::move(options)}, trace_(nobody_, {}), bench_(plan_, trace_) {}

}  // namespace lessons
