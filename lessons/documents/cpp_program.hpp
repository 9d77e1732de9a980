#pragma once

#include <cstddef>
#include <string>

#include "trace/program.hpp"

namespace lessons {

/// One C++ file of xtensor and xtensor-blas that holds the inputs of a run, computes the lesson and asserts
/// every step. Its first line says how to compile it.
class CppProgram : public attn::Program {
 public:
  using Program::Program;

  std::string finish() const;

 private:
  std::string of_sample(std::size_t sample) const;
};

}  // namespace lessons
