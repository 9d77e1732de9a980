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

/// NaN or 0 in every place is what many mistakes give, and evidence of none.
bool is_evidence(const AnyTensor& tensor) {
  for (std::size_t i = 0; i < element_count(tensor.shape()); ++i) {
    const double number = tensor.view().at(i);
    if (!std::isnan(number) && number != 0.0) return true;
  }
  return !is_floating(tensor.dtype());
}

/// A supposition that gives the tensor of a step, and how many steps of the dump contradict it.
struct Supposition {
  Hypothesis mistakes;
  std::size_t contradictions;
  bool leaves_out_padding;  ///< whether it gives the step but for the rows of padded queries
  bool has_fill;  ///< whether it gives the step but for large negative numbers in the place of −∞

  bool explains_as_much_as(const Supposition& other) const {
    return contradictions == other.contradictions && leaves_out_padding == other.leaves_out_padding;
  }
  bool explains_more_than(const Supposition& other) const {
    return std::pair(contradictions, leaves_out_padding) <
           std::pair(other.contradictions, other.leaves_out_padding);
  }
};

class Search {
 public:
  Search(const Dump& dump, const Rerun& rerun, const std::set<std::string>& conventions)
      : dump_(dump),
        rerun_(rerun),
        conventions_(conventions),
        replays_(dump, rerun),
        supposed_(dump, replays_),
        compare_(dump, rerun) {
    adopt(everywhere(conventions));
    drop_conventions_that_are_not_followed();
    trust_absent_inputs();
    compare_.look_for_zero_padding(steps());
  }

  /// Ids of the steps that are not as they should be, whatever fills what a mask hides, nor as one of the
  /// conventions has them. With `among` ids, none but these are looked at.
  std::set<std::string> differing(const std::set<std::string>& among) {
    std::set<std::string> ids;
    for (std::size_t i = 0; i < steps().size(); ++i) {
      const auto& id = steps()[i].id;
      const auto* theirs = supposed_.theirs(id);
      if (theirs == nullptr || (!among.empty() && among.count(id) == 0)) continue;
      if (compare_.is_right(steps()[i], *theirs) || compare_.is_expected(steps()[i], *theirs) ||
          compare_.is_right_but_for_fill(steps()[i], *theirs))
        continue;
      if (!follows_a_convention(i)) ids.insert(id);
    }
    return ids;
  }

  Diagnosis run() {
    Diagnosis diagnosis;
    std::set<std::string> judged;
    for (auto index = next_wrong(judged); index; index = next_wrong(judged)) {
      const auto id = steps()[*index].id;
      judged.insert(id);
      if (follows_from_mistakes_elsewhere(*index) || follows_from_inputs(*index)) continue;
      explain(*index);
      if (const auto found = explained_.find(id);
          found == explained_.end() || found->second.finding == Finding::wrong)
        wrong_.insert(id);
    }
    for (std::size_t i = 0; i < steps().size(); ++i) {
      if (supposed_.theirs(steps()[i].id) == nullptr) continue;
      if (shows_adopted_mistake(i)) wrong_.insert(steps()[i].id);
      note_what_it_rests_on(i);
    }
    for (const auto& input : dump_.absent)
      if (steps_that_need_.count(input) > 0) diagnosis.absent.push_back(input);
    for (const auto& step : steps())
      if (const auto* theirs = supposed_.theirs(step.id))
        diagnosis.steps.push_back(verdict_on(step, *theirs));
      else
        diagnosis.missing.push_back(step.id);
    diagnosis.supposed = supposed_.adopted();
    return diagnosis;
  }

 private:
  const std::vector<Prediction>& steps() const { return supposed_.steps(); }

  /// A dump may be said to follow a framework whose conventions it has in part only.
  void drop_conventions_that_are_not_followed() {
    for (const auto& convention : conventions_) {
      const auto all = supposed_.adopted();
      const auto contradictions = contradictions_of_adopted();
      if (contradictions == 0) return;
      auto others = all;
      others.erase(convention);
      adopt(others);
      if (contradictions_of_adopted() >= contradictions) adopt(all);
    }
  }

  /// Supposes these mistakes for all that follows.
  void adopt(Hypothesis mistakes) {
    supposed_.adopt(std::move(mistakes));
    compare_.allow(replays_.tolerance(supposed_.adopted()));
  }

  /// The step at `index` under one mistake more or several. One more is tried for later steps, too.
  Prediction predicted(std::size_t index, const Hypothesis& more) const {
    if (more.size() > 1) return replays_.step_alone(index, steps()[index].id, supposed_.adopted_and(more));
    return replays_.step(index, supposed_.adopted_and(more));
  }

  /// Absent inputs are those that were drawn where a step that needs them is right.
  void trust_absent_inputs() {
    for (const auto& input : dump_.absent) {
      const auto others = replays_.with_another(input, supposed_.adopted());
      for (std::size_t i = 0; i < std::min(others.size(), steps().size()); ++i) {
        if (others[i].reference == steps()[i].reference) continue;
        const auto* theirs = supposed_.theirs(steps()[i].id);
        if (theirs == nullptr) continue;
        steps_that_need_[input].insert(steps()[i].id);
        if (dump_.has_drawn_absent || compare_.is_right(steps()[i], *theirs)) trusted_.insert(input);
      }
    }
  }

  /// The absent inputs that a step needs and of which nothing shows that they are the ones that were drawn.
  std::vector<std::string> unknown_inputs_of(const std::string& step) const {
    std::vector<std::string> inputs;
    for (const auto& input : dump_.absent)
      if (const auto found = steps_that_need_.find(input); found != steps_that_need_.end())
        if (found->second.count(step) > 0 && trusted_.count(input) == 0) inputs.push_back(input);
    return inputs;
  }

  /// Leaves what shows that absent inputs are the ones that were drawn: a step that follows from them.
  void keep_what_follows_from(const std::vector<std::string>& inputs, std::size_t index,
                              std::vector<Supposition>& found) const {
    std::erase_if(found, [&](const Supposition& supposition) {
      const auto mistakes = supposed_.adopted_and(supposition.mistakes);
      const auto expected = replays_.of(mistakes)[index].expected;
      return std::all_of(inputs.begin(), inputs.end(), [&](const std::string& input) {
        return replays_.with_another(input, mistakes)[index].expected == expected;
      });
    });
  }

  std::optional<std::size_t> next_wrong(const std::set<std::string>& judged) const {
    for (std::size_t i = 0; i < steps().size(); ++i) {
      const auto* theirs = supposed_.theirs(steps()[i].id);
      if (theirs == nullptr || judged.count(steps()[i].id) > 0) continue;
      if (!compare_.is_right(steps()[i], *theirs) && !compare_.is_expected(steps()[i], *theirs)) return i;
    }
    return std::nullopt;
  }

  /// What the lesson computes by itself, and how far rounding may move it.
  struct Own {
    std::vector<Prediction> steps;
    Tolerances tolerance;

    bool agrees(std::size_t index, const TensorView& other) const {
      const auto& step = steps[index];
      return other.shape == step.expected_shape &&
             Comparison::are_near(other, step.expected, tolerance.at(step.id));
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
        if (const auto theirs = compare_.tolerance().find(id); theirs != compare_.tolerance().end())
          for (std::size_t i = 0; i < std::min(of_step.size(), theirs->second.size()); ++i)
            of_step[i] += theirs->second[i];
    }
    return *own_;
  }

  /// Notes a step that is right as it follows from the inputs: not from a wrong one before it, nor with the
  /// mistake that a later one shows.
  bool follows_from_inputs(std::size_t index) {
    const auto& step = steps()[index];
    if (wrong_.empty() || !own().agrees(index, supposed_.theirs(step.id)->view())) return false;
    not_from_[step.id] = wrong_before(index);
    return true;
  }

  /// Ids of the wrong steps that the one at `index` should follow from.
  std::vector<std::string> wrong_before(std::size_t index) const {
    std::vector<std::string> wrong;
    for (std::size_t i = 0; i < index; ++i)
      if (wrong_.count(steps()[i].id) > 0 && supposed_.depends_on(index, i)) wrong.push_back(steps()[i].id);
    return wrong;
  }

  /// Notes of a step the wrong ones that it follows from, at once or by others that are right given these:
  /// none where it is what follows from the inputs all the same.
  void note_what_it_rests_on(std::size_t index) {
    auto& given = given_[steps()[index].id];
    for (std::size_t earlier = 0; earlier < index; ++earlier) {
      const auto& id = steps()[earlier].id;
      const auto roots = wrong_.count(id) > 0 ? std::vector{id} : given_[id];
      if (roots.empty() || supposed_.theirs(id) == nullptr || not_from_.count(id) > 0 ||
          !supposed_.depends_on(index, earlier))
        continue;
      for (const auto& root : roots)
        if (!contains(given, root)) given.push_back(root);
    }
    const auto& theirs = *supposed_.theirs(steps()[index].id);
    if (wrong_.empty() || own().agrees(index, theirs.view()))  // what they do cancels out
      given.clear();
    else
      same_mistake_in_[steps()[index].id] = supposed_.same_mistake_in(index);
  }

  /// Supposes that the mistakes which were found stand in other steps, of those that the dump lacks, where
  /// the step at `index` is right then, and no other one wrong that was not.
  bool follows_from_mistakes_elsewhere(std::size_t index) {
    const auto before = supposed_.adopted();
    const auto contradictions = contradictions_of_adopted();
    const auto& theirs = *supposed_.theirs(steps()[index].id);
    for (const auto& other : supposed_.others(index)) {
      const auto step = replays_.step(index, other);
      const auto loose = loose_tolerance(steps()[index], step);
      if (!compare_.matches(step, theirs, step.shape, step.reference, loose) &&
          !compare_.matches(step, theirs, step.expected_shape, step.expected, loose))
        continue;
      adopt(other);
      if (contradictions_of_adopted() < contradictions &&
          (compare_.is_right(steps()[index], theirs) || compare_.is_expected(steps()[index], theirs)))
        return true;
      adopt(before);
    }
    return false;
  }

  /// Whether the step at `index` has a mistake that another one has named.
  bool shows_adopted_mistake(std::size_t index) const {
    const auto& step = steps()[index];
    const auto& theirs = *supposed_.theirs(step.id);
    return explained_.count(step.id) == 0 && not_from_.count(step.id) == 0 &&
           !compare_.is_right(step, theirs) && compare_.is_expected(step, theirs) &&
           verdict_of_adopted(step).finding == Finding::wrong;
  }

  /// Whether the dump's step at `index` is what `more` mistakes give, and what the dump has against them.
  std::optional<Supposition> try_out(std::size_t index, const Hypothesis& more) const {
    const auto step = predicted(index, more);
    const auto& theirs = *supposed_.theirs(step.id);
    if (theirs.shape() != step.expected_shape) return std::nullopt;
    const auto expected = Comparison::expected_beside(theirs, step);
    if (step.expected_shape == steps()[index].expected_shape &&
        !compare_.matches(step, theirs, step.expected_shape, expected, loose_tolerance(steps()[index], step)))
      return std::nullopt;
    const bool is_other_way =
        std::all_of(more.begin(), more.end(), [](const auto& one) { return is_convention(one.mistake); });
    if (!is_other_way && compare_.changes_nothing(steps()[index], step)) return std::nullopt;
    const auto mistakes = supposed_.adopted_and(more);
    const auto tolerance = replays_.tolerance(mistakes);
    if (!compare_.matches(step, theirs, step.expected_shape, expected, tolerance.at(step.id)))
      return std::nullopt;
    Supposition supposition{more, 0, !Comparison::are_near(theirs.view(), expected, tolerance.at(step.id)),
                            !are_equal(expected, step.expected)};
    for (const auto& other : replays_.of(mistakes))
      if (const auto* tensor = supposed_.theirs(other.id))
        if (!compare_.matches(other, *tensor, other.expected_shape, other.expected, tolerance.at(other.id)))
          ++supposition.contradictions;
    return supposition;
  }

  std::vector<double> loose_tolerance(const Prediction& before, const Prediction& now) const {
    auto loose = compare_.tolerance().at(before.id);
    double largest = 0.0;
    for (const auto number : now.expected)
      if (std::isfinite(number)) largest = std::max(largest, std::abs(number));
    for (auto& one : loose) one = far_off * (one + replays_.unit() * largest);
    return loose;
  }

  /// Those hypotheses that give the step, with the fewest contradictions, and then with the padding.
  std::vector<Supposition> best_of(std::size_t index, const std::vector<Hypothesis>& hypotheses) const {
    std::vector<Supposition> best;
    for (const auto& hypothesis : hypotheses) {
      auto supposition = try_out(index, hypothesis);
      if (!supposition) continue;
      if (!best.empty() && supposition->explains_more_than(best.front())) best.clear();
      if (best.empty() || supposition->explains_as_much_as(best.front()))
        best.push_back(std::move(*supposition));
    }
    return best;
  }

  void explain(std::size_t index) {
    const bool lacks_steps =
        std::any_of(steps().begin(), steps().begin() + static_cast<std::ptrdiff_t>(index),
                    [&](const auto& step) { return supposed_.theirs(step.id) == nullptr; });
    const auto unknown = unknown_inputs_of(steps()[index].id);
    if (!unknown.empty()) not_judged_[steps()[index].id] = unknown;
    if (lacks_steps && !is_evidence(*supposed_.theirs(steps()[index].id))) return;
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
      const auto alone = best_of(index, supposed_.in_some_of(places));
      if (!alone.empty() && (found.empty() || alone.front().explains_more_than(found.front()))) found = alone;
    }
    if (found.empty() && unknown.empty()) found = best_beside_mistakes_elsewhere(index, one);
    if (found.empty() && lacks_steps && unknown.empty())
      found = best_of(index, supposed_.pairs_of(with_effect(index, ids)));
    if (found.empty() && !dump_.slacks.empty()) explain_in_part(index);
    if (found.empty()) return;
    not_judged_.erase(steps()[index].id);
    trusted_.insert(unknown.begin(), unknown.end());
    prefer_fewest_mistakes(found);
    note(index, found);
    adopt(supposed_.adopted_and(found.front().mistakes));
  }

  /// Those hypotheses that give the step together with other places of the mistakes that were found; these
  /// are supposed then.
  std::vector<Supposition> best_beside_mistakes_elsewhere(std::size_t index,
                                                          const std::vector<Hypothesis>& hypotheses) {
    const auto before = supposed_.adopted();
    const auto contradictions = contradictions_of_adopted();
    for (const auto& other : supposed_.others(index)) {
      adopt(other);
      auto found = best_of(index, hypotheses);
      if (!found.empty() && found.front().contradictions < contradictions) return found;
      adopt(before);
    }
    return {};
  }

  /// Supposes the convention that gives the step at `index`, if there is one.
  bool follows_a_convention(std::size_t index) {
    const auto places = supposed_.places_of_mistakes(index);
    std::vector<Hypothesis> alone;
    for (const auto& id : supposed_.candidates(places)) alone.push_back({id});
    for (auto hypotheses : {alone, supposed_.in_some_of(places)}) {
      std::erase_if(hypotheses, [&](const Hypothesis& one) {
        const auto& id = one.begin()->mistake;
        return !is_convention(id) || is_settled(id);
      });
      const auto found = best_of(index, hypotheses);
      if (found.empty() || mistakes_in(found.front()) > 0) continue;
      adopt(supposed_.adopted_and(found.front().mistakes));
      return true;
    }
    return false;
  }

  /// People make a mistake in one place and not in the next: those of this step that give every number which
  /// is not right.
  void explain_in_part(std::size_t index) {
    const auto& step = steps()[index];
    const auto& theirs = *supposed_.theirs(step.id);
    if (theirs.shape() != step.shape) return;
    StepVerdict verdict{.id = step.id, .finding = Finding::wrong, .in_part = true, .made_in = {step.id}};
    for (const auto& id : step.mistakes) {
      if (step.fitted.count(id) > 0 || is_convention(id)) continue;
      if (is_right_or_given_by(step, replays_.of(supposed_.adopted_and({id}))[index], theirs))
        verdict.mistakes.push_back(id);
    }
    if (verdict.mistakes.empty()) return;
    compare_.measure(step, theirs, verdict);
    explained_[step.id] = verdict;
  }

  bool is_right_or_given_by(const Prediction& step, const Prediction& mistaken,
                            const AnyTensor& theirs) const {
    if (mistaken.expected_shape != step.shape) return false;
    const auto& tolerance = compare_.tolerance().at(step.id);
    for (std::size_t i = 0; i < step.reference.size(); ++i) {
      const double their = theirs.view().at(i);
      if (!compare_.is_right(step, i, their, tolerance[i]) &&
          !is_near(their, mistaken.expected[i], tolerance[i]))
        return false;
    }
    return true;
  }

  /// Those that change the step, and all conventions: what one of them does may show only beside a mistake.
  /// Of variants that make the same of the step the first.
  std::vector<std::string> with_effect(std::size_t index, const std::vector<std::string>& ids) const {
    std::vector<std::string> effective;
    std::map<std::string, std::vector<Prediction>> by_name;
    for (const auto& id : ids) {
      auto step = predicted(index, {id});
      if (!is_convention(id) && step.expected == steps()[index].expected) continue;
      effective.push_back(id);
      if (step.expected_shape != steps()[index].expected_shape || step.expected == steps()[index].expected)
        continue;
      auto& variants = by_name[id_without_variant(id)];
      if (std::any_of(variants.begin(), variants.end(),
                      [&](const Prediction& other) { return compare_.changes_nothing(other, step); }))
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
    const auto has_more = [&](const Supposition& one) { return mistakes_in(one) > fewest; };
    std::erase_if(found, has_more);
    if (fewest == 0) found.erase(found.begin() + 1, found.end());
  }

  /// What follows somebody's tensor, or needs a certain fill, counts only where nothing else gives that
  /// tensor.
  void drop_fitted(std::size_t index, std::vector<Supposition>& found) const {
    const auto is_fitted = [&](const Supposition& one) {
      const auto& id = one.mistakes.begin()->mistake;
      return steps()[index].fitted.count(id) > 0 || id.ends_with(":filled");
    };
    if (!std::all_of(found.begin(), found.end(), is_fitted)) std::erase_if(found, is_fitted);
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
    if (const auto* theirs = supposed_.theirs(step.id); theirs->shape() == step.shape)
      compare_.measure(step, *theirs, verdict);
    explained_[step.id] = verdict;
    for (const auto& supposition : found)
      for (const auto& one : supposition.mistakes) verdict_by_mistake_[one.mistake] = verdict;
  }

  /// Whether the id is a convention beside which the rest holds: alone it has to make the dump more right.
  bool is_another_way(const Supposition& supposition, const std::string& id) const {
    const auto& all = supposition.mistakes;
    const bool is_beside =
        std::any_of(all.begin(), all.end(), [&](const auto& one) { return one.mistake != id; });
    return is_convention(id) && !is_settled(id) &&
           (is_beside || supposition.contradictions < contradictions_of_adopted());
  }

  /// Whether the inputs say which way is meant, and nobody said that the dump follows another.
  bool is_settled(const std::string& id) const {
    const auto name = id_without_variant(id);
    return contains(dump_.settled, name) && conventions_.count(id) == 0;
  }

  std::size_t mistakes_in(const Supposition& supposition) const {
    std::set<std::string> mistakes;
    for (const auto& one : supposition.mistakes)
      if (!is_another_way(supposition, one.mistake)) mistakes.insert(one.mistake);
    return mistakes.size();
  }

  std::size_t contradictions_of_adopted() const {
    std::size_t count = 0;
    for (const auto& step : steps())
      if (const auto* theirs = supposed_.theirs(step.id);
          theirs != nullptr && !compare_.is_expected(step, *theirs))
        ++count;
    return count;
  }

  StepVerdict verdict_on(const Prediction& step, const AnyTensor& theirs) const {
    StepVerdict verdict;
    const auto open = not_judged_.find(step.id);
    if (const auto explained = explained_.find(step.id); explained != explained_.end())
      verdict = explained->second;
    else if (compare_.is_right(step, theirs))
      verdict = verdict_on_right(step, theirs);
    else if (not_from_.count(step.id) > 0)
      verdict.not_from = not_from_.at(step.id);
    else if (compare_.is_expected(step, theirs))
      verdict = verdict_of_adopted(step);
    else if (open != not_judged_.end() && !unknown_inputs_of(step.id).empty())
      verdict = {.id = step.id, .finding = Finding::not_judged, .needs = open->second};
    else
      verdict = verdict_of_unexplained(step, theirs);
    verdict.id = step.id;
    verdict.axes = step.axes;
    verdict.shape = theirs.shape();
    verdict.right_shape = step.shape;
    verdict.blanks = compare_.blanks_in(step.id);
    if (theirs.shape() != step.shape || verdict.finding == Finding::not_judged) return verdict;
    const bool is_unexplained = explained_.count(step.id) == 0;
    if (is_unexplained && compare_.leaves_padding_zero() && compare_.is_right(step, theirs) &&
        !Comparison::are_near(theirs.view(), step.reference, compare_.tolerance().at(step.id))) {
      verdict.finding = Finding::convention;
      verdict.conventions = {"padded-rows-zero"};
      return verdict;
    }
    if (is_unexplained) compare_.measure(step, theirs, verdict);
    verdict.unexplained = compare_.unexplained(step, theirs);
    return verdict;
  }

  StepVerdict verdict_on_right(const Prediction& step, const AnyTensor& theirs) const {
    StepVerdict verdict;
    verdict.finding = compare_.is_nearest(step, theirs) ? Finding::right : Finding::rounding;
    if (verdict.finding == Finding::rounding) {
      StepVerdict measured;
      compare_.measure(step, theirs, measured);
      verdict.largest_difference = measured.largest_difference;
    }
    if (const auto form = dump_.forms.find(step.id); form != dump_.forms.end()) {
      verdict.finding = Finding::form;
      verdict.form = form->second;
    }
    if (!compare_.matches(step, theirs, step.shape, step.reference, compare_.tolerance().at(step.id)))
      verdict.not_from = wrong_before(static_cast<std::size_t>(&step - steps().data()));
    else if (const auto given = given_.find(step.id); given != given_.end())
      verdict.given = given->second;
    if (const auto same = same_mistake_in_.find(step.id); same != same_mistake_in_.end())
      verdict.same_mistake_in = same->second;
    return verdict;
  }

  /// What follows from a tensor of a wrong shape cannot be computed from it.
  StepVerdict verdict_of_unexplained(const Prediction& step, const AnyTensor& theirs) const {
    StepVerdict verdict;
    verdict.finding = theirs.shape() == step.shape ? Finding::wrong : Finding::shape;
    const auto index = static_cast<std::size_t>(&step - steps().data());
    std::vector<std::size_t> misshapen;
    for (std::size_t i = 0; i < index; ++i) {
      const auto* tensor = supposed_.theirs(steps()[i].id);
      const bool is_usable = tensor != nullptr && tensor->shape() == steps()[i].shape;
      if (is_usable || !supposed_.depends_on(index, i)) continue;
      if (tensor == nullptr) verdict.lacking.push_back(steps()[i].id);
      if (tensor == nullptr) continue;
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
      const auto found = verdict_by_mistake_.find(id);
      if (found == verdict_by_mistake_.end() || !supposes(supposed_.adopted(), id, step.id)) continue;
      const auto& known = found->second;
      return {.id = step.id,
              .finding = known.finding,
              .mistakes = known.mistakes,
              .made_together = known.made_together,
              .conventions = known.conventions,
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
  std::map<std::string, StepVerdict> explained_;                  ///< by step
  std::map<std::string, std::set<std::string>> steps_that_need_;  ///< by id of an absent input
  std::set<std::string> trusted_;                                 ///< ids of absent inputs
  std::map<std::string, std::vector<std::string>> not_judged_;    ///< ids of the inputs, by step
  std::map<std::string, StepVerdict> verdict_by_mistake_;         ///< by id of the mistake
  std::optional<Own> own_;
  std::set<std::string> wrong_;                               ///< ids of steps
  std::map<std::string, std::vector<std::string>> not_from_;  ///< wrong steps, by right one
  std::map<std::string, std::vector<std::string>> given_;  ///< wrong steps that one follows from, by its id
  std::map<std::string, std::vector<std::string>> same_mistake_in_;  ///< steps that the dump lacks, by id
};

/// Looks for a formula behind each wrong step that no mistake of the catalogue gives, from their own tensors
/// before it. Any formula gives NaN from NaN.
void find_formulas(Diagnosis& diagnosis, const Dump& dump, const Rerun& rerun) {
  std::map<std::string, StepVerdict*> unnamed;
  for (auto& step : diagnosis.steps)
    if (step.finding == Finding::wrong && step.mistakes.empty() && step.nans == 0) unnamed[step.id] = &step;
  if (unnamed.empty()) return;
  rerun([&](const Tapped& tapped) {
    const auto theirs = dump.tensors.find(tapped.id);
    if (theirs == dump.tensors.end() || theirs->second.shape() != tapped.shape || !is_floating(tapped.dtype))
      return;
    const auto step = unnamed.find(tapped.id);
    if (step != unnamed.end() && tapped.explain != nullptr && is_evidence(theirs->second))
      step->second->formula = (*tapped.explain)(theirs->second);
    const auto view = theirs->second.view();
    for (std::size_t i = 0; i < element_count(tapped.shape); ++i)
      static_cast<double*>(tapped.elements)[i] = view.at(i);
  });
}

}  // namespace

std::string_view name_of(Finding finding) {
  const std::string_view names[] = {"right", "rounding", "form",      "convention",
                                    "shape", "wrong",    "not judged"};
  return names[static_cast<int>(finding)];
}

bool Diagnosis::is_right() const {
  return std::none_of(steps.begin(), steps.end(), [](const auto& step) {
    return step.finding == Finding::shape || step.finding == Finding::wrong;
  });
}

bool Diagnosis::is_complete() const {
  return missing.empty() &&
         std::all_of(steps.begin(), steps.end(), [](const auto& step) { return step.blanks == 0; });
}

bool Diagnosis::leaves_open() const {
  return std::any_of(steps.begin(), steps.end(),
                     [](const auto& step) { return step.finding == Finding::not_judged; });
}

std::set<std::string> differing_steps(const Dump& dump, const Rerun& rerun,
                                      const std::set<std::string>& conventions,
                                      const std::set<std::string>& among) {
  return Search(dump, rerun, conventions).differing(among);
}

Diagnosis diagnose(const Dump& dump, const Rerun& rerun, const std::set<std::string>& conventions) {
  auto diagnosis = Search(dump, rerun, conventions).run();
  find_formulas(diagnosis, dump, rerun);
  return diagnosis;
}

}  // namespace attn
