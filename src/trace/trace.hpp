#pragma once

#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "trace/event.hpp"
#include "trace/given.hpp"
#include "trace/mistake.hpp"

namespace attn {

/// What a lesson says about an input or a step. The title and note are prose, the formula plain Unicode
/// maths. `axes` names the axes of the tensor without the leading batch axis, which the trace adds or drops.
struct About {
  std::string id{}, title{}, formula{}, mathml{};
  std::vector<std::string> from{}, axes{};
  std::string note{};
  bool distribution = false;
  bool curve = false;                ///< worth a plot along its last axis
  bool linear = false;               ///< both scales of its plot, and positive values from 0 on
  WorkedOut worked{};                ///< how each entry of a step comes about: called during the step only
  std::optional<Index> worked_at{};  ///< the entry to work out, without the batch axis; none: a middle one
  /// "scaled = scores / d_k": the formula that gives somebody's numbers of this step; empty where none is
  /// found.
  std::function<std::string(const AnyTensor& theirs)> explain{};
};

/// What is worth noticing in the numbers of an event, as sentences; empty where there is nothing.
using Notice = std::function<std::string(const Event& event)>;

/// An event that the page of text shows, with what to notice there. The notice stands in the place of the
/// event's note.
struct OnPage {
  std::string id;
  Notice notice{};
  bool in_one_line = false;  ///< the step's formula and shape alone, for what an earlier lesson taught
  bool is_plotted = true;    ///< where it is a curve
  bool has_table = true;     ///< else its formula and one entry worked out
};

/// A claim that a lesson verifies on the run. `formula` says what was measured.
struct Claim {
  std::string id{}, claim{}, formula{};
  double value = 0.0;
  Limit limit{};
  std::string note{};
};

/// A tensor on its way through the tap, before it is rounded and told.
struct Tapped {
  /// One of many rows that are computed one after the other (Recurrence): the tensor is the whole with the
  /// rows so far, and what becomes of row `index` along `axis` counts. The next row is computed from that.
  struct Row {
    std::size_t axis, index;
  };

  Kind kind;                             ///< input or step
  const std::string& id;                 ///< in full
  Dtype dtype;                           ///< the elements are double, std::int64_t or bool
  const Shape& shape;                    ///< with the batch axis
  void* elements;                        ///< which may be changed
  const std::vector<std::string>& axes;  ///< without the batch axis
  const Mistakes& mistakes;              ///< other ways to compute the step
  std::optional<Row> row{};
  const std::function<std::string(const AnyTensor& theirs)>* explain = nullptr;  ///< of a step, where it can
};

/// Watches the tap: is called with each tensor, and may put other elements in its place.
class Watch {
 public:
  /// Whether it asks for the mistakes of that step; a step need not list those that nobody asks for.
  using Wants = std::function<bool(const std::string& id)>;

  Watch() = default;
  template <class See>
  requires std::is_invocable_v<const See&, const Tapped&> Watch(See see, Wants wants = {})
      : see_(std::move(see)), wants_(std::move(wants)) {}

  explicit operator bool() const { return see_ != nullptr; }
  void operator()(const Tapped& tapped) const { see_(tapped); }
  const Wants& wants() const { return wants_; }
  bool wants_mistakes_of(const std::string& id) const { return see_ && (!wants_ || wants_(id)); }

 private:
  std::function<void(const Tapped& tapped)> see_{};
  Wants wants_{};
};

/// What a trace does beside passing events on.
struct TraceOptions {
  bool batched = false;                 ///< whether the leading batch axis is shown
  Dtype dtype = Dtype::float64;         ///< each floating-point tensor is rounded to it where it is tapped
  const GivenTensors* given = nullptr;  ///< inputs to take in the place of the lesson's own
  double largest_given = std::numeric_limits<double>::infinity();  ///< their numbers in size, at most
  std::set<std::string> given_of_any_size{};  ///< ids of those for which that is no limit
  Watch watch{};
};

class Recurrence;

/// The tap between a lesson and whoever watches it. `input` and `step` return the tensor to go on with: the
/// one that they were given, rounded to the run's dtype, unless the person who runs the lesson has put
/// another in its place. Lessons compute in float64 and with a batch axis throughout.
class Trace {
 public:
  Trace(Sink& sink, TraceOptions options) : sink_(&sink), options_(std::move(options)) {}

  /// One that nobody listens to, but for whoever watches the tap.
  explicit Trace(TraceOptions options) : options_(std::move(options)) {}

  /// A trace for computing something again: it rounds as this one does, and tells nobody.
  Trace mute() const { return Trace(TraceOptions{.dtype = options_.dtype}); }

  Dtype dtype() const { return options_.dtype; }

  /// Calls `show` with every event of it in the group `group`: the id `scores` becomes `group/scores`, and so
  /// do the ids that a step was computed from, where the group has them. Groups nest. Returns what `show`
  /// returns.
  template <class Show>
  auto within(const std::string& group, Show show) {
    const Restore restore{prefix_, prefix_};
    prefix_ += group + "/";
    return show();
  }

  /// The id that an event called `id` has here, in the groups around it.
  std::string full_id(const std::string& id) const { return prefix_ + id; }

  /// Whether anybody hears of claims: on a trace that is mute or only watched none need be measured.
  bool is_heard() const { return sink_ != nullptr; }

  /// Whether somebody watches the tap, and so may ask what a mistake would be.
  bool is_watched() const { return static_cast<bool>(options_.watch); }
  bool wants_mistakes_of(const std::string& id) const {
    return options_.watch.wants_mistakes_of(full_id(id));
  }

  /// The id of the last event.
  const std::string& last_id() const { return last_id_; }

  /// Says what the page of text shows, by full id and in the order of reading: all else is detail. The notes
  /// `idea`, `flow` and `code` come first unless they stand elsewhere in the list, `next` comes last. Of the
  /// claims it shows those, or all. Without such a page everything is on it, as it comes.
  void page(std::vector<OnPage> events, std::vector<std::string> claims = {});

  /// Names the entries along every axis called `axis` of the events to come.
  void label(const std::string& axis, AxisLabels labels) { labels_[axis] = std::move(labels); }

  bool has_labels(const std::string& axis) const {
    const auto* labels = value_in(labels_, axis);
    return labels != nullptr && !labels->empty();
  }

  /// These names. Throws std::out_of_range for an axis that was never labelled.
  const AxisLabels& labels(const std::string& axis) const { return labels_.at(axis); }

  void note(const std::string& id, const std::string& title, const std::string& text,
            const std::string& formula = "");

  /// What is to be seen in the lesson's picture, whose title this note has, and what it points at:
  /// `ID[0, 2]: words`, a line each.
  void picture(const std::string& id, const std::string& title, const std::string& text,
               const std::string& marks);

  /// A tensor [(batch×)axes…] that the lesson starts from. Returns it, or the one that is given in its place.
  /// Throws Error where that one has another shape, or elements that this one could not have.
  template <class T, std::size_t N>
  Array<T, N> input(const About& about, Array<T, N> tensor) {
    return shown_input(about, given_or(about, std::move(tensor)));
  }

  /// The same of a tensor in which the given one has been taken into account.
  template <class T, std::size_t N>
  Array<T, N> shown_input(const About& about, Array<T, N> tensor) {
    show_input(about, view_of(tensor).shape, tensor.data());
    return tensor;
  }

  /// The same of elements in row-major order, which are changed in place.
  template <class T>
  void input(const About& about, const Shape& shape, T* elements) {
    take_given(about, shown<T>(shape, elements), elements);
    round(about, elements, element_count(shape));
    show_input(about, shape, elements);
  }

  /// A number that the lesson starts from, likewise.
  template <class T>
  T input(const About& about, T scalar) {
    take_given(about, shown<T>({}, &scalar), &scalar);
    round(about, &scalar, 1);
    emit(Kind::input, about, shown<T>({}, &scalar));
    return scalar;
  }

  /// An input that follows from other inputs and from the options: it is shown like them, but the one that is
  /// given in its place must be equal. Throws Error where it is not.
  template <class T, std::size_t N>
  void settled_input(const About& about, const Array<T, N>& tensor) {
    require_equal(about, view_of(tensor), view_of(given_or(about, tensor)));
    auto seen = tensor;
    watch(Kind::input, about, view_of(seen), seen.data());
    emit(Kind::input, about, shown(view_of(tensor).shape, tensor.data()));
  }

  /// The tensor that is given in the place of this input, or this one, without showing it.
  template <class T, std::size_t N>
  Array<T, N> given_or(const About& about, Array<T, N> tensor) {
    take_given(about, shown(view_of(tensor).shape, tensor.data()), tensor.data());
    round(about, tensor.data(), tensor.size());
    return tensor;
  }

  /// Whether a tensor is given in the place of the input `id` of this group.
  bool is_given(const std::string& id) const {
    return options_.given != nullptr && options_.given->count(prefix_ + id) > 0;
  }

  /// "X in --input": the given input `id` of this group as messages name it.
  std::string given_name(const std::string& id) const {
    return prefix_ + id + " in " + std::string(options_.given->at(prefix_ + id).option);
  }

  /// Says in a note which given tensors are steps of the run and were left aside. Throws Error for the first
  /// given tensor that the run has no use for, with the ids of all inputs and `others`, which it would take:
  /// for one that is neither input nor step, for one that is meant as an input, and where none is an input.
  void require_all_given_used(const std::vector<std::string>& others = {});

  /// Says in a note, where a claim does not hold, that a number was too large for the run's dtype.
  void tell_overflow();

  /// A tensor [(batch×)axes…] that the lesson computed, and other ways to compute it. Returns the one to go
  /// on with.
  template <class T, std::size_t N>
  Array<T, N> step(const About& about, Array<T, N> tensor, const Mistakes& mistakes = {}) {
    step(about, view_of(tensor).shape, tensor.data(), mistakes);
    return tensor;
  }

  /// The same of elements in row-major order, which are changed in place.
  template <class T>
  void step(const About& about, const Shape& shape, T* elements, const Mistakes& mistakes = {}) {
    if (take_row(about, shape, elements, mistakes)) return;
    watch(Kind::step, about, shown(shape, elements), elements, mistakes);
    round(about, elements, element_count(shape));
    emit(Kind::step, about, shown(shape, elements));
  }

  /// A number that the lesson computed, likewise.
  template <class T>
  T step(const About& about, T scalar, const Mistakes& mistakes = {}) {
    step(about, Shape{}, &scalar, mistakes);
    return scalar;
  }

  void claim(const Claim& claim);

  /// Whether every claim so far held.
  bool all_claims_hold() const { return all_claims_hold_; }

 private:
  friend class Recurrence;

  struct Restore {
    std::string& value;
    std::string outer;
    ~Restore() { value = outer; }
  };

  /// Elements as their event shows them: floating-point numbers have the run's dtype.
  template <class T>
  TensorView shown(const Shape& shape, const T* elements) const {
    return {is_floating(dtype_of<T>()) ? options_.dtype : dtype_of<T>(), shape, elements};
  }

  template <class T>
  void show_input(const About& about, const Shape& shape, T* elements) {
    watch(Kind::input, about, {dtype_of<T>(), shape, elements}, elements);
    emit(Kind::input, about, shown(shape, elements));
  }

  /// Rounds numbers to the run's dtype; whole numbers and masks stay what they are.
  void round(const About& about, double* elements, std::size_t count);
  template <class T>
  void round(const About&, T*, std::size_t) const {}

  /// Shows what was tapped to whoever watches, who may change the elements.
  void watch(Kind kind, const About& about, const TensorView& tensor, void* elements,
             const Mistakes& mistakes = {}, std::optional<Tapped::Row> row = std::nullopt) const;

  /// Hands a row to the recurrence that is running. Returns whether there is one.
  bool take_row(const About& about, const Shape& shape, double* elements, const Mistakes& mistakes);
  template <class T>
  bool take_row(const About&, const Shape&, T*, const Mistakes&) {
    return false;
  }

  /// The full id of a tensor shown before under this name, in this group or one around it; the name itself
  /// where there is none.
  std::string find(const std::string& name) const;

  /// Overwrites the elements of the input `about` with those that are given for it, where there are any.
  void take_given(const About& about, TensorView tensor, void* elements) const;
  void require_equal(const About& about, const TensorView& expected, const TensorView& given) const;
  void emit(Kind kind, const About& about, TensorView tensor);
  WorkedOut worked_as_shown(const WorkedOut& worked, bool drops_batch) const;
  void place_on_page(Event& event) const;
  void send(Event event);

  Sink* sink_ = nullptr;  ///< none of a mute trace
  TraceOptions options_;
  bool all_claims_hold_ = true;
  std::string overflow_;  ///< "scores has 180000": the first finite number that was rounded to infinity
  std::string prefix_;
  Recurrence* recurrence_ = nullptr;  ///< whose row the steps are
  std::map<std::string, AxisLabels> labels_;
  std::set<std::string> ids_;
  std::map<std::string, std::size_t> ranks_;  ///< of the tensors as shown
  std::vector<std::string> input_ids_;
  std::string last_id_;
  std::vector<OnPage> page_;  ///< empty: everything, as it comes
  std::vector<std::string> claims_on_page_;
};

}  // namespace attn
