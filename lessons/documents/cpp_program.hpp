#pragma once

#include <string>
#include <vector>

#include "trace/any_tensor.hpp"
#include "trace/event.hpp"

namespace lessons {

/// One C++ file of xtensor and xtensor-blas that holds the inputs of a run, computes the lesson and asserts
/// every step. Its first line says how to compile it.
class CppProgram : public attn::Sink {
 public:
  explicit CppProgram(const attn::Header& header) : header_(header) {}

  void receive(const attn::Event& event) override;
  std::string finish();

 private:
  struct Variable {
    std::string name;
    attn::AnyTensor tensor;
    bool has_batch;
  };

  std::string of_sample(std::size_t sample) const;

  attn::Header header_;
  std::vector<Variable> inputs_, steps_;
  std::string code_;
  std::size_t samples_ = 1;
  double tolerance_ = 1e-9;  ///< of the largest number of a tensor
};

}  // namespace lessons
