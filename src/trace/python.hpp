#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "trace/event.hpp"

namespace attn {

/// A trace as a script of NumPy: the inputs of the run, the code that the page shows, and an assertion for
/// each step. It asserts every core step, and a detail where the code computes it; none after a number that
/// was too large for the dtype of the run, as NumPy goes on with it in float64. `beyond` has their names.
class PythonScript : public Sink {
 public:
  explicit PythonScript(const Header& header);
  void receive(const Event& event) override;

  /// The script.
  std::string finish() const;

 private:
  struct Variable {
    std::string name;
    std::string value;  ///< an expression
    bool has_batch = false;
    bool is_on_page = false;
  };

  static Variable variable_of(const Event& event);
  std::string body(const std::string& indent) const;

  Header header_;
  double tolerance_ = 0.0;
  std::vector<std::string> beyond_;  ///< steps that are not asserted
  std::size_t batch_ = 0;            ///< samples; 0 without a batch axis
  std::vector<Variable> inputs_, steps_;
  std::vector<std::string> code_;
};

}  // namespace attn
