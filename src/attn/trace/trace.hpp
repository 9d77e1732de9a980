#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "attn/trace/event.hpp"

namespace attn {

/// What a lesson says about an input or a step. The title and note are prose, the formula plain Unicode
/// maths. `axes` names the axes of the tensor without the leading batch axis, which the trace adds or drops.
struct About {
  std::string id{};
  std::string title{};
  std::string formula{};
  std::vector<std::string> from{};
  std::vector<std::string> axes{};
  std::string note{};
  bool distribution = false;
  bool curve = false;  ///< worth a plot along its last axis
};

/// A claim that a lesson verifies on the run. `formula` says what was measured.
struct Claim {
  std::string id{};
  std::string claim{};
  std::string formula{};
  double value = 0.0;
  Limit limit{};
  std::string note{};
};

/// The tap between a lesson and whoever watches it. Watching changes nothing: `input` and `step` return the
/// tensor that they were given.
class Trace {
 public:
  /// Lessons compute with a batch axis throughout; `batched` says whether it is shown.
  Trace(Sink& sink, bool batched) : sink_(sink), batched_(batched) {}

  /// Calls `show` with every event of it in the group `group`: the id `scores` becomes `group/scores`, and so
  /// do the ids that a step was computed from, where the group has them. Groups nest. Returns what `show`
  /// returns.
  template <class Show>
  auto within(const std::string& group, Show show) {
    const Restore restore{prefix_, prefix_};
    prefix_ += group + "/";
    return show();
  }

  /// Names the entries along every axis called `axis` of the events to come.
  void label(const std::string& axis, AxisLabels labels);

  void note(const std::string& id, const std::string& title, const std::string& text,
            const std::string& formula = "");

  /// A tensor [(batch×)axes…] that the lesson starts from. Returns it.
  template <class T, std::size_t N>
  Tensor<T, N> input(const About& about, Tensor<T, N> tensor) {
    emit(Kind::input, about, view_of(tensor));
    return tensor;
  }

  /// A number that the lesson starts from. Returns it.
  template <class T>
  T input(const About& about, T scalar) {
    emit(Kind::input, about, view_of(scalar));
    return scalar;
  }

  /// A tensor [(batch×)axes…] that the lesson computed. Returns it.
  template <class T, std::size_t N>
  Tensor<T, N> step(const About& about, Tensor<T, N> tensor) {
    emit(Kind::step, about, view_of(tensor));
    return tensor;
  }

  /// A number that the lesson computed. Returns it.
  template <class T>
  T step(const About& about, T scalar) {
    emit(Kind::step, about, view_of(scalar));
    return scalar;
  }

  void claim(const Claim& claim);

  /// Whether every claim so far held.
  bool all_claims_hold() const { return all_claims_hold_; }

 private:
  struct Restore {
    std::string& prefix;
    std::string outer;
    ~Restore() { prefix = outer; }
  };

  /// The full id of a tensor shown before under this name, in this group or one around it; the name itself
  /// where there is none.
  std::string find(const std::string& name) const;

  void emit(Kind kind, const About& about, TensorView tensor);
  void send(Event event);

  Sink& sink_;
  bool batched_;
  bool all_claims_hold_ = true;
  std::string prefix_;
  std::map<std::string, AxisLabels> labels_;
  std::set<std::string> ids_;
};

}  // namespace attn
