/// The catalogue of mistakes against itself: every mistake that a lesson lists is made on purpose on the
/// lesson's probe, and has to be found again from all tensors, from weights and output, and from the output.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "lessons/workbench/exercises.hpp"
#include "tests/unit/sample.hpp"
#include "trace/diagnosis/catalogue.hpp"
#include "trace/diagnosis/diagnosis.hpp"

namespace {

using attn::AnyTensor;
using attn::Dump;
using attn::Finding;

/// A lesson with a probe, or one of its parts.
struct Subject {
  const lessons::Lesson* lesson;
  std::string_view through;
  bool has_softcap = false;

  std::string name() const {
    return through.empty() ? std::string(lesson->name)
                           : fmt::format("{} --through {}", lesson->name, through);
  }
};

/// What somebody types who says no more than --through and --softcap.
lessons::Options options_of(const lessons::Lesson& lesson, std::string_view through, bool has_softcap) {
  auto options = lesson.defaults;
  if (has_softcap) options.softcap = 2.0;
  if (through.empty()) return options;
  options.sentence.clear();
  options.through = through;
  options.typed.insert("through");
  return options;
}

/// A lesson on the inputs of its probe.
struct Probed {
  explicit Probed(const Subject& of)
      : name(of.name()),
        lesson(lessons::lesson_of_probe(*of.lesson)),
        plan(lessons::plan_of_probe(*lesson, options_of(*lesson, of.through, of.has_softcap))) {}

  /// With other options.
  static Probed with(std::string_view lesson, const std::function<void(lessons::Options&)>& change) {
    Probed probed(Subject{lessons::lesson_named(lesson), ""});
    auto options = probed.lesson->defaults;
    change(options);
    probed.plan = lessons::plan_of_probe(*probed.lesson, options);
    return probed;
  }

  /// A decoder's block, which has two attentions.
  static Probed decoder() {
    return with("transformer-block", [](lessons::Options& options) { options.memory = "a b c d e"; });
  }

  void run(const attn::Watch& watch) const { lessons::run_watched(*plan.lesson, plan, watch); }

  attn::Diagnosis diagnose(const Dump& dump) const {
    return attn::diagnose(dump, [this](const attn::Watch& watch) { run(watch); });
  }

  std::string name;
  std::shared_ptr<const lessons::Lesson> lesson;
  lessons::Plan plan;
};

/// Every step of a faulty program; one that has another shape is there, and the others go on without it.
Dump dump_with(const Probed& probed, const attn::Hypothesis& mistakes) {
  Dump dump;
  for (const auto& step : lessons::steps_with(mistakes, probed.plan))
    dump.tensors.emplace(step.id, step.tensor());
  const auto& queries = probed.plan.target.size() > 0 ? probed.plan.target : probed.plan.sentence;
  if (queries.is_padded()) dump.lengths = queries.lengths();
  return dump;
}

std::set<std::string> results_of(const Probed& probed) {
  const auto ids = lessons::results_of(probed.plan, lessons::steps_with({}, probed.plan));
  return {ids.begin(), ids.end()};
}

/// The results and all weights.
std::set<std::string> weights_and_results_of(const Probed& probed) {
  auto ids = results_of(probed);
  probed.run([&](const attn::Tapped& tapped) {
    const auto name = tapped.id.substr(tapped.id.rfind('/') + 1);  // npos + 1 is 0
    if (tapped.kind == attn::Kind::step && name == "weights") ids.insert(tapped.id);
  });
  return ids;
}

Dump only(const Dump& dump, const std::set<std::string>& ids) {
  Dump part;
  part.lengths = dump.lengths;
  for (const auto& [id, tensor] : dump.tensors)
    if (ids.count(id) > 0) part.tensors.emplace(id, tensor);
  return part;
}

using Ids = std::set<std::string>;

/// Mistakes that nobody can tell apart, in these tensors.
struct Tie {
  Ids ids;
  bool needs_steps;  ///< whether a dump of all steps tells them apart
  std::string_view why;
};

const std::vector<Tie>& ties() {
  static const std::vector<Tie> all = {
      {{"scale-d-k", "scale-twice"}, false, "divided by √d_k twice is divided by d_k"},
      {{"scale-heads", "scale-integer"},
       false,
       "the probes' 4 heads have 5 to 8 features: √4 is √d_k rounded down"},
      {{"pe-base", "pe-exponent"}, false, "100^(−2i/d) = 10000^(−i/d), and (10⁸)^(−2i/d) = 10000^(−4i/d)"},
      {{"no-scale", "scale-after-softmax"}, true, "no step before softmax shows which, and none after it"},
      {{"mask-after-softmax", "mask-missing"}, true, "an encoder's states of padding are 0 and add nothing"},
      {{"keys-for-values", "wrong-projection"}, true, "the keys are X W_K, and so are values by W_K"},
      {{"qk-swapped", "qkv-layout"},
       true,
       "with W_Q and W_K exchanged Q Kᵀ is X W_K (X W_Q)ᵀ, which is K Qᵀ"},
      {{"qkv-layout", "wrong-projection"},
       true,
       "weights show what queries and keys are, and not the values"},
      {{"pe-missing", "rope-wrong-axis"}, true, "a sample's queries and keys are turned by the same angle"},
      {{"backward-heads-reshape-only", "merge-reshape-only"},
       true,
       "the gradient of a merge that only reshapes is a split that only reshapes"},
      {{"backward-heads-reshape-only", "heads-reshape-only"},
       true,
       "the gradient of a split that only reshapes is a merge that only reshapes"},
      {{"backward-not-transposed", "weights-transposed"},
       true,
       "the gradients of a step whose weights are transposed lack a transpose"},
      {{"mask-padding-on-queries", "padded-rows-zero"},
       false,
       "under a causal mask no query of a word sees padding, so that only the rows of padding are 0"},
  };
  return all;
}

/// Whether these are mistakes of one tie that is known in a dump of all steps, or of some.
bool is_listed(const Ids& ids, bool has_all_steps) {
  return std::any_of(ties().begin(), ties().end(), [&](const Tie& tie) {
    return !(tie.needs_steps && has_all_steps) &&
           std::includes(tie.ids.begin(), tie.ids.end(), ids.begin(), ids.end());
  });
}

enum class Outcome { named, tied, unseen, unknown, misnamed };

/// What is said of a dump with one mistake in it. Who says one of several that no list has as a tie misnames.
Outcome outcome_of(const attn::Diagnosis& diagnosis, const std::string& mistake, bool has_all_steps) {
  const auto name = attn::id_without_variant(mistake);
  bool is_named = false, is_tied = false, is_misnamed = false, is_unknown = false;
  for (const auto& step : diagnosis.steps) {
    if (step.finding == Finding::right || step.finding == Finding::rounding) continue;
    Ids said;
    for (const auto* ids : {&step.mistakes, &step.conventions})
      for (const auto& id : attn::ids_without_variants(*ids)) said.insert(id);
    if (said.empty()) {
      is_unknown = true;
    } else if (said == Ids{name}) {
      is_named = true;
    } else {
      said.insert(name);
      (is_listed(said, has_all_steps) ? is_tied : is_misnamed) = true;
    }
  }
  if (is_misnamed) return Outcome::misnamed;
  if (is_named) return Outcome::named;
  if (is_tied) return Outcome::tied;
  return is_unknown ? Outcome::unknown : Outcome::unseen;
}

std::string said_of(const attn::Diagnosis& diagnosis) {
  std::string text;
  for (const auto& step : diagnosis.steps)
    if (step.finding != Finding::right)
      text += fmt::format("{}: {} {}{}; ", step.id, attn::name_of(step.finding),
                          fmt::join(step.mistakes, "|"), fmt::join(step.conventions, "+"));
  return text;
}

/// How many mistakes are found from some of the tensors.
struct Score {
  std::size_t found = 0, all = 0;
  double share() const {
    return static_cast<double>(found) / static_cast<double>(std::max<std::size_t>(all, 1));
  }
};

/// Of a sample of the mistakes that the lesson lists, in all tensors where `ids` is null.
Score score_of(const Probed& probed, const std::set<std::string>* ids, Sample sample) {
  Score score;
  for (const auto& mistake : lessons::mistakes_of(probed.plan)) {
    if (!sample.takes_next()) continue;
    auto dump = dump_with(probed, {mistake});
    if (ids != nullptr) dump = only(dump, *ids);
    if (dump.tensors.empty()) continue;
    const auto diagnosis = probed.diagnose(dump);
    const auto outcome = outcome_of(diagnosis, mistake, ids == nullptr);
    if (ids != nullptr && outcome == Outcome::unseen) continue;  // nothing in these tensors differs
    ++score.all;
    if (outcome == Outcome::named || outcome == Outcome::tied) ++score.found;
    INFO(Sample::setting());
    CAPTURE(probed.name, mistake, said_of(diagnosis));
    CHECK(outcome != Outcome::misnamed);
    if (ids == nullptr) CHECK((outcome == Outcome::named || outcome == Outcome::tied));
    if (outcome != Outcome::named && outcome != Outcome::tied)
      WARN(fmt::format("{} {}: {}", probed.name, mistake, said_of(diagnosis)));
  }
  return score;
}

std::vector<Subject> subjects() {
  std::vector<Subject> all;
  for (const auto* lesson : lessons::all_lessons()) {
    if (!lesson->probe) continue;
    if (lesson->parts.empty()) all.push_back({lesson, ""});
    for (const auto* part : lesson->parts)
      if (part->probe) all.push_back({lesson, part->through});
  }
  return all;
}

/// Those, and lessons with --softcap.
std::vector<Subject> subjects_with_softcap() {
  auto all = subjects();
  for (const auto& subject : subjects())
    if (subject.lesson->uses("softcap")) all.push_back({subject.lesson, subject.through, true});
  return all;
}

Subject subject_called(std::string_view name) {
  const auto all = subjects();
  return *std::find_if(all.begin(), all.end(), [&](const Subject& one) { return one.name() == name; });
}

}  // namespace

TEST_CASE("every mistake that a lesson lists is in the catalogue", "[mistakes]") {
  for (const auto& subject : subjects()) DYNAMIC_SECTION(subject.name()) {
      for (const auto& id : lessons::mistakes_of(Probed(subject).plan)) {
        CAPTURE(subject.name(), id);
        CHECK(attn::find_mistake(id) != nullptr);
      }
    }
}

TEST_CASE("each mistake of a backward pass in the catalogue is one that backward can make", "[mistakes]") {
  std::set<std::string> made;
  for (const auto& subject : subjects())
    if (!subject.through.empty())
      for (const auto& id : lessons::mistakes_of(Probed(subject).plan))
        made.insert(std::string(attn::id_without_variant(id)));
  for (const auto& mistake : attn::catalogue())
    if (mistake.family == "gradient") {
      CAPTURE(mistake.id);
      CHECK(made.count(std::string(mistake.id)) == 1);
    }
}

TEST_CASE("each mistake of the catalogue is one that a lesson can make", "[mistakes]") {
  Ids made;
  const auto add = [&](const Probed& probed) {
    for (const auto& step : lessons::steps_with({}, probed.plan))
      for (const auto& id : step.mistakes) made.insert(attn::id_without_variant(id));
  };
  for (const auto& subject : subjects_with_softcap()) add(Probed(subject));
  add(Probed::decoder());
  add(Probed::with("multihead", [](lessons::Options& options) { options.temperature = 0.5; }));
  for (const auto& mistake : attn::catalogue()) {
    if (mistake.is_convention()) continue;
    CAPTURE(mistake.id);
    CHECK(made.count(std::string(mistake.id)) == 1);
  }
}

TEST_CASE("each formula of a mistake is one of a step that a probe has", "[mistakes]") {
  Ids listed;
  const auto list = [&](const lessons::Plan& plan) {
    for (const auto& step : lessons::steps_with({}, plan))
      listed.insert(step.mistakes.begin(), step.mistakes.end());
  };
  const auto list_with = [&](std::string_view name, const std::function<void(lessons::Options&)>& change) {
    list(Probed::with(name, change).plan);
  };
  for (const auto& subject : subjects_with_softcap()) list(Probed(subject).plan);
  for (const auto* attention : {"bahdanau", "bahdanau-input", "luong-dot", "luong-general"})
    list_with("seq2seq", [&](lessons::Options& options) { options.attention = attention; });
  list_with("efficient", [](lessons::Options& options) { options.causal = true; });
  list_with("multihead", [](lessons::Options& options) { options.temperature = 0.5; });
  list(Probed::decoder().plan);
  for (const auto& [step, formulas] : attn::formulas_of_mistakes())
    for (const auto& formula : formulas) {
      const bool has_bias = std::any_of(formula.names.begin(), formula.names.end(),
                                        [](const auto& name) { return name.starts_with("b_"); });
      if (has_bias && formula.id.starts_with("bias-missing")) continue;  // no probe has biases
      CAPTURE(step, formula.id);
      CHECK(listed.count(formula.id) == 1);
    }
}

TEST_CASE("the right tensors of every probe are right", "[mistakes]") {
  for (const auto& subject : subjects()) DYNAMIC_SECTION(subject.name()) {
      const Probed probed(subject);
      const auto diagnosis = probed.diagnose(dump_with(probed, {}));
      CAPTURE(subject.name(), said_of(diagnosis));
      CHECK(!diagnosis.steps.empty());
      for (const auto& step : diagnosis.steps) CHECK(step.finding == Finding::right);
    }
}

namespace {

/// All of them, or under the sanitizers, whose runs take many times as long, those of few steps.
std::vector<Subject> searched_subjects() {
  auto searched = subjects();
#ifdef __SANITIZE_ADDRESS__
  const auto has_many_steps = [](const Subject& subject) {
    return subject.name() != "sdpa" && subject.name() != "self-attention";
  };
  searched.erase(std::remove_if(searched.begin(), searched.end(), has_many_steps), searched.end());
#endif
  return searched;
}

/// Finds mistakes from these tensors of each probe. The least share of them that has to be found of a lesson
/// counts where all are tried, and that over all lessons always.
void find_mistakes(const std::string& tensors, Ids (*ids_of)(const Probed&), double least_of_all,
                   double (*least)(const Subject&)) {
  Score of_all;
  for (const auto& subject : searched_subjects()) {
    const Probed probed(subject);
    const auto ids = ids_of(probed);
    const Sample sample(subject.name() + " from " + tensors);
    const auto score = score_of(probed, &ids, sample);
    CAPTURE(subject.name(), score.found, score.all);
    if (sample.is_all()) CHECK(score.share() >= least(subject));
    of_all.found += score.found;
    of_all.all += score.all;
  }
  INFO(Sample::setting());
  CAPTURE(of_all.found, of_all.all);
  CHECK(of_all.share() >= least_of_all);
}

}  // namespace

TEST_CASE("every mistake is found from all tensors", "[mistakes]") {
  for (const auto& subject : searched_subjects())
    score_of(Probed(subject), nullptr, Sample(subject.name() + " from all tensors"));
}

TEST_CASE("most mistakes are found from weights and output, none is misnamed", "[mistakes]") {
  find_mistakes("weights and output", weights_and_results_of, 0.85, [](const Subject&) { return 0.85; });
}

TEST_CASE("most mistakes are found from the output alone, none is misnamed", "[mistakes]") {
  find_mistakes("the output", results_of, 0.75, [](const Subject& subject) {
    return subject.name() == "sdpa" || subject.name() == "multihead" ? 0.9 : 0.75;
  });
}

namespace {

/// Two mistakes of one lesson that stand in different steps.
using Pair = std::pair<std::string, std::string>;

bool are_near(double a, double b) {
  if (!std::isfinite(a) || !std::isfinite(b)) return a == b || (std::isnan(a) && std::isnan(b));
  return std::abs(a - b) <= 1e-9 * (1.0 + std::abs(b));
}

bool are_near(const AnyTensor& a, const AnyTensor& b) {
  if (a.shape() != b.shape()) return false;
  for (std::size_t i = 0; i < attn::element_count(a.shape()); ++i)
    if (!are_near(a.view().at(i), b.view().at(i))) return false;
  return true;
}

/// Whether what is said of a dump, made on purpose, gives that dump.
bool is_reproduced(const Probed& probed, const attn::Diagnosis& diagnosis, const Dump& dump) {
  const auto made = dump_with(probed, diagnosis.supposed);
  return std::all_of(dump.tensors.begin(), dump.tensors.end(),
                     [&](const auto& one) { return are_near(made.tensors.at(one.first), one.second); });
}

/// Whether an id is that of a mistake, of a variant of it, or of one that nobody can tell from it.
bool stands_for(const std::string& id, const std::string& mistake, bool has_all_steps) {
  const auto one = attn::id_without_variant(id), other = attn::id_without_variant(mistake);
  return one == other || is_listed({std::min(one, other), std::max(one, other)}, has_all_steps);
}

/// Whether nothing is named but the two, from some of the steps.
bool names_only(const attn::Diagnosis& diagnosis, const Pair& pair) {
  return std::all_of(diagnosis.steps.begin(), diagnosis.steps.end(), [&](const auto& step) {
    return step.conventions.empty() &&
           std::all_of(step.mistakes.begin(), step.mistakes.end(), [&](const auto& id) {
             return stands_for(id, pair.first, false) || stands_for(id, pair.second, false);
           });
  });
}

/// The dump with 0 in the rows of padded queries, which are not compared.
Dump without_padded_rows(Dump dump) {
  for (auto& [id, tensor] : dump.tensors) {
    const auto& shape = tensor.shape();
    if (tensor.dtype() != attn::Dtype::float64 || shape.size() < 3 || shape.front() != dump.lengths.size())
      continue;
    const auto width = shape.back(), queries = shape[shape.size() - 2];
    for (std::size_t row = 0; row < attn::element_count(shape) / width; ++row) {
      const auto sample = row * width / (attn::element_count(shape) / shape.front());
      if (row % queries >= dump.lengths[sample])
        std::fill_n(tensor.elements<double>() + row * width, width, 0.0);
    }
  }
  return dump;
}

/// Whether a program that makes both shows in these steps that it makes each.
bool shows_both(const Probed& probed, const Pair& pair, const std::set<std::string>& ids) {
  const auto differ = [&](const Dump& a, const Dump& b) {
    return std::any_of(ids.begin(), ids.end(),
                       [&](const auto& id) { return !are_near(a.tensors.at(id), b.tensors.at(id)); });
  };
  const auto made = [&](const attn::Hypothesis& mistakes) {
    return without_padded_rows(dump_with(probed, mistakes));
  };
  const auto both = made({pair.first, pair.second});
  return differ(both, made({pair.first})) && differ(both, made({pair.second}));
}

std::set<std::string> ids_of(const std::vector<attn::Prediction>& steps) {
  std::set<std::string> ids;
  for (const auto& step : steps) ids.insert(step.id);
  return ids;
}

bool share_a_step(const std::vector<attn::Prediction>& steps, const Pair& pair) {
  return std::any_of(steps.begin(), steps.end(), [&](const attn::Prediction& step) {
    const auto lists = [&](const std::string& id) {
      return std::find(step.mistakes.begin(), step.mistakes.end(), id) != step.mistakes.end();
    };
    return lists(pair.first) && lists(pair.second);
  });
}

/// Pairs drawn at random, each time the same.
std::vector<Pair> random_pairs(const Probed& probed, std::size_t count) {
  const auto ids = lessons::mistakes_of(probed.plan);
  const auto right = lessons::steps_with({}, probed.plan);
  std::mt19937 random(7);
  std::vector<Pair> pairs;
  for (std::size_t draw = 0; draw < 20 * count && pairs.size() < count; ++draw) {
    const Pair pair{ids[random() % ids.size()], ids[random() % ids.size()]};
    if (pair.first != pair.second && !share_a_step(right, pair)) pairs.push_back(pair);
  }
  return pairs;
}

/// Whether each verdict has one of the two, or what nobody can tell from it, and each of the two is in a
/// verdict.
bool names_both(const attn::Diagnosis& diagnosis, const Pair& pair, bool has_all_steps) {
  bool has_first = false, has_second = false;
  for (const auto& step : diagnosis.steps) {
    if (step.finding == Finding::right || step.finding == Finding::rounding) continue;
    const auto says = [&](const std::string& mistake) {
      const auto says_it = [&](const std::string& id) { return stands_for(id, mistake, has_all_steps); };
      return std::any_of(step.mistakes.begin(), step.mistakes.end(), says_it) ||
             std::any_of(step.conventions.begin(), step.conventions.end(), says_it);
    };
    if (!says(pair.first) && !says(pair.second)) return false;
    has_first = has_first || says(pair.first);
    has_second = has_second || says(pair.second);
  }
  return has_first && has_second;
}

}  // namespace

namespace {

/// By mistake, the steps that list it: those of the mistakes that several list, each of which can be made
/// alone.
std::map<std::string, std::vector<std::string>> siblings_in(const Probed& probed) {
  const auto all = lessons::mistakes_of(probed.plan);
  std::map<std::string, std::vector<std::string>> steps_by_mistake;
  for (const auto& step : lessons::steps_with({}, probed.plan))
    for (const auto& id : step.mistakes)
      if (std::find(all.begin(), all.end(), id) != all.end() && !attn::is_convention(id) &&
          step.fitted.count(id) == 0)
        steps_by_mistake[id].push_back(step.id);
  std::erase_if(steps_by_mistake, [](const auto& one) { return one.second.size() < 2; });
  return steps_by_mistake;
}

/// Some of them, one at least, drawn at random.
Ids drawn_from(const std::vector<std::string>& ids, std::mt19937& random) {
  Ids drawn = {ids[random() % ids.size()]};
  for (const auto& id : ids)
    if (random() % 2 == 0) drawn.insert(id);
  return drawn;
}

/// Checks what is said of some steps of a program that makes the mistake in these steps: the first that is
/// not as it follows from those before it is wrong, and no right one is. Returns whether the mistake shows,
/// and says whether it was named there and in each later step.
bool shows_and_accuses_none(const Probed& probed, const std::string& mistake, const Ids& made_in,
                            const Ids& saved, bool& is_named) {
  attn::Hypothesis planted;
  for (const auto& step : made_in) planted.emplace(mistake, step);
  const auto dump = only(dump_with(probed, planted), saved);
  const auto rerun = [&](const attn::Watch& watch) { probed.run(watch); };
  const auto right = attn::Replay(rerun, dump.tensors).predict();
  const auto own = lessons::steps_with({}, probed.plan);
  const auto diagnosis = probed.diagnose(dump);
  INFO(Sample::setting());
  CAPTURE(probed.name, mistake, fmt::format("{}", fmt::join(made_in, " ")),
          fmt::format("{}", fmt::join(saved, " ")), said_of(diagnosis));
  bool shows = false;
  is_named = false;
  for (const auto& verdict : diagnosis.steps) {
    const auto is_near = [&](const std::vector<attn::Prediction>& steps, const auto& rows_of) {
      return std::any_of(steps.begin(), steps.end(), [&](const auto& one) {
        return one.id == verdict.id && are_near(rows_of(dump.tensors.at(one.id)), rows_of(one.tensor()));
      });
    };
    const auto real_rows = [&](const AnyTensor& tensor) {  // where rows of padding are 0, they do not count
      return without_padded_rows({.tensors = {{"", tensor}}, .lengths = dump.lengths}).tensors.at("");
    };
    const auto all_rows = [](const AnyTensor& tensor) { return tensor; };
    const bool follows = is_near(right, all_rows), differs = !is_near(right, real_rows);
    const bool is_wrong = verdict.finding == Finding::wrong || verdict.finding == Finding::shape;
    const bool names_it = std::any_of(verdict.mistakes.begin(), verdict.mistakes.end(),
                                      [&](const auto& id) { return stands_for(id, mistake, false); });
    INFO(verdict.id);
    if (follows) CHECK_FALSE(is_wrong);
    // Made twice it may be what it is once, or be undone.
    const bool follows_from_it =
        !verdict.same_mistake_in.empty() || !verdict.given.empty() || is_near(own, real_rows);
    if (differs && made_in.count(verdict.id) > 0) CHECK((is_wrong || follows_from_it));
    if (differs && !shows) {
      shows = true;
      is_named = names_it;
      CHECK((verdict.finding != Finding::right || follows_from_it));
    } else if (differs && is_named) {
      is_named = is_wrong ? names_it : follows_from_it;
    }
  }
  return shows;
}

}  // namespace

TEST_CASE(
    "a mistake in some of the steps that list it is named, whatever is saved, and none of the others accused",
    "[mistakes]") {
  constexpr int draws = 4;
  std::size_t named = 0, all = 0;
  for (const auto& subject : searched_subjects()) {
    const Probed probed(subject);
    const auto steps = lessons::steps_with({}, probed.plan);
    std::vector<std::string> ids;
    for (const auto& step : steps) ids.push_back(step.id);
    std::mt19937 random(attn::crc32(subject.name()));
    Sample sample("some places of " + subject.name(), 40);
    for (const auto& [mistake, places] : siblings_in(probed))
      for (int draw = 0; draw < draws; ++draw) {
        const auto made_in = drawn_from(places, random);
        auto saved = drawn_from(ids, random);
        saved.insert(ids.back());
        bool is_named = false;
        if (!sample.takes_next() || !shows_and_accuses_none(probed, mistake, made_in, saved, is_named))
          continue;
        ++all;
        named += is_named ? 1 : 0;
        if (!is_named)
          WARN(fmt::format("{} {} in {} of {}", subject.name(), mistake, fmt::join(made_in, " "),
                           fmt::join(saved, " ")));
      }
  }
  CAPTURE(named, all);
  CHECK(all > 0);
  CHECK(10 * named >= 8 * all);
}

TEST_CASE("two mistakes in different steps are both found from all tensors", "[mistakes]") {
  for (const auto& subject : searched_subjects()) DYNAMIC_SECTION(subject.name()) {
      const Probed probed(subject);
      const auto ids = ids_of(lessons::steps_with({}, probed.plan));
      Sample sample("two of " + subject.name());
      for (const auto& pair : random_pairs(probed, 40)) {
        if (!sample.takes_next() || !shows_both(probed, pair, ids)) continue;
        const auto dump = dump_with(probed, {pair.first, pair.second});
        const auto diagnosis = probed.diagnose(dump);
        INFO(Sample::setting());
        CAPTURE(probed.name, pair.first, pair.second, said_of(diagnosis));
        CHECK((names_both(diagnosis, pair, true) || is_reproduced(probed, diagnosis, dump)));
      }
    }
}

TEST_CASE("two mistakes at once are found from the output alone, or none is named", "[mistakes]") {
  for (const auto& subject : searched_subjects()) {
    if (subject.name() != "sdpa" && subject.name() != "self-attention") continue;
    const Probed probed(subject);
    const auto ids = results_of(probed);
    std::size_t found = 0, all = 0;
    for (const auto& pair : random_pairs(probed, 16)) {
      if (!shows_both(probed, pair, ids)) continue;
      ++all;
      const auto dump = only(dump_with(probed, {pair.first, pair.second}), ids);
      const auto diagnosis = probed.diagnose(dump);
      CAPTURE(probed.name, pair.first, pair.second, said_of(diagnosis));
      REQUIRE(diagnosis.steps.size() == 1);
      if (names_both(diagnosis, pair, false)) ++found;
      const bool is_unknown = diagnosis.steps[0].mistakes.empty() && diagnosis.steps[0].conventions.empty();
      CHECK((is_unknown || names_only(diagnosis, pair) || is_reproduced(probed, diagnosis, dump)));
    }
    CAPTURE(probed.name, found, all);
    CHECK(all > 5);
    CHECK(4 * found >= 3 * all);
  }
}

TEST_CASE("rows of padded queries that are left 0 are a convention, other rows are not", "[mistakes]") {
  const Probed probed(subject_called("self-attention"));
  auto dump = dump_with(probed, {});
  REQUIRE(dump.lengths[1] < dump.lengths[0]);
  auto& output = dump.tensors.at("output");
  const auto rows = output.shape()[1], d_v = output.shape()[2];
  const auto row = [&](std::size_t sample, std::size_t query) {
    return output.elements<double>() + (sample * rows + query) * d_v;
  };
  for (auto query = dump.lengths[1]; query < rows; ++query) std::fill_n(row(1, query), d_v, 0.0);
  CHECK(probed.diagnose(dump).steps.back().conventions == std::vector<std::string>{"padded-rows-zero"});
  CHECK(probed.diagnose(only(dump, {"output"})).is_right());

  std::fill_n(row(1, dump.lengths[1] - 1), d_v, 0.0);
  CHECK(probed.diagnose(dump).steps.back().finding == Finding::wrong);
}

TEST_CASE("rows of padded queries that are left 0 count in no later step", "[mistakes]") {
  const Probed probed(subject_called("multihead"));
  auto dump = dump_with(probed, {});
  REQUIRE(dump.lengths[1] < dump.lengths[0]);
  auto& weights = dump.tensors.at("weights");
  const auto heads = weights.shape()[1], queries = weights.shape()[2], keys = weights.shape()[3];
  const auto row = [&](std::size_t head, std::size_t query) {
    return weights.elements<double>() + ((heads + head) * queries + query) * keys;
  };
  for (std::size_t head = 0; head < heads; ++head)
    for (auto query = dump.lengths[1]; query < queries; ++query) std::fill_n(row(head, query), keys, 0.0);
  CHECK(probed.diagnose(dump).is_right());

  row(0, 0)[0] += 0.01;
  CHECK_FALSE(probed.diagnose(dump).is_right());
}

TEST_CASE("NaN in every place is evidence of no mistake", "[mistakes]") {
  const Probed probed(subject_called("sdpa"));
  auto dump = only(dump_with(probed, {}), {"output"});
  auto& output = dump.tensors.at("output");
  std::fill_n(output.elements<double>(), attn::element_count(output.shape()), std::nan(""));
  const auto diagnosis = probed.diagnose(dump);
  CHECK(diagnosis.steps.back().finding == Finding::wrong);
  CHECK(diagnosis.steps.back().mistakes.empty());
}

namespace {

/// Calls `change` with each row, along the last axis, and its length.
template <class Change>
void change_rows(AnyTensor& tensor, Change change) {
  const auto length = tensor.shape().back();
  for (std::size_t begin = 0; begin < attn::element_count(tensor.shape()); begin += length)
    change(tensor.elements<double>() + begin, length);
}

void divide(Dump& dump, const std::string& id, double by) {
  change_rows(dump.tensors.at(id), [by](double* row, std::size_t length) {
    std::transform(row, row + length, row, [by](double number) { return number / by; });
  });
}

/// What is said of a step, without variants: the conventions, or the mistakes.
std::vector<std::string> said_of_step(const attn::Diagnosis& diagnosis, const std::string& id) {
  for (const auto& step : diagnosis.steps)
    if (step.id == id)
      return attn::ids_without_variants(step.finding == Finding::convention ? step.conventions
                                                                            : step.mistakes);
  return {"no such step"};
}

using Said = std::vector<std::string>;

double root_of_d_k(const Probed& probed) {
  return std::sqrt(static_cast<double>(*probed.plan.options.d_k));
}

}  // namespace

TEST_CASE("a convention that one attention of a block follows and the other does not is none the less one",
          "[mistakes]") {
  const auto probed = Probed::decoder();
  for (const std::string group : {"attention/", "cross/"})
    for (const Ids& saved :
         {Ids{}, Ids{"attention/scores", "attention/scaled", "cross/scores", "cross/scaled"}}) {
      auto dump = dump_with(probed, {});
      divide(dump, group + "scores", root_of_d_k(probed));
      if (!saved.empty()) dump = only(dump, saved);
      auto diagnosis = probed.diagnose(dump);
      CAPTURE(group, saved.size(), said_of(diagnosis));
      CHECK(diagnosis.is_right());
      const auto said = said_of_step(diagnosis, group + "scores");
      CHECK((said == Said{"scores-already-scaled"} || (!saved.empty() && said == Said{"scale-in-weights"})));

      divide(dump, group + "scaled", root_of_d_k(probed));
      diagnosis = probed.diagnose(dump);
      CHECK_FALSE(diagnosis.is_right());
    }
}

TEST_CASE("whichever way the scale is divided, the results and their gradients are the same", "[mistakes]") {
  std::size_t made = 0;
  for (const auto& subject : subjects()) {
    const Probed probed(subject);
    const auto right = dump_with(probed, {});
    const auto results = results_of(probed);
    for (const auto& id : lessons::mistakes_of(probed.plan)) {
      if (!attn::is_convention(id) || attn::find_mistake(id)->family != "scale") continue;
      const auto other = dump_with(probed, {id});
      ++made;
      for (const auto& result : results) {
        CAPTURE(subject.name(), id, result);
        CHECK(are_near(other.tensors.at(result), right.tensors.at(result)));
      }
    }
  }
  CHECK(made > 10);
}

TEST_CASE("a convention whose halves are both in hidden steps is none of the steps behind them",
          "[mistakes]") {
  const Probed probed(subject_called("efficient"));
  const auto dump = dump_with(probed, {"no-scale"});
  for (const auto& step : {"full/weights", "local/weights", "local/output", "local/error"}) {
    const auto diagnosis = probed.diagnose(only(dump, {step}));
    CAPTURE(step, said_of(diagnosis));
    CHECK_FALSE(diagnosis.is_right());
    CHECK(attn::contains(said_of_step(diagnosis, step), "no-scale"));
  }
}

TEST_CASE("what follows from a tensor of a wrong shape is not judged", "[mistakes]") {
  const auto probed = Probed::decoder();
  auto dump = dump_with(probed, {});
  for (const auto* step : {"cross/K", "cross/V", "cross/weights"}) {
    auto& tensor = dump.tensors.at(step);
    auto shape = tensor.shape();
    shape[shape.size() - 2] += 1;
    tensor = AnyTensor(attn::Dtype::float64, shape);
  }
  change_rows(dump.tensors.at("cross/heads"), [](double* row, std::size_t) { row[0] += 1.0; });
  for (const auto& step : probed.diagnose(dump).steps) {
    CAPTURE(step.id);
    if (step.id == "cross/heads") {
      CHECK(step.finding == Finding::not_judged);
      CHECK(step.misshapen == Said{"cross/weights"});
    }
  }
}

TEST_CASE("queries that are divided after the split, as PyTorch has them, are a convention", "[mistakes]") {
  const std::string name = GENERATE("multihead", "cross-attention", "transformer-block");
  const std::string group = name == "transformer-block" ? "attention/" : "";
  const Probed probed(subject_called(name));
  auto dump = dump_with(probed, {});
  for (const auto* step : {"Q_heads", "scores"}) divide(dump, group + step, root_of_d_k(probed));
  auto diagnosis = probed.diagnose(dump);
  CAPTURE(name, said_of(diagnosis));
  CHECK(diagnosis.is_right());
  CHECK(said_of_step(diagnosis, group + "Q_heads") == Said{"scale-in-weights"});
  CHECK(probed.diagnose(only(dump, {group + "Q_heads", group + "weights", "output"})).is_right());

  divide(dump, group + "scaled", root_of_d_k(probed));
  diagnosis = probed.diagnose(only(dump, {group + "Q_heads", group + "scores", group + "scaled"}));
  CHECK(said_of_step(diagnosis, group + "Q_heads") == Said{"scale-twice"});
  CHECK_FALSE(diagnosis.is_right());
}

TEST_CASE("a scale that is split between queries and keys is a convention", "[mistakes]") {
  const Probed probed(subject_called("multihead"));
  auto divided = GENERATE(Ids{"Q", "K", "Q_heads", "K_heads"}, Ids{"Q_heads", "K_heads"});
  const std::string first = divided.count("Q") > 0 ? "Q" : "Q_heads";
  auto dump = dump_with(probed, {});
  for (const auto& step : divided) divide(dump, step, std::sqrt(root_of_d_k(probed)));
  divide(dump, "scores", root_of_d_k(probed));
  auto diagnosis = probed.diagnose(dump);
  CAPTURE(said_of(diagnosis));
  CHECK(diagnosis.is_right());
  CHECK(said_of_step(diagnosis, first) == Said{"scale-in-weights"});

  divide(dump, "scaled", root_of_d_k(probed));
  divided.insert({"scores", "scaled"});
  diagnosis = probed.diagnose(only(dump, divided));
  CHECK(said_of_step(diagnosis, first) == Said{"scale-twice"});
  CHECK_FALSE(diagnosis.is_right());
}

TEST_CASE("a number added to a row of scores is a convention, scaled or masked", "[mistakes]") {
  const Probed probed(subject_called(GENERATE("sdpa", "multihead")));
  const double fill = GENERATE(-std::numeric_limits<double>::infinity(), -1e9);
  const auto subtract_maximum = [fill](double* row, std::size_t length) {
    std::replace(row, row + length, -std::numeric_limits<double>::infinity(), fill);
    const double largest = *std::max_element(row, row + length);
    std::transform(row, row + length, row, [largest](double score) { return score - largest; });
  };
  auto dump = dump_with(probed, {});
  for (const auto* step : {"scaled", "masked"}) {
    change_rows(dump.tensors.at(step), subtract_maximum);
    for (const auto& ids : {Ids{"scaled", "masked", "weights"}, Ids{step}, Ids{step, "weights"}}) {
      const auto diagnosis = probed.diagnose(only(dump, ids));
      CAPTURE(probed.name, step, ids, said_of(diagnosis));
      CHECK(diagnosis.is_right());
      CHECK(said_of_step(diagnosis, step) == Said{"scores-shifted"});
    }
    auto moved = only(dump, {step});
    auto& scores = moved.tensors.at(step);
    scores.elements<double>()[scores.shape().back()] += 0.5;  // of query 1, which sees more keys than one
    CHECK_FALSE(probed.diagnose(moved).is_right());
  }
}

TEST_CASE("what a mask does to rows of padded queries is judged alike, whatever is saved", "[mistakes]") {
  const Probed probed(subject_called("multihead"));
  for (const auto& ids : {Ids{}, Ids{"masked"}, Ids{"weights"}, Ids{"output"}, Ids{"masked", "output"}}) {
    const auto judged = [&](const std::string& mistake) {
      const auto dump = dump_with(probed, {mistake});
      return probed.diagnose(ids.empty() ? dump : only(dump, ids));
    };
    const auto added = judged("mask-padding-on-queries:added:filled");
    CAPTURE(probed.name, ids, said_of(added));
    CHECK_FALSE(added.is_right());
    CHECK(said_of(added).find("mask-padding-on-queries") != std::string::npos);
    CHECK(said_of(added).find("scores-shifted") == std::string::npos);
    const auto left_out = judged("mask-padding-on-queries");
    CHECK(left_out.is_right());
    CHECK(said_of(left_out).find("padded-rows-zero") != std::string::npos);
  }
}

TEST_CASE("masked scores with a large negative fill are said to be no more than that", "[mistakes]") {
  const Probed probed(subject_called("multihead"));
  for (const auto& mistakes : {Ids{}, Ids{"no-scale"}}) {
    auto dump = only(dump_with(probed, attn::everywhere(mistakes)), {"masked", "weights"});
    change_rows(dump.tensors.at("masked"), [](double* row, std::size_t length) {
      std::replace(row, row + length, -std::numeric_limits<double>::infinity(), -1e9);
    });
    const auto diagnosis = probed.diagnose(dump);
    CAPTURE(said_of(diagnosis));
    CHECK(attn::ids_without_variants(diagnosis.steps.front().conventions) == Said{"large-negative-fill"});
    CHECK(Ids(diagnosis.steps.front().mistakes.begin(), diagnosis.steps.front().mistakes.end()) == mistakes);
  }
}

TEST_CASE("tiled key heads and keys that are repeated are two mistakes", "[mistakes]") {
  const Probed probed(subject_called("multihead"));
  for (const std::string mistake : {"gqa-tile", "repeat-kv-axis"})
    for (const auto& ids : {Ids{"scores", "heads"}, Ids{"output"}}) {
      const auto diagnosis = probed.diagnose(only(dump_with(probed, {mistake}), ids));
      CAPTURE(mistake, said_of(diagnosis));
      CHECK(said_of_step(diagnosis, *ids.begin() == "heads" ? "scores" : "output") == Said{mistake});
    }
}

TEST_CASE("a row of padding in a probe is not 0", "[mistakes]") {
  const std::string name = GENERATE("self-attention", "cross-attention", "seq2seq", "transformer-block");
  const Probed probed(subject_called(name));
  probed.run([&](const attn::Tapped& tapped) {
    if (tapped.kind != attn::Kind::input || tapped.shape.size() != 3) return;
    AnyTensor tensor({tapped.dtype, tapped.shape, tapped.elements});
    CAPTURE(name, tapped.id);
    if (attn::is_floating(tensor.dtype()))
      change_rows(tensor, [](const double* row, std::size_t length) {
        CHECK(std::any_of(row, row + length, [](double number) { return number != 0.0; }));
      });
  });
}
