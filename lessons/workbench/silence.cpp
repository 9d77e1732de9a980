#include "lessons/workbench/silence.hpp"

namespace lessons {

namespace {

Options with_heads(std::size_t heads) {
  Options options;
  options.heads = heads;
  return options;
}

}  // namespace

Silence::Silence(const Lesson& lesson, std::size_t heads)
    : plan_{.lesson = &lesson, .options = with_heads(heads)}, trace_(nobody_, {}), bench_(plan_, trace_) {}

}  // namespace lessons
