/// The catalogue of mistakes against itself: every mistake that a lesson lists is made on purpose on the
/// lesson's probe, and has to be found again from all tensors, from weights and output, and from the output.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lessons/workbench/probe.hpp"
#include "trace/diagnosis/catalogue.hpp"
#include "trace/diagnosis/diagnosis.hpp"
#include "trace/diagnosis/report.hpp"

namespace {

using attn::AnyTensor;
using attn::Dump;
using attn::Finding;

bool names_a_convention(const std::string& id) {
  const auto* mistake = attn::find_mistake(attn::id_without_variant(id));
  return mistake != nullptr && mistake->is_convention();
}

/// A lesson with a probe, or one of its parts.
struct Subject {
  const lessons::Lesson* lesson;
  std::string_view through;

  std::string name() const {
    return through.empty() ? std::string(lesson->name)
                           : fmt::format("{} --through {}", lesson->name, through);
  }
};

/// What somebody types who says no more than --through.
lessons::Options options_of(const lessons::Lesson& lesson, std::string_view through) {
  auto options = lesson.defaults;
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
        plan(lessons::plan_of_probe(*lesson, options_of(*lesson, of.through))) {}

  void run(const attn::Watch& watch) const { lessons::run_watched(*plan.lesson, plan, watch); }

  attn::Diagnosis diagnose(const Dump& dump) const {
    return attn::diagnose(dump, [this](const attn::Watch& watch) { run(watch); }, {names_a_convention, {}});
  }

  std::string name;
  std::shared_ptr<const lessons::Lesson> lesson;
  lessons::Plan plan;
};

/// Every step of a faulty program; one that has another shape is there, and the others go on without it.
Dump dump_with(const Probed& probed, const std::string& mistake_id) {
  Dump dump;
  probed.run([&](const attn::Tapped& tapped) {
    attn::made_on_purpose({mistake_id})(tapped);
    if (tapped.kind != attn::Kind::step) return;
    auto tensor = AnyTensor({tapped.dtype, tapped.shape, tapped.elements});
    for (const auto& mistake : tapped.mistakes)
      if (mistake.id() == mistake_id)
        if (auto result = mistake.result(nullptr); result && result->shape() != tapped.shape)
          tensor = std::move(*result);
    dump.tensors.insert_or_assign(tapped.id, std::move(tensor));
  });
  return dump;
}

/// The ids of the results: the last step, where the probe names no others.
std::set<std::string> results_of(const Probed& probed) {
  const auto& results = probed.plan.lesson->probe->results;
  if (!results.empty()) return {results.begin(), results.end()};
  std::string last;
  probed.run([&](const attn::Tapped& tapped) {
    if (tapped.kind == attn::Kind::step) last = tapped.id;
  });
  return {last};
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

/// Ids, with variants, of the mistakes that can be made without somebody's tensor.
std::vector<std::string> makeable(const Probed& probed) {
  std::vector<std::string> ids;
  probed.run([&](const attn::Tapped& tapped) {
    for (const auto& mistake : tapped.mistakes)
      if (mistake.result(nullptr) && std::find(ids.begin(), ids.end(), mistake.id()) == ids.end())
        ids.push_back(mistake.id());
  });
  return ids;
}

Dump only(const Dump& dump, const std::set<std::string>& ids) {
  Dump part;
  for (const auto& [id, tensor] : dump.tensors)
    if (ids.count(id) > 0) part.tensors.emplace(id, tensor);
  return part;
}

enum class Outcome { named, tied, unseen, unknown, misnamed };

/// What is said of a dump with one mistake in it.
Outcome outcome_of(const attn::Diagnosis& diagnosis, const std::string& mistake) {
  const auto name = attn::id_without_variant(mistake);
  bool is_named = false, is_tied = false, is_misnamed = false, is_unknown = false;
  for (const auto& step : diagnosis.steps) {
    if (step.finding == Finding::right || step.finding == Finding::rounding) continue;
    auto said = attn::ids_without_variants(step.mistakes);
    if (!step.convention.empty()) said.push_back(attn::id_without_variant(step.convention));
    const bool has_it = std::find(said.begin(), said.end(), name) != said.end();
    is_named = is_named || (has_it && said.size() == 1);
    is_tied = is_tied || (has_it && said.size() > 1);
    is_unknown = is_unknown || said.empty();
    is_misnamed = is_misnamed || (!said.empty() && !has_it);
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
                          fmt::join(step.mistakes, "|"), step.convention);
  return text;
}

/// How many mistakes of a lesson are found from some of its tensors.
struct Score {
  std::size_t found = 0, all = 0;
  double share() const {
    return static_cast<double>(found) / static_cast<double>(std::max<std::size_t>(all, 1));
  }
};

Score score_of(const Probed& probed, const std::set<std::string>* ids) {
  Score score;
  for (const auto& mistake : makeable(probed)) {
    auto dump = dump_with(probed, mistake);
    if (ids != nullptr) dump = only(dump, *ids);
    if (dump.tensors.empty()) continue;
    const auto diagnosis = probed.diagnose(dump);
    const auto outcome = outcome_of(diagnosis, mistake);
    if (ids != nullptr && outcome == Outcome::unseen) continue;  // nothing in these tensors differs
    ++score.all;
    if (outcome == Outcome::named || outcome == Outcome::tied) ++score.found;
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

}  // namespace

TEST_CASE("every mistake that a lesson lists is in the catalogue", "[mistakes]") {
  for (const auto& subject : subjects()) DYNAMIC_SECTION(subject.name()) {
      for (const auto& id : makeable(Probed(subject))) {
        CAPTURE(subject.name(), id);
        CHECK(attn::find_mistake(attn::id_without_variant(id)) != nullptr);
      }
    }
}

TEST_CASE("each mistake of a backward pass in the catalogue is one that backward can make", "[mistakes]") {
  std::set<std::string> made;
  for (const auto& subject : subjects())
    if (!subject.through.empty())
      for (const auto& id : makeable(Probed(subject))) made.insert(std::string(attn::id_without_variant(id)));
  for (const auto& mistake : attn::catalogue())
    if (mistake.family == "gradient") {
      CAPTURE(mistake.id);
      CHECK(made.count(std::string(mistake.id)) == 1);
    }
}

TEST_CASE("the right tensors of every probe are right", "[mistakes]") {
  for (const auto& subject : subjects()) DYNAMIC_SECTION(subject.name()) {
      const Probed probed(subject);
      const auto diagnosis = probed.diagnose(dump_with(probed, ""));
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

}  // namespace

TEST_CASE("every mistake is found from all tensors", "[mistakes]") {
  for (const auto& subject : searched_subjects()) DYNAMIC_SECTION(subject.name()) {
      const auto score = score_of(Probed(subject), nullptr);
      CAPTURE(subject.name(), score.found, score.all);
      CHECK(score.found == score.all);
    }
}

TEST_CASE("most mistakes are found from weights and output, none is misnamed", "[mistakes]") {
  for (const auto& subject : searched_subjects()) DYNAMIC_SECTION(subject.name()) {
      const Probed probed(subject);
      const auto ids = weights_and_results_of(probed);
      const auto score = score_of(probed, &ids);
      CAPTURE(subject.name(), score.found, score.all);
      CHECK(score.share() >= 0.85);
    }
}

TEST_CASE("most mistakes are found from the output alone, none is misnamed", "[mistakes]") {
  for (const auto& subject : searched_subjects()) DYNAMIC_SECTION(subject.name()) {
      const Probed probed(subject);
      const auto ids = results_of(probed);
      const auto score = score_of(probed, &ids);
      CAPTURE(subject.name(), score.found, score.all);
      CHECK(score.share() >= (subject.name() == "sdpa" || subject.name() == "multihead" ? 0.9 : 0.75));
    }
}
