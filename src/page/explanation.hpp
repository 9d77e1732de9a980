#pragma once

#include <string>
#include <vector>

#include "trace/entry.hpp"
#include "trace/event.hpp"

namespace attn {

/// Entries of a trace, worked out term by term: which entries they are made of, and with which numbers.
class Explanation : public Sink {
 public:
  /// `wanted` are entries as a person writes them: "weights[sat, cat]", "output[2,0]", "loss". Throws Error
  /// where one is not of that form.
  Explanation(const std::vector<std::string>& wanted, int precision, std::size_t width, bool full = false);

  /// Throws Error where an entry of the event's tensor is wanted that it does not have.
  void receive(const Event& event) override;

  /// The explanations in the order in which they were asked for. Throws Error for the first that no input or
  /// step has been.
  std::string finish() const;

 private:
  struct Wanted {
    std::string id;
    std::vector<std::string> places;
    std::string text;  ///< empty until its tensor was seen
  };

  std::string explain(const Event& event, const Index& at) const;
  std::string equation(const std::string& start, const std::string& expression) const;

  std::vector<Wanted> wanted_;
  std::string in_terms(const Worked& worked, const std::function<std::string(const Worked&)>& term) const;

  int precision_;
  std::size_t width_;
  bool full_;  ///< all terms of a long sum
  EntryNames names_;
  std::vector<std::string> ids_;
};

}  // namespace attn
