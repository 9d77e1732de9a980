#include "trace/diagnosis/diagnosis.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "trace/diagnosis/catalogue.hpp"
#include "trace/diagnosis/search.hpp"

namespace attn {

namespace {

/// Before the tolerance under a mistake is measured, which takes several replays, this many times the
/// tolerance without it rules out what is far off.
constexpr double far_off = 100.0;

using Ids = std::vector<std::string>;

/// NaN or 0 in every place is what many mistakes give, and evidence of none.
bool is_evidence(const AnyTensor& tensor) {
  const auto says_nothing = [](std::size_t, double number) { return std::isnan(number) || number == 0.0; };
  return !is_floating(tensor.dtype()) || !Comparison::each_number(tensor, tensor.shape(), says_nothing);
}

/// A supposition that gives the tensor of a step, and how many steps of the dump contradict it.
struct Supposition {
  Hypothesis mistakes;
  std::size_t contradictions;
  bool leaves_out_padding;  ///< whether it gives the step but for the rows of padded queries
  bool has_fill;  ///< whether it gives the step but for large negative numbers in the place of −∞

  /// The smallest explains most.
  std::pair<std::size_t, bool> rank() const { return {contradictions, leaves_out_padding}; }
};

class Search {
 public:
  Search(const Dump& dump, const Rerun& rerun, const std::set<std::string>& conventions)
      : dump_(dump),
        rerun_(rerun),
        conventions_(conventions),
        replays_(dump, rerun),
        supposed_(dump, replays_),
        compare_(dump, rerun, supposed_.tolerance()) {
    supposed_.adopt(everywhere(conventions));
    drop_conventions_that_are_not_followed();
    trust_absent_inputs();
    compare_.look_for_zero_padding(steps());
  }

  /// Ids of the steps that are not as they should be, whatever fills what a mask hides, nor, where they may
  /// be, as one of the conventions has them. With `among` ids, none but these are looked at.
  std::set<std::string> differing(const std::set<std::string>& among, bool may_follow_conventions) {
    std::set<std::string> ids;
    for (std::size_t i = 0; i < steps().size(); ++i) {
      const auto id = steps()[i].id;
      if (theirs(i) == nullptr || (!among.empty() && among.count(id) == 0)) continue;
      if (!is_as_supposed(i) && !compare_.is_right_but_for_fill(steps()[i], *theirs(i)) &&
          !(may_follow_conventions && follows_a_convention(i)))
        ids.insert(id);
    }
    return ids;
  }

  Diagnosis run() {
    while (const auto index = next_wrong()) {
      auto& known = known_[steps()[*index].id];
      known.is_judged = true;
      if (follows_from_mistakes_elsewhere(*index) || follows_from_inputs(*index)) continue;
      explain(*index);
      known.is_wrong = !known.explained || known.explained->finding == Finding::wrong;
    }
    for (std::size_t i = 0; i < steps().size(); ++i) {
      if (theirs(i) == nullptr) continue;
      if (shows_adopted_mistake(i)) known_[steps()[i].id].is_wrong = true;
      note_what_it_rests_on(i);
    }
    Diagnosis diagnosis;
    for (const auto& input : dump_.absent)
      if (any_of(known_, [&](const auto& one) { return contains(one.second.absent, input); }))
        diagnosis.absent.push_back(input);
    for (const auto& step : steps())
      if (const auto* their = supposed_.theirs(step))
        diagnosis.steps.push_back(verdict_on(step, *their));
      else
        diagnosis.missing.push_back(step.id);
    diagnosis.supposed = supposed_.adopted();
    return diagnosis;
  }

 private:
  /// What is found out about a step.
  struct Known {
    bool is_judged = false, is_wrong = false;
    std::optional<StepVerdict> explained{};
    Ids absent{};                   ///< inputs that nobody gave and it needs
    Ids unjudged_without{};         ///< those of them that nothing showed to be the ones that were drawn
    std::optional<Ids> not_from{};  ///< wrong steps from which it should follow and, being right, does not
    Ids given{};                    ///< wrong steps that it follows from
    Ids same_mistake_in{};          ///< steps that the dump lacks
  };

  const Predictions& steps() const { return supposed_.steps(); }

  /// What the dump has of the step at `index`; null where it lacks it.
  const AnyTensor* theirs(std::size_t index) const { return supposed_.theirs(steps()[index]); }

  bool is_as_supposed(std::size_t index) const {
    return compare_.is_right(steps()[index], *theirs(index)) ||
           compare_.is_expected(steps()[index], *theirs(index));
  }

  bool has_wrong() const {
    return any_of(known_, [](const auto& one) { return one.second.is_wrong; });
  }

  /// A dump may be said to follow a framework whose conventions it has in part only.
  void drop_conventions_that_are_not_followed() {
    for (const auto& convention : conventions_) {
      const auto all = supposed_.adopted();
      const auto contradictions = contradictions_of_adopted();
      auto others = all;
      if (contradictions == 0 || others.erase(convention) == 0) continue;
      supposed_.adopt(others);
      if (contradictions_of_adopted() >= contradictions) supposed_.adopt(all);
    }
  }

  /// The step at `index` under one mistake more or several. One more is tried for later steps, too.
  Prediction predicted(std::size_t index, const Hypothesis& more) const {
    const auto mistakes = supposed_.adopted_and(more);
    if (more.size() > 1) return replays_.step_alone(index, steps()[index].id, mistakes);
    return (*replays_.of(mistakes))[index];
  }

  /// Absent inputs are those that were drawn where a step that needs them is right.
  void trust_absent_inputs() {
    for (const auto& input : dump_.absent) {
      const auto others = replays_.with_changed(input, Replays::change_all, supposed_.adopted());
      for (std::size_t i = 0; i < std::min(others.size(), steps().size()); ++i) {
        if (others[i].reference == steps()[i].reference || theirs(i) == nullptr) continue;
        known_[steps()[i].id].absent.push_back(input);
        if (dump_.has_drawn_absent || compare_.is_right(steps()[i], *theirs(i))) trusted_.insert(input);
      }
    }
  }

  /// The absent inputs that a step needs and of which nothing shows that they are the ones that were drawn.
  Ids unknown_inputs_of(const Known& step) const {
    auto inputs = step.absent;
    std::erase_if(inputs, [&](const auto& input) { return trusted_.count(input) > 0; });
    return inputs;
  }

  /// Leaves what shows that absent inputs are the ones that were drawn: a step that follows from them.
  void keep_what_follows_from(const Ids& inputs, std::size_t index, std::vector<Supposition>& found) const {
    std::erase_if(found, [&](const Supposition& supposition) {
      const auto mistakes = supposed_.adopted_and(supposition.mistakes);
      const auto expected = (*replays_.of(mistakes))[index].expected;
      return all_of(inputs, [&](const std::string& input) {
        return replays_.with_changed(input, Replays::change_all, mistakes)[index].expected == expected;
      });
    });
  }

  std::optional<std::size_t> next_wrong() {
    for (std::size_t i = 0; i < steps().size(); ++i)
      if (theirs(i) != nullptr && !known_[steps()[i].id].is_judged && !is_as_supposed(i)) return i;
    return std::nullopt;
  }

  /// What the lesson computes by itself, and how far rounding may move it.
  struct Own {
    Predictions steps;
    Tolerances tolerance;

    bool agrees(std::size_t index, const AnyTensor& other) const {
      const auto& step = steps[index];
      return Comparison::are_near(other, step.expected_shape, step.expected, tolerance.at(step.id));
    }
  };

  /// Without anybody's tensors.
  const Own& own() {
    if (!own_) {
      const Replay replay(rerun_);
      const auto followed = everywhere(conventions_);
      const auto steps = replay.predict(followed);
      own_ = Own{steps, replay.tolerance(followed, replays_.unit(), steps)};
      for (auto& [id, of_step] : own_->tolerance)
        if (const auto* const theirs = value_in(supposed_.tolerance(), id))
          for (std::size_t i = 0; i < std::min(of_step.size(), theirs->size()); ++i)
            of_step[i] += (*theirs)[i];
    }
    return *own_;
  }

  /// Notes a step that is right as it follows from the inputs: not from a wrong one before it, nor with the
  /// mistake that a later one shows.
  bool follows_from_inputs(std::size_t index) {
    if (!has_wrong() || !own().agrees(index, *theirs(index))) return false;
    known_[steps()[index].id].not_from = wrong_before(index);
    return true;
  }

  /// Ids of the wrong steps that the one at `index` should follow from.
  Ids wrong_before(std::size_t index) {
    Ids wrong;
    for (std::size_t i = 0; i < index; ++i)
      if (known_[steps()[i].id].is_wrong && supposed_.depends_on(index, i)) wrong.push_back(steps()[i].id);
    return wrong;
  }

  /// Notes of a step the wrong ones that it follows from, at once or by others that are right given these:
  /// none where it is what follows from the inputs all the same.
  void note_what_it_rests_on(std::size_t index) {
    if (!has_wrong() || own().agrees(index, *theirs(index))) return;  // what they do cancels out
    auto& known = known_[steps()[index].id];
    for (std::size_t earlier = 0; earlier < index; ++earlier) {
      const auto& before = known_[steps()[earlier].id];
      const auto roots = before.is_wrong ? Ids{steps()[earlier].id} : before.given;
      if (roots.empty() || theirs(earlier) == nullptr || before.not_from ||
          !supposed_.depends_on(index, earlier))
        continue;
      for (const auto& root : roots)
        if (!contains(known.given, root)) known.given.push_back(root);
    }
    known.same_mistake_in = supposed_.same_mistake_in(index);
  }

  /// Supposes that the mistakes which were found stand in other steps, of those that the dump lacks, where
  /// the step at `index` is right then, and no other one wrong that was not.
  bool follows_from_mistakes_elsewhere(std::size_t index) {
    const auto before = supposed_.adopted();
    const auto contradictions = contradictions_of_adopted();
    const auto& their = *theirs(index);
    for (const auto& other : supposed_.others(index)) {
      const auto step = (*replays_.of(other))[index];
      const auto loose = loose_tolerance(steps()[index], step);
      if (!compare_.matches(step, their, step.shape, step.reference, loose) &&
          !compare_.matches(step, their, step.expected_shape, step.expected, loose))
        continue;
      supposed_.adopt(other);
      if (contradictions_of_adopted() < contradictions && is_as_supposed(index)) return true;
      supposed_.adopt(before);
    }
    return false;
  }

  /// Whether the step at `index` has a mistake that another one has named.
  bool shows_adopted_mistake(std::size_t index) {
    const auto& step = steps()[index];
    const auto& known = known_[step.id];
    return !known.explained && !known.not_from && !compare_.is_right(step, *theirs(index)) &&
           compare_.is_expected(step, *theirs(index)) && verdict_of_adopted(step).finding == Finding::wrong;
  }

  /// Whether the dump's step at `index` is what `more` mistakes give, and what the dump has against them.
  std::optional<Supposition> try_out(std::size_t index, const Hypothesis& more) const {
    const auto step = predicted(index, more);
    const auto& their = *theirs(index);
    if (their.shape() != step.expected_shape) return std::nullopt;
    const auto expected = Comparison::expected_beside(their, step);
    if (step.expected_shape == steps()[index].expected_shape &&
        !compare_.matches(step, their, step.expected_shape, expected, loose_tolerance(steps()[index], step)))
      return std::nullopt;
    const bool is_other_way = all_of(more, [](const auto& one) { return is_convention(one.mistake); });
    if (!is_other_way && compare_.changes_nothing(steps()[index], step)) return std::nullopt;
    const auto mistakes = supposed_.adopted_and(more);
    const auto tolerance = replays_.tolerance(mistakes);
    if (!compare_.matches(step, their, step.expected_shape, expected, tolerance.at(step.id)))
      return std::nullopt;
    Supposition supposition{
        more, 0, !Comparison::are_near(their, step.expected_shape, expected, tolerance.at(step.id)),
        !are_equal(expected, step.expected)};
    const auto all = replays_.of(mistakes);
    for (const auto& other : *all)
      if (const auto* tensor = supposed_.theirs(other))
        if (!compare_.matches(other, *tensor, other.expected_shape, other.expected, tolerance.at(other.id)))
          ++supposition.contradictions;
    return supposition;
  }

  std::vector<double> loose_tolerance(const Prediction& before, const Prediction& now) const {
    auto loose = supposed_.tolerance().at(before.id);
    double largest = 0.0;
    for (const auto number : now.expected)
      if (std::isfinite(number)) largest = std::max(largest, std::abs(number));
    for (auto& one : loose) one = far_off * (one + replays_.unit() * largest);
    return loose;
  }

  /// Those hypotheses that give the step, with the fewest contradictions, and then with the padding.
  std::vector<Supposition> best_of(std::size_t index, const std::vector<Hypothesis>& hypotheses) const {
    std::map<std::pair<std::size_t, bool>, std::vector<Supposition>> by_rank;
    for (const auto& hypothesis : hypotheses)
      if (auto found = try_out(index, hypothesis)) by_rank[found->rank()].push_back(std::move(*found));
    return by_rank.empty() ? std::vector<Supposition>() : by_rank.begin()->second;
  }

  void explain(std::size_t index) {
    auto& known = known_[steps()[index].id];
    bool lacks_steps = false;
    for (std::size_t i = 0; i < index; ++i) lacks_steps = lacks_steps || theirs(i) == nullptr;
    const auto unknown = unknown_inputs_of(known);
    known.unjudged_without = unknown;
    if (lacks_steps && !is_evidence(*theirs(index))) return;
    const auto places = supposed_.places_of_mistakes(index);
    const auto ids = supposed_.candidates(places);
    std::vector<Hypothesis> one;
    for (const auto& id : ids)
      if (!id.ends_with(":unseen") || !lacks_steps)
        one.push_back({id});  // a fill that nobody saved shows only beside a mistake
    auto found = best_of(index, one);
    drop_fitted(index, found);
    if (!unknown.empty()) keep_what_follows_from(unknown, index, found);
    const bool contradicts = !found.empty() && found.front().contradictions >= contradictions_of_adopted();
    if (unknown.empty() && (found.empty() || contradicts)) {
      const auto alone = best_of(index, supposed_.in_some_of(index, places));
      if (!alone.empty() && (found.empty() || alone.front().rank() < found.front().rank())) found = alone;
    }
    if (found.empty() && unknown.empty()) found = best_beside_mistakes_elsewhere(index, one);
    if (found.empty() && lacks_steps && unknown.empty())
      found = best_of(index, supposed_.pairs_of(with_effect(index, ids)));
    if (found.empty() && !dump_.slacks.empty()) explain_in_part(index);
    if (found.empty()) return;
    known.unjudged_without.clear();
    trusted_.insert(unknown.begin(), unknown.end());
    prefer_fewest_mistakes(found);
    note(index, found);
    supposed_.adopt(supposed_.adopted_and(found.front().mistakes));
  }

  /// Those hypotheses that give the step together with other places of the mistakes that were found; these
  /// are supposed then.
  std::vector<Supposition> best_beside_mistakes_elsewhere(std::size_t index,
                                                          const std::vector<Hypothesis>& hypotheses) {
    const auto before = supposed_.adopted();
    const auto contradictions = contradictions_of_adopted();
    for (const auto& other : supposed_.others(index)) {
      supposed_.adopt(other);
      auto found = best_of(index, hypotheses);
      if (!found.empty() && found.front().contradictions < contradictions) return found;
      supposed_.adopt(before);
    }
    return {};
  }

  /// Supposes the convention that gives the step at `index`, if there is one.
  bool follows_a_convention(std::size_t index) {
    const auto places = supposed_.places_of_mistakes(index);
    std::vector<Hypothesis> alone;
    for (const auto& id : supposed_.candidates(places)) alone.push_back({id});
    for (auto hypotheses : {alone, supposed_.in_some_of(index, places, true)}) {
      std::erase_if(hypotheses, [&](const Hypothesis& one) {
        const auto& id = one.begin()->mistake;
        return !is_convention(id) || is_settled(id);
      });
      const auto found = best_of(index, hypotheses);
      if (found.empty() || mistakes_in(found.front()) > 0) continue;
      supposed_.adopt(supposed_.adopted_and(found.front().mistakes));
      return true;
    }
    return false;
  }

  /// People make a mistake in one place and not in the next: those of this step that give every number which
  /// is not right.
  void explain_in_part(std::size_t index) {
    const auto& step = steps()[index];
    const auto& their = *theirs(index);
    const auto& tolerance = supposed_.tolerance().at(step.id);
    if (their.shape() != step.shape) return;
    StepVerdict verdict{.id = step.id, .finding = Finding::wrong, .in_part = true, .made_in = {step.id}};
    for (const auto& id : step.mistakes) {
      if (step.fitted.count(id) > 0 || is_convention(id)) continue;
      const auto mistaken = (*replays_.of(supposed_.adopted_and({id})))[index];
      if (mistaken.expected_shape == step.shape &&
          Comparison::each_number(their, step.shape, [&](std::size_t i, double number) {
            return compare_.is_right(step, i, number, tolerance[i]) ||
                   is_near(number, mistaken.expected[i], tolerance[i]);
          }))
        verdict.mistakes.push_back(id);
    }
    if (verdict.mistakes.empty()) return;
    compare_.measure(step, their, verdict);
    known_[step.id].explained = verdict;
  }

  /// Those that change the step, and all conventions: what one of them does may show only beside a mistake.
  /// Of variants that make the same of the step the first.
  std::vector<std::string> with_effect(std::size_t index, const std::vector<std::string>& ids) const {
    std::vector<std::string> effective;
    std::map<std::string, Predictions> by_name;
    for (const auto& id : ids) {
      auto step = predicted(index, {id});
      if (!is_convention(id) && step.expected == steps()[index].expected) continue;
      effective.push_back(id);
      if (step.expected_shape != steps()[index].expected_shape || step.expected == steps()[index].expected)
        continue;
      auto& variants = by_name[id_without_variant(id)];
      if (any_of(variants, [&](const auto& other) { return compare_.changes_nothing(other, step); }))
        effective.pop_back();
      else
        variants.push_back(std::move(step));
    }
    return effective;
  }

  /// Conventions count before mistakes, and one mistake before two.
  void prefer_fewest_mistakes(std::vector<Supposition>& found) const {
    std::size_t fewest = 2;
    for (const auto& one : found) fewest = std::min(fewest, mistakes_in(one));
    std::erase_if(found, [&](const Supposition& one) { return mistakes_in(one) > fewest; });
    if (fewest == 0) found.erase(found.begin() + 1, found.end());
  }

  /// What follows somebody's tensor, or needs a certain fill, counts only where nothing else gives that
  /// tensor.
  void drop_fitted(std::size_t index, std::vector<Supposition>& found) const {
    const auto is_fitted = [&](const Supposition& one) {
      const auto& id = one.mistakes.begin()->mistake;
      return steps()[index].fitted.count(id) > 0 || id.ends_with(":filled");
    };
    if (!all_of(found, is_fitted)) std::erase_if(found, is_fitted);
  }

  /// Keeps what explains the step for its verdict.
  void note(std::size_t index, const std::vector<Supposition>& found) {
    const auto& step = steps()[index];
    StepVerdict verdict;
    for (const auto& supposition : found)
      for (const auto& [id, where] : supposition.mistakes) {
        auto& ids = is_another_way(supposition, id) ? verdict.conventions : verdict.mistakes;
        if (!contains(ids, id)) ids.push_back(id);
      }
    if (found.front().has_fill) verdict.conventions.emplace_back("large-negative-fill");
    verdict.finding = verdict.mistakes.empty() ? Finding::convention : Finding::wrong;
    verdict.made_together = mistakes_in(found.front()) > 1;
    verdict.made_in = supposed_.made_in(found.front().mistakes, index);
    if (theirs(index)->shape() == step.shape) compare_.measure(step, *theirs(index), verdict);
    known_[step.id].explained = verdict;
    for (const auto& supposition : found)
      for (const auto& one : supposition.mistakes) verdict_by_mistake_[one.mistake] = verdict;
  }

  /// Whether the id is a convention beside which the rest holds: alone it has to make the dump more right.
  bool is_another_way(const Supposition& supposition, const std::string& id) const {
    return is_convention(id) && !is_settled(id) &&
           (any_of(supposition.mistakes, [&](const auto& one) { return one.mistake != id; }) ||
            supposition.contradictions < contradictions_of_adopted());
  }

  /// Whether the inputs say which way is meant, and nobody said that the dump follows another.
  bool is_settled(const std::string& id) const {
    return contains(dump_.settled, id_without_variant(id)) && conventions_.count(id) == 0;
  }

  std::size_t mistakes_in(const Supposition& supposition) const {
    std::set<std::string> mistakes;
    for (const auto& one : supposition.mistakes)
      if (!is_another_way(supposition, one.mistake)) mistakes.insert(one.mistake);
    return mistakes.size();
  }

  std::size_t contradictions_of_adopted() const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < steps().size(); ++i)
      if (theirs(i) != nullptr && !compare_.is_expected(steps()[i], *theirs(i))) ++count;
    return count;
  }

  StepVerdict verdict_on(const Prediction& step, const AnyTensor& theirs) {
    const auto& known = known_[step.id];
    StepVerdict verdict;
    if (known.explained)
      verdict = *known.explained;
    else if (compare_.is_right(step, theirs))
      verdict = verdict_on_right(step, theirs);
    else if (known.not_from)
      verdict.not_from = *known.not_from;
    else if (compare_.is_expected(step, theirs))
      verdict = verdict_of_adopted(step);
    else if (!known.unjudged_without.empty() && !unknown_inputs_of(known).empty())
      verdict = {.id = step.id, .finding = Finding::not_judged, .needs = known.unjudged_without};
    else
      verdict = verdict_of_unexplained(step, theirs);
    verdict.id = step.id;
    verdict.axes = step.axes;
    verdict.shape = theirs.shape();
    verdict.right_shape = step.shape;
    verdict.blanks = compare_.blanks_in(step.id);
    if (theirs.shape() != step.shape || verdict.finding == Finding::not_judged) return verdict;
    if (!known.explained && compare_.leaves_padding_zero() && compare_.is_right(step, theirs) &&
        !Comparison::are_near(theirs, step.shape, step.reference, supposed_.tolerance().at(step.id))) {
      verdict.finding = Finding::convention;
      verdict.conventions = {"padded-rows-zero"};
      return verdict;
    }
    if (!known.explained) compare_.measure(step, theirs, verdict);
    verdict.unexplained = compare_.unexplained(step, theirs);
    return verdict;
  }

  StepVerdict verdict_on_right(const Prediction& step, const AnyTensor& theirs) {
    const auto& known = known_[step.id];
    StepVerdict verdict{.finding = Finding::right, .same_mistake_in = known.same_mistake_in};
    if (!compare_.is_nearest(step, theirs)) {
      verdict.finding = Finding::rounding;
      StepVerdict measured;
      compare_.measure(step, theirs, measured);
      verdict.largest_difference = measured.largest_difference;
    }
    if (const auto* const form = value_in(dump_.forms, step.id)) {
      verdict.finding = Finding::form;
      verdict.form = *form;
    }
    if (!compare_.matches(step, theirs, step.shape, step.reference, supposed_.tolerance().at(step.id)))
      verdict.not_from = wrong_before(static_cast<std::size_t>(&step - steps().data()));
    else
      verdict.given = known.given;
    return verdict;
  }

  /// What follows from a tensor of a wrong shape cannot be computed from it.
  StepVerdict verdict_of_unexplained(const Prediction& step, const AnyTensor& theirs) const {
    StepVerdict verdict;
    verdict.finding = theirs.shape() == step.shape ? Finding::wrong : Finding::shape;
    const auto index = static_cast<std::size_t>(&step - steps().data());
    std::vector<std::size_t> misshapen;
    for (std::size_t i = 0; i < index; ++i) {
      const bool is_usable = this->theirs(i) != nullptr && this->theirs(i)->shape() == steps()[i].shape;
      if (is_usable || !supposed_.depends_on(index, i)) continue;
      if (this->theirs(i) == nullptr) {
        verdict.lacking.push_back(steps()[i].id);
        continue;
      }
      std::erase_if(misshapen, [&](std::size_t before) { return supposed_.depends_on(i, before); });
      misshapen.push_back(i);
    }
    for (const auto i : misshapen) verdict.misshapen.push_back(steps()[i].id);
    if (verdict.finding == Finding::wrong && !misshapen.empty()) verdict.finding = Finding::not_judged;
    return verdict;
  }

  /// A step that shows a mistake which an earlier step has named.
  StepVerdict verdict_of_adopted(const Prediction& step) const {
    for (const auto& id : step.mistakes) {
      const auto* const known = value_in(verdict_by_mistake_, id);
      if (known == nullptr || !supposes(supposed_.adopted(), id, step.id)) continue;
      return {.id = step.id,
              .finding = known->finding,
              .mistakes = known->mistakes,
              .made_together = known->made_together,
              .conventions = known->conventions,
              .made_in = {step.id}};
    }
    StepVerdict verdict{.id = step.id, .finding = Finding::convention, .made_in = {step.id}};  // as is said
    for (const auto& id : step.mistakes)
      if (conventions_.count(id) > 0) verdict.conventions.push_back(id);
    return verdict;
  }

  const Dump& dump_;
  const Rerun& rerun_;
  const std::set<std::string>& conventions_;
  Replays replays_;
  Suppositions supposed_;
  Comparison compare_;
  std::map<std::string, Known> known_;                     ///< by step
  std::set<std::string> trusted_;                          ///< ids of absent inputs
  std::map<std::string, StepVerdict> verdict_by_mistake_;  ///< by id of the mistake
  std::optional<Own> own_;
};

/// A small whole number alone says too little: one of hundreds of formulas gives it by chance.
bool is_evidence_of_formula(const AnyTensor& tensor) {
  constexpr double small = 1000.0;
  const bool is_alone = element_count(tensor.shape()) == 1;
  return is_evidence(tensor) &&
         !(is_alone && !is_floating(tensor.dtype()) && std::abs(tensor.view().at(std::size_t{0})) < small);
}

/// Looks for a formula behind each wrong step that no mistake of the catalogue gives, from their own tensors
/// before it and from what the lesson has by the end of the run.
void find_formulas(Diagnosis& diagnosis, const Dump& dump, const Rerun& rerun) {
  const auto is_unnamed = [](const StepVerdict& step) {
    return step.finding == Finding::wrong && step.mistakes.empty();
  };
  if (!any_of(diagnosis.steps, is_unnamed)) return;
  std::size_t left = 0;  // tensors of the run that are still to come
  const auto put_theirs = [&](const Tapped& tapped) {
    const auto* const theirs = value_in(dump.tensors, tapped.id);
    if (theirs == nullptr || theirs->shape() != tapped.shape || !can_be_used(tapped, *theirs)) return;
    for (std::size_t i = 0; i < element_count(tapped.shape); ++i)
      store(tapped.dtype, tapped.elements, i, theirs->view().at(i));
  };
  rerun([&](const Tapped& tapped) {
    ++left;
    put_theirs(tapped);
  });
  std::map<std::string, std::function<std::string(const AnyTensor& theirs)>> explain;
  rerun([&](const Tapped& tapped) {
    const auto* const step = find_by_id(diagnosis.steps, tapped.id);
    if (step != nullptr && is_unnamed(*step) && tapped.explain != nullptr)
      explain[tapped.id] = *tapped.explain;
    put_theirs(tapped);
    if (--left > 0) return;
    for (auto& one : diagnosis.steps) {
      const auto& theirs = dump.tensors.at(one.id);
      if (const auto* const words = value_in(explain, one.id);
          words != nullptr && is_evidence_of_formula(theirs))
        one.formula = (*words)(theirs);
    }
  });
}

}  // namespace

std::string_view name_of(Finding finding) {
  const std::string_view names[] = {"right", "rounding", "form",      "convention",
                                    "shape", "wrong",    "not judged"};
  return names[static_cast<int>(finding)];
}

bool Diagnosis::is_right() const {
  return !any_of(steps, [](const StepVerdict& step) { return step.is_wrong(); });
}

bool Diagnosis::is_complete() const {
  return missing.empty() && blanks == 0;
}

bool Diagnosis::leaves_open() const {
  return any_of(steps, [](const StepVerdict& step) { return step.finding == Finding::not_judged; });
}

std::set<std::string> differing_steps(const Dump& dump, const Rerun& rerun,
                                      const std::set<std::string>& conventions,
                                      const std::set<std::string>& among, bool may_follow_conventions) {
  return Search(dump, rerun, conventions).differing(among, may_follow_conventions);
}

Diagnosis diagnose(const Dump& dump, const Rerun& rerun, const std::set<std::string>& conventions) {
  auto diagnosis = Search(dump, rerun, conventions).run();
  find_formulas(diagnosis, dump, rerun);
  return diagnosis;
}

}  // namespace attn
