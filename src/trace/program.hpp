#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trace/any_tensor.hpp"
#include "trace/event.hpp"

namespace attn {

/// Gathers what a program needs that computes a run again: its inputs, the code that the page shows, and what
/// each step should come to. None is asked for after a number that was too large for the dtype of the run, as
/// a program goes on with it in float64.
class Program : public Sink {
 public:
  explicit Program(const Header& header) : header_(header) {}
  void receive(const Event& event) override;

 protected:
  struct Variable {
    std::string name;
    AnyTensor tensor;
    bool has_batch;
    bool is_on_page;
  };

  Header header_;
  double tolerance_ = 1e-9;  ///< of the largest number of a tensor
  std::size_t batch_ = 0;    ///< samples; 0 without a batch axis
  std::vector<Variable> inputs_, steps_;
  std::vector<std::string> beyond_;  ///< names of the steps that are not asserted
  std::string code_;                 ///< lines
};

/// A trace as a script of NumPy with an assertion for each core step, and for a detail where the code
/// computes it. `beyond` has the names of the others.
class PythonScript : public Program {
 public:
  using Program::Program;

  /// The script.
  std::string finish() const;

 private:
  std::string body(const std::string& indent) const;
};

}  // namespace attn
