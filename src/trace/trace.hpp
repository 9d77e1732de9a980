#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "trace/event.hpp"
#include "trace/given.hpp"

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

/// The tap between a lesson and whoever watches it. Watching changes nothing: `step` returns the tensor that
/// it was given, and so does `input`, unless the person who runs the lesson has put another in its place.
class Trace {
 public:
  /// Lessons compute with a batch axis throughout; `batched` says whether it is shown. Inputs that `given`
  /// has are taken from there.
  Trace(Sink& sink, bool batched, const GivenTensors* given = nullptr)
      : sink_(sink), batched_(batched), given_(given) {}

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

  /// A tensor [(batch×)axes…] that the lesson starts from. Returns it, or the one that is given in its place.
  /// Throws Error where that one has another shape, or elements that this one could not have.
  template <class T, std::size_t N>
  Tensor<T, N> input(const About& about, Tensor<T, N> tensor) {
    tensor = given_or(about, std::move(tensor));
    emit(Kind::input, about, view_of(tensor));
    return tensor;
  }

  /// A number that the lesson starts from, likewise.
  template <class T>
  T input(const About& about, T scalar) {
    replace(about, view_of(scalar), &scalar);
    emit(Kind::input, about, view_of(scalar));
    return scalar;
  }

  /// An input that follows from other inputs and from the options: it is shown like them, but the one that is
  /// given in its place must be equal. Throws Error where it is not.
  template <class T, std::size_t N>
  void settled_input(const About& about, const Tensor<T, N>& tensor) {
    require_equal(about, view_of(tensor), view_of(given_or(about, tensor)));
    emit(Kind::input, about, view_of(tensor));
  }

  /// The tensor that is given in the place of this input, or this one, without showing it.
  template <class T, std::size_t N>
  Tensor<T, N> given_or(const About& about, Tensor<T, N> tensor) {
    replace(about, view_of(tensor), tensor.data());
    return tensor;
  }

  /// Whether a tensor is given in the place of the input `id` of this group.
  bool is_given(const std::string& id) const { return given_ != nullptr && given_->count(prefix_ + id) > 0; }

  /// Throws Error for the first given tensor that no input of the run was, with the ids of all inputs.
  void require_all_given_used() const;

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

  /// Overwrites the elements of the input `about` with those that are given for it, where there are any.
  void replace(const About& about, TensorView tensor, void* elements) const;
  void require_equal(const About& about, const TensorView& expected, const TensorView& given) const;
  void emit(Kind kind, const About& about, TensorView tensor);
  void send(Event event);

  Sink& sink_;
  bool batched_;
  const GivenTensors* given_;
  bool all_claims_hold_ = true;
  std::string prefix_;
  std::map<std::string, AxisLabels> labels_;
  std::set<std::string> ids_;
  std::vector<std::string> input_ids_;
};

}  // namespace attn
