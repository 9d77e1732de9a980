#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lessons/lesson.hpp"
#include "tests/unit/lessons/page.hpp"
#include "tests/unit/sample.hpp"
#include "tests/unit/watches.hpp"
#include "trace/any_tensor.hpp"

using lessons::Options;

namespace {

/// The elements of every input and step of a run, and what each step was computed from.
struct Recording : attn::Sink {
  std::vector<std::string> steps;  ///< ids, in order
  std::map<std::string, std::vector<double>> elements;
  std::map<std::string, std::vector<std::string>> sources;
  std::map<std::string, bool> holds;         ///< by claim
  std::map<std::string, double> tolerances;  ///< of the claims that something is as good as 0

  void receive(const attn::Event& event) override {
    if (event.measurement) holds[event.id] = event.measurement->holds();
    if (event.measurement && event.measurement->limit.is_of_rounding)
      tolerances[event.id] = event.measurement->limit.bound;
    if (!event.tensor) return;
    if (event.kind == attn::Kind::step) steps.push_back(event.id);
    sources[event.id] = event.inputs;
    auto& numbers = elements[event.id];
    for (std::size_t i = 0; i < attn::element_count(event.tensor->shape); ++i)
      numbers.push_back(event.tensor->at(i));
  }

  /// The group of a step that a recurrence computes row by row, where each row of each step follows from the
  /// rows before; empty for any other.
  static std::string recurrence_of(const std::string& id) {
    for (const char* const group : {"encoder/reverse/", "encoder/", "decoder/"})
      if (id.rfind(group, 0) == 0) return group;
    return "";
  }

  /// Whether `id` is the changed step or was computed from it, however far back.
  bool depends(const std::string& id, const std::string& changed) const {
    std::set<std::string> seen;
    std::vector<std::string> open = {id};
    while (!open.empty()) {
      const auto one = open.back();
      open.pop_back();
      if (one == changed) return true;
      const auto found = sources.find(one);
      if (found == sources.end() || !seen.insert(one).second) continue;
      open.insert(open.end(), found->second.begin(), found->second.end());
      const auto group = recurrence_of(one);
      for (const auto& [other, inputs] : sources)
        if (!group.empty() && other.rfind(group, 0) == 0) open.push_back(other);
    }
    return false;
  }
};

Recording record(const lessons::Lesson& lesson, const lessons::Plan& plan, const attn::Watch& watch = {}) {
  Recording recording;
  lessons::run(lesson, plan, recording, watch);
  return recording;
}

/// Adds a little, and not the same, to every number of the step `changed`.
attn::Watch change(const std::string& changed) {
  return attn::replacing([changed](const std::string& id, const attn::Shape& shape, double* elements) {
    if (id != changed) return;
    for (std::size_t i = 0; i < attn::element_count(shape); ++i)
      if (std::isfinite(elements[i])) elements[i] += 0.25 + 0.01 * static_cast<double>(i % 7);
  });
}

/// Of these lessons, which train and take many differences in each run, a sample has to do.
bool takes_long(std::string_view lesson) {
  return lesson == "training" || lesson == "backward";
}

bool is_same(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](double x, double y) {
           return x == y || (std::isnan(x) && std::isnan(y));
         });
}

/// The default run, and those of the options that show other steps, with drawn weights: trained ones have
/// hundreds of words, in thousands of runs.
std::vector<Options> variants_of(const lessons::Lesson& lesson) {
  auto drawn = lesson.defaults;
  drawn.model = "none";
  std::vector<Options> all = {drawn};
  const auto add = [&](auto set) {
    all.push_back(drawn);
    set(all.back());
  };
  if (lesson.uses("causal")) add([](Options& o) { o.causal = true; });
  if (lesson.uses("dropout")) add([](Options& o) { o.dropout = 0.25; });
  if (lesson.uses("residual")) add([](Options& o) { o.residual = o.norm = true; });
  if (lesson.uses("norm-order")) add([](Options& o) { o.norm_order = "pre"; });
  if (lesson.uses("memory")) add([](Options& o) { o.memory = "I love cats"; });
  for (const auto* part : lesson.parts) {
    const auto go_through = [part](Options& o) {
      o.through = part->through;
      o.sentence = part->defaults.sentence;
      o.source = part->defaults.source;
      o.target = part->defaults.target;
    };
    add(go_through);
    if (!part->uses("norm-order")) continue;
    add([&](Options& o) {
      go_through(o);
      o.norm_order = "pre";
      o.activation = "gelu";
    });
  }
  if (lesson.uses("attention"))
    for (const char* const name :
         {"bahdanau-input", "luong-dot", "luong-general", "luong-concat", "multihead"})
      add([&](Options& o) { o.attention = name; });
  return all;
}

}  // namespace

TEST_CASE("a step that is replaced changes what depends on it, and nothing else", "[steps][thorough]") {
  for (const auto* lesson : lessons::all_lessons()) DYNAMIC_SECTION(lesson->name) {
      Sample sample("replaced in " + std::string(lesson->name), takes_long(lesson->name) ? 10 : 3);
      for (const auto& options : variants_of(*lesson)) {
        const auto plan = lessons::make_plan(*lesson, options);
        const auto before = record(*lesson, plan);
        for (const auto& changed : before.steps) {
          if (!sample.takes_next()) continue;
          INFO(Sample::setting());
          CAPTURE(lesson->name, options.through, options.attention, options.causal, options.dropout, changed);
          const auto after = record(*lesson, plan, change(changed));
          bool reads_it = false, shows_it = false;
          for (const auto& [id, elements] : after.elements) {
            const auto known = before.elements.find(id);
            if (known == before.elements.end() || is_same(known->second, elements)) continue;
            shows_it = shows_it || id != changed;
            CAPTURE(id);
            CHECK(after.depends(id, changed));
          }
          for (const auto& [id, inputs] : after.sources)
            reads_it = reads_it || (id.find("kept/") == id.npos &&  // which counts bytes alone
                                    std::find(inputs.begin(), inputs.end(), changed) != inputs.end());
          if (!is_same(before.elements.at(changed), after.elements.at(changed)) && reads_it) CHECK(shows_it);
        }
      }
    }
}

namespace {

/// Claims about inputs, about what is computed a second time with other inputs or sizes and told to nobody,
/// and about whole numbers, which are not changed: no change has a part in them.
const std::set<std::string> about_no_step = {
    "bytes-equal-formula",
    "cache-in-proportion",
    "crossings-as-counted",
    "each-pair-once",
    "entropy-rises-with-temperature",
    "fewer-above-0.99",
    "flash-memory",
    "formulas-as-counted",
    "formulas-as-counted-by-d",
    "full-in-d",
    "full-in-n",
    "full-is-direct",
    "full-overtakes-recurrence",
    "hard-limit",
    "linear-in-n",
    "linformer-without-mixing",
    "lower-beside-the-peak",
    "merge-undoes-split",
    "no-order-without-positions",
    "one-head-equals-self-attention",
    "recurrence-in-d",
    "recurrence-in-n",
    "recurrence-waits",
};

bool is_about_no_step(std::string_view lesson, const std::string& claim) {
  const bool is_of_an_input = lesson == "patterns" && claim == "rows-sum-to-1";
  return is_of_an_input || about_no_step.count(claim) > 0 || claim.find("/order-is-seen") != claim.npos;
}

/// The steps to change. The lesson training trains in each run, which takes a while: of its steps those that
/// its claims are about.
std::vector<std::string> steps_to_change(std::string_view lesson, const std::vector<std::string>& steps) {
  static const std::set<std::string> of_training = {"first_step/d_W_out",
                                                    "loss",
                                                    "after/weights",
                                                    "gradient_norm",
                                                    "right",
                                                    "dropout/mean",
                                                    "initialisation/xavier/variance",
                                                    "schedule/rate",
                                                    "clipping/clipped"};
  if (lesson != "training") return steps;
  return {of_training.begin(), of_training.end()};
}

using Steps = std::set<std::string>;

/// What every number of these steps, or every second one, becomes.
struct Change {
  Steps steps;
  double (*f)(double);
  std::size_t every;

  bool operator==(const Change&) const = default;

  attn::Watch watch() const {
    return attn::replacing([*this](const std::string& id, const attn::Shape& shape, double* elements) {
      if (steps.count(id) == 0) return;
      for (std::size_t i = 0; i < attn::element_count(shape); i += every) elements[i] = f(elements[i]);
    });
  }
};

/// Those of the steps that can be changed in one run, because none was computed from another, and then each
/// alone.
std::vector<Steps> changed_together(const Recording& run, const std::vector<std::string>& steps) {
  std::map<std::string, std::size_t> depths;
  std::vector<Steps> all;
  for (const auto& step : run.steps) {
    auto& depth = depths[step];
    for (const auto& source : run.sources.at(step))
      if (const auto found = depths.find(source); found != depths.end())
        depth = std::max(depth, found->second + 1);
    all.resize(std::max(all.size(), depth + 1));
    if (std::find(steps.begin(), steps.end(), step) != steps.end()) all[depth].insert(step);
  }
  std::reverse(all.begin(), all.end());  // most claims are about what comes last
  for (const auto& step : steps) all.push_back({step});
  return all;
}

/// The claims of a run.
struct Claims : attn::Sink {
  std::map<std::string, attn::Measurement> measured;

  void receive(const attn::Event& event) override {
    if (event.measurement) measured.emplace(event.id, *event.measurement);
  }
};

/// Breaks claims of one lesson by changes of its steps. What broke a claim once is tried first from then on,
/// then the step that a claim is named after.
class Breaker {
 public:
  /// Takes those of the claims out that one of the changes `f` of some steps breaks.
  void take_broken(const lessons::Lesson& lesson, const lessons::Plan& plan, const std::vector<Steps>& all,
                   const std::vector<double (*)(double)>& f, std::set<std::string>& claims) {
    const auto has = [](const auto& list, const auto& one) {
      return std::find(list.begin(), list.end(), one) != list.end();
    };
    std::vector<Change> changes;
    std::copy_if(useful_.begin(), useful_.end(), std::back_inserter(changes),
                 [&](const Change& change) { return has(all, change.steps) && has(f, change.f); });
    const auto known = static_cast<std::ptrdiff_t>(changes.size());
    for (const auto& steps : all)
      for (const auto one : f)
        for (const std::size_t every : {1, 2})
          if (const Change change{steps, one, every}; !steps.empty() && !has(changes, change))
            changes.push_back(change);
    std::stable_partition(changes.begin() + known, changes.end(), [&](const Change& change) {
      return change.steps.size() == 1 && std::any_of(claims.begin(), claims.end(), [&](const auto& claim) {
               return claim.ends_with(*change.steps.begin());
             });
    });
    for (auto change = changes.begin(); change != changes.end() && !claims.empty(); ++change) {
      Claims after;
      lessons::run(lesson, plan, after, change->watch());
      const auto still_to_break = claims.size();
      for (const auto& [claim, measurement] : after.measured)
        if (!measurement.holds()) claims.erase(claim);
      if (claims.size() < still_to_break && !has(useful_, *change)) useful_.push_back(*change);
    }
  }

 private:
  std::vector<Change> useful_;
};

}  // namespace

TEST_CASE("a step that is 1 % off breaks each claim within a tolerance, and a wrong one each other claim",
          "[steps][thorough]") {
  for (const auto* lesson : lessons::all_lessons()) DYNAMIC_SECTION(lesson->name) {
      Sample sample("claims of " + std::string(lesson->name));
      Sample sample_of_runs("runs of " + std::string(lesson->name), 3);
      Breaker breaker;
      for (auto options : variants_of(*lesson))
        for (const auto dtype : {"float64", "float32"}) {
          if (!sample_of_runs.takes_next()) continue;
          options.dtype = dtype;
          const auto plan = lessons::make_plan(*lesson, options);
          INFO(Sample::setting());
          CAPTURE(lesson->name, options.through, dtype, options.attention, options.causal, options.dropout);
          const auto before = record(*lesson, plan);
          std::set<std::string> within_tolerance, others;
          for (const auto& [claim, holds] : before.holds) {
            CAPTURE(claim);
            CHECK(holds);
            const auto tolerance = before.tolerances.find(claim);
            if (is_about_no_step(lesson->name, claim))
              CHECK((tolerance == before.tolerances.end() || tolerance->second <= 1e-3));
            else if (!takes_long(lesson->name) || sample.takes_next())
              (tolerance == before.tolerances.end() ? others : within_tolerance).insert(claim);
          }
          const auto steps = changed_together(before, steps_to_change(lesson->name, before.steps));
          breaker.take_broken(*lesson, plan, steps, {[](double x) { return x * 1.01; }}, within_tolerance);
          CHECK(within_tolerance == std::set<std::string>());
          breaker.take_broken(*lesson, plan, steps,
                              {[](double x) { return x + 0.25; }, [](double) { return 0.0; },
                               [](double x) { return -x; }, [](double x) { return 100.0 * x; }},
                              others);
          CHECK(others == std::set<std::string>());
        }
    }
}

TEST_CASE("a title stands alone: it begins with a word of its own and names what is shown", "[steps]") {
  for (const auto* lesson : lessons::all_lessons())
    for (const auto& options : variants_of(*lesson))
      for (const auto& [id, title] : told_by(lesson->name, options).titles) {
        CAPTURE(lesson->name, id, title);
        CHECK_FALSE(title.empty());
        for (const auto* dependent : {"…", "and ", "And ", "Its ", "Their ", "The same"})
          CHECK(title.rfind(dependent, 0) != 0);
      }
}
