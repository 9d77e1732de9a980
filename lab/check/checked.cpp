#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "attn/error.hpp"
#include "attn/text/spelling.hpp"
#include "lab/check/check.hpp"
#include "lab/output.hpp"
#include "lab/worksheet/worksheet.hpp"
#include "lessons/workbench/exercises.hpp"
#include "lessons/workbench/own_inputs.hpp"
#include "trace/csv.hpp"
#include "trace/diagnosis/catalogue.hpp"
#include "trace/diagnosis/dump.hpp"
#include "trace/diagnosis/names.hpp"
#include "trace/diagnosis/replay.hpp"

namespace lab {

namespace {

using attn::Dump;
using attn::Error;
using attn::ExpectedTensor;
using lessons::Lesson;
using lessons::Plan;

/// The lesson on the inputs that the file itself has.
Inputs inputs_in(const attn::StoredTrace& file, const CheckDump& check, const std::string& path) {
  auto options = check.options;
  options.input.clear();
  if (!options.model && file.header().text("model").empty()) {  // no trace of ours with trained weights
    options.model = "none";
    options.typed.insert("model");
  }
  const auto& lesson = *check.lesson;
  auto own = own_inputs(lesson, options, file, check.fused);
  if (own.tensors.empty())
    throw Error(
        fmt::format("{} holds no input of {}{}; valid: the probe that it was computed from beside it, "
                    "--probe FILE, a file of its inputs, --input FILE, or {}",
                    path, lesson.name, lessons::tensors_in(file, own.other_names),
                    lessons::describe_inputs(lesson, options)));
  const attn::TensorsAsTrace inputs(file.header(), std::move(own.tensors));
  auto assumptions = check.options.input.empty() ? std::vector<std::string>() : std::move(own.names);
  assumptions.insert(assumptions.end(), own.assumptions.begin(), own.assumptions.end());
  return {lessons::make_plan(lesson, options, &inputs), std::move(assumptions)};
}

/// A probe's mask has all that is hidden.
void refuse_other_mask(const CheckDump& check, const attn::StoredTrace& probe) {
  auto of_probe = check.options;
  lessons::restore(of_probe, check.lesson->options, {}, probe.header().config);
  for (const std::string_view key : {"causal", "window"})
    if (check.options.is_typed(key) &&
        lessons::config_of(check.options, {key}) != lessons::config_of(of_probe, {key}))
      throw Error(fmt::format(
          "--{0} contradicts {1}, whose mask hides other keys; valid: no --{0}, or a probe made with "
          "attnlab probe {2} --{0}",
          key, *check.probe, check.lesson->name));
}

/// Tells what differs between the inputs of a dump and those that it is checked with. Returns whether it has
/// one of the probe's. Throws OtherProbe where one is another.
bool compare_inputs(const CheckDump& check, const Plan& plan, Dump& dump, const std::string& path) {
  bool has_one = false;
  lessons::run_watched(*plan.lesson, plan, [&](const attn::Tapped& tapped) {
    const auto found = dump.tensors.find(tapped.id);
    if (tapped.kind != attn::Kind::input || found == dump.tensors.end()) return;
    const auto apart = distance(found->second.view(), {tapped.dtype, tapped.shape, tapped.elements});
    if (check.probe && attn::is_floating(tapped.dtype) && apart > distance_of_other_probe)
      throw OtherProbe(
          fmt::format("{} is not of the probe {}: its {} is another; valid: --probe with the file that it "
                      "was computed from, or a folder of probes",
                      path, *check.probe, tapped.id));
    if ((check.probe || !check.options.input.empty()) && apart > 4.0 * attn::unit_of(dump.arithmetic))
      dump.assumptions.push_back(fmt::format("{} is another than {}, whose numbers are used.", tapped.id,
                                             check.probe ? "the probe's" : "that of --input"));
    has_one = has_one || (check.probe && attn::is_floating(tapped.dtype));
    dump.tensors.erase(found);
  });
  return has_one;
}

/// Conventions of which the inputs say which one is meant, for a given mask has its window, or the task sheet
/// of the probe.
std::vector<std::string> settled_by(const Plan& plan, bool has_sheet) {
  auto settled = has_sheet ? attn::stated_conventions() : std::vector<std::string>();
  if (plan.given.count("mask") > 0) settled.emplace_back("window-off-by-one");
  return settled;
}

/// Inputs may have been rounded as steps were.
void note_rounded_inputs(Dump& dump, const std::vector<ExpectedTensor>& expected) {
  if (!dump.decimals) return;
  for (const auto& one : expected)
    if (const auto* const theirs = attn::value_in(dump.tensors, one.id);
        one.kind == attn::Kind::input && theirs != nullptr && attn::decimals_of({theirs}) == dump.decimals)
      dump.rounded_inputs.push_back(one.id);
}

void refuse_unknown_renames(const CheckDump& check, const Dump& dump, const std::vector<std::string>& ids) {
  for (const auto& [from, to] : check.renames)
    if (attn::contains(dump.unknown, to) || attn::contains(dump.unknown, to + ".weight"))
      throw Error(fmt::format("--rename {}={}: {} has no {}; {}", from, to, check.lesson->name, to,
                              attn::valid_instead_of(to, ids)));
}

/// How many tokens of each sample a given mask takes for real: it hides those behind them from every query.
/// None where it hides no such tokens.
std::vector<std::size_t> lengths_by_mask(const Plan& plan) {
  std::vector<std::size_t> lengths;
  bool is_padded = false;
  for (const auto& [id, given] : plan.given) {
    if ((id != "mask" && id != "attention/mask") || !given.tensor) continue;
    const auto n = given.tensor->shape().back(), numbers = attn::element_count(given.tensor->shape());
    for (std::size_t begin = 0; begin < numbers; begin += n * n) {
      std::size_t length = 0;
      for (std::size_t i = 0; i < n * n; ++i)
        if (given.tensor->view().at(begin + i) != 0.0) length = std::max(length, i % n + 1);
      lengths.push_back(length);
      is_padded = is_padded || length < n;
    }
  }
  return is_padded ? lengths : std::vector<std::size_t>();
}

/// Names that stand for nothing here and are nearly those of steps that the file lacks, with these.
attn::Renames misspelt(const Dump& dump, const attn::StoredTrace& file,
                       const std::vector<ExpectedTensor>& expected) {
  constexpr std::size_t shortest = 5;  // of a shorter word another one is not far
  attn::Renames meant;
  for (const auto& one : expected) {
    if (one.kind != attn::Kind::step || one.id.size() < shortest || dump.tensors.count(one.id) > 0) continue;
    for (const auto& name : dump.unknown)
      if (attn::edit_distance(name, one.id) == 1 && file.find(name) != nullptr)
        meant.emplace_back(name, one.id);
  }
  return meant;
}

/// Those of --rename, where the weight of a layer remains one: nn.Linear has it as [out×in].
attn::Renames renames_of(const CheckDump& check) {
  auto renames = check.renames;
  for (auto& [from, to] : renames)
    if (from.ends_with(".weight") && attn::synonym_of(attn::folded(to + ".weight")) != nullptr)
      to += ".weight";
  return renames;
}

bool says_words(const CheckDump& check, const attn::StoredTrace& file) {
  const auto& options = check.options;
  return check.probe || !file.header().lesson.empty() || options.is_typed("sentence") ||
         options.is_typed("source") || options.is_typed("target");
}

/// The dump in `file` as its names, options and shapes have it; with `by_mistakes` an undecided tensor may be
/// a step that is wrong. `source` is the file that has the inputs. Throws attn::Error, OtherProbe where an
/// input is another than the probe's.
Checked read_as_said(const CheckDump& check, const attn::StoredTrace& file, const attn::StoredTrace& source,
                     const std::string& path, bool by_mistakes = true) {
  if (!check.lesson->probe)
    throw Error(
        fmt::format("{} is no worksheet, and check knows nothing else of {}; valid: a filled-in sheet of "
                    "attnlab worksheet {}",
                    path, check.lesson->name, check.lesson->name));
  auto [plan, assumptions] = inputs_of(check, source, path);
  auto expected = expected_tensors(plan);
  const auto ids = attn::ids_in(expected);
  const auto fusion = fusion_of(check.options, check.fused);
  auto dump = attn::named(file, ids, fusion);
  refuse_unknown_renames(check, dump, ids);
  if (const auto meant = misspelt(dump, file, expected); !meant.empty()) {
    dump = attn::named(attn::RenamedTrace(file, meant), ids, fusion);
    for (const auto& [name, id] : meant)
      dump.assume(fmt::format("{} is taken for {}, whose name is nearly that.", name, id));
  }
  dump.has_module_of_torch = attn::has_module_of_torch(source);
  attn::fit(dump, expected, check.options.mask_true);
  for (auto& assumption : assumptions) dump.assume(std::move(assumption));
  dump.absent = absent_inputs(plan);
  dump.has_drawn_absent = check.options.is_typed("seed");
  if (!check.probe) note_rounded_inputs(dump, expected);
  const bool has_input_of_probe = compare_inputs(check, plan, dump, path);
  if (plan.query_tokens().is_padded())
    dump.lengths = plan.query_tokens().lengths();
  else if (plan.target.size() == 0)
    dump.lengths = lengths_by_mask(plan);
  dump.settled = settled_by(plan, check.probe.has_value());
  Checked read{.lesson = nullptr,
               .plan = std::move(plan),
               .dump = std::move(dump),
               .diagnosis = {},
               .expected = std::move(expected),
               .has_words = says_words(check, file),
               .shows_its_probe = has_input_of_probe || !file.header().text(id_of_probe).empty()};
  attn::settle_names(read.dump, read.expected, read.rerun(), check.conventions, by_mistakes);
  attn::settle_arithmetic(read.dump, read.rerun(), check.conventions);
  return read;
}

/// The steps that somebody's tensor has the shape of, the one whose name is most like its name first; the one
/// of the nearest name where it has none's.
std::vector<std::string> likely_steps(const attn::StoredTrace& file, const attn::StoredTensor& stored,
                                      const std::vector<ExpectedTensor>& expected) {
  std::vector<std::string> of_its_shape, all;
  for (const auto& one : expected) {
    if (one.kind != attn::Kind::step) continue;
    all.push_back(one.id);
    if (attn::laid_out(file.read(stored.id), stored.axes, one)) of_its_shape.push_back(one.id);
  }
  if (of_its_shape.empty()) return {attn::likely_meant(stored.id, all)};
  const auto nearest = attn::likely_meant(stored.id, of_its_shape);
  std::stable_partition(of_its_shape.begin(), of_its_shape.end(),
                        [&](const std::string& id) { return id == nearest; });
  return of_its_shape;
}

/// "; perhaps att is weights or scores": what names that stand for nothing here may mean.
std::string guesses(const attn::StoredTrace& file, const std::vector<std::string>& names,
                    const std::vector<ExpectedTensor>& expected) {
  constexpr std::size_t most_guessed = 4;
  std::vector<std::string> words;
  for (const auto& stored : file.tensors())
    if (attn::contains(names, stored.id) && words.size() < most_guessed)
      words.push_back(
          fmt::format("{} is {}", stored.id, attn::listed(likely_steps(file, stored, expected), "or")));
  return words.empty() ? "" : fmt::format("; perhaps {}", fmt::join(words, ", "));
}

/// Those of --input.
using Files = std::vector<std::unique_ptr<attn::StoredTrace>>;

/// The file beside the dump that has its inputs: the probe, or the files of --input with what the dump has
/// under other names. Null where the dump has them itself.
std::unique_ptr<attn::StoredTrace> inputs_beside(const CheckDump& check, const attn::StoredTrace& file,
                                                 const Files& given) {
  if (check.probe) return attn::open_trace(*check.probe);
  if (given.empty()) return nullptr;
  attn::Tensors tensors;
  auto header = file.header();
  const auto add = [&](const attn::StoredTrace& one) {
    for (const auto& stored : one.tensors()) tensors.try_emplace(stored.id, one.read(stored.id));
  };
  for (const auto& one : given) {
    if (!one->header().lesson.empty()) header = one->header();
    add(attn::RenamedTrace(*one, renames_of(check)));
  }
  add(file);
  return std::make_unique<attn::TensorsAsTrace>(header, std::move(tensors));
}

/// Says of which inputs nobody gave the numbers.
void tell_absent(Checked& checked) {
  const auto& absent = checked.diagnosis.absent;
  if (absent.empty()) return;
  const auto* const it = absent.size() == 1 ? "it" : "them";
  const auto inputs = attn::listed(absent, "and") + (absent.size() == 1 ? " is" : " are");
  const auto seed = checked.plan.options.seed;
  checked.dump.assume(
      checked.dump.has_drawn_absent
          ? fmt::format("{} not in the file and taken as --seed {} draws {}.", inputs, seed, it)
          : fmt::format("{} not in the file. Whatever needs {} is judged only where the numbers that --seed "
                        "{} draws explain it.",
                        inputs, it, seed));
}

/// Refuses a sheet of another lesson, and one that contradicts an option: a sheet says its own options.
void require_same_sheet(const CheckDump& check, const MakeWorksheet& worksheet, const Plan& plan,
                        const std::string& path) {
  if (worksheet.lesson->name != check.lesson->name)
    throw Error(fmt::format("{} is a worksheet of {}; valid: attnlab check {} {}", path,
                            worksheet.lesson->name, worksheet.lesson->name, path));
  if (check.probe || !check.options.input.empty())
    throw Error(fmt::format("{} is a worksheet, which has its own inputs; valid: no --{}", path,
                            check.probe ? "probe" : "input"));
  for (const auto key : check.options.typed) {
    const auto wanted = lessons::config_of(check.options, {key});
    if (key != "set" && wanted != lessons::config_of(plan.options, {key}))
      throw Error(fmt::format("{} is the sheet of another --{}; valid: one whose command is as asked for",
                              path, key));
  }
}

Checked check_sheet(const CheckDump& check, const attn::Answers& answers, const std::string& path) {
  const auto worksheet = worksheet_of_command(answers.command);
  auto judged = judge(answers, worksheet, path, check.conventions);
  require_same_sheet(check, worksheet, judged.plan, path);
  return {.lesson = worksheet.lesson,
          .plan = std::move(judged.plan),
          .dump = std::move(judged.dump),
          .diagnosis = std::move(judged.diagnosis),
          .student = answers.student};
}

/// "--d-model, --d-k": the options that say how large the lesson's tensors are.
std::string options_of_dimensions(const Lesson& lesson) {
  std::vector<std::string> flags;
  for (const std::string_view key : {"d-model", "d-k", "d-v", "heads", "kv-heads", "hidden", "d-ff", "d-a"})
    if (lesson.uses(key)) flags.push_back(fmt::format("--{}", key));
  return fmt::format("{}", fmt::join(flags, ", "));
}

/// Refuses a file of which no step can be judged, or whose dimensions are unknown, because inputs are absent.
/// `unknown` says what else the file has.
void require_judged(const attn::Diagnosis& diagnosis, const Plan& plan, const std::string& path,
                    const std::string& unknown) {
  std::vector<std::string> steps, needs;
  for (const auto& step : diagnosis.steps) {
    if (step.finding != attn::Finding::not_judged) continue;
    steps.push_back(step.id);
    for (const auto& id : step.needs)
      if (!attn::contains(needs, id)) needs.push_back(id);
    if (step.shape != step.right_shape)
      throw Error(fmt::format(
          "{}: {} is ({}) and not ({}), and {}, which would say who is right, is not there{}; "
          "valid: that too, --rename NAME=ID for one of another name, the probe, --probe FILE, or "
          "the options of dimensions: {}",
          path, step.id, attn::to_string(step.shape), attn::to_string(step.right_shape),
          attn::listed(step.needs, "and"), unknown, options_of_dimensions(*plan.lesson)));
  }
  if (steps.size() < diagnosis.steps.size()) return;
  throw Error(fmt::format(
      "{} lacks {}, without which nobody can judge {}{}; valid: these inputs too, --rename "
      "NAME=ID for one of another name, the probe, --probe FILE, or --seed {} where that drew them",
      path, attn::listed(needs, "and"), attn::listed(steps, "and"), unknown, plan.options.seed));
}

/// The file under the names of --rename, of which it or one of `given` has each. Of a folder, not every file
/// need have them.
attn::RenamedTrace with_renames(const CheckDump& check, const attn::StoredTrace& file, const Files& given) {
  auto names = attn::ids_in(file.tensors());
  for (const auto& one : given)
    for (const auto& tensor : one->tensors()) names.push_back(tensor.id);
  for (const auto& [from, to] : check.renames) {
    const attn::Renames alone = {{from, to}};
    const auto is_changed = [&](const std::string& name) { return attn::renamed(name, alone) != name; };
    if (!check.folder && !names.empty() && !attn::any_of(names, is_changed))
      throw Error(fmt::format("--rename {}={}: {} has no {}; {}", from, to, *check.dump, from,
                              attn::valid_instead_of(from, names)));
  }
  return {file, renames_of(check)};
}

Checked check_as_said(const CheckDump& check, const attn::StoredTrace& file, const attn::StoredTrace& source,
                      const std::string& path) {
  auto checked = read_as_said(check, file, source, path);
  const auto rerun = checked.rerun();
  attn::settle_forms(checked.dump, checked.expected, rerun, check.conventions);
  checked.diagnosis = attn::diagnose(checked.dump, rerun, check.conventions);
  const auto unknown = lessons::tensors_in(file, checked.dump.unknown);
  if (checked.diagnosis.steps.empty())
    throw Error(fmt::format("{} holds no step of {}{}; valid: {}{}", path, check.lesson->name, unknown,
                            fmt::join(checked.diagnosis.missing, ", "),
                            guesses(file, checked.dump.unknown, checked.expected)));
  require_judged(checked.diagnosis, checked.plan, path, unknown);
  tell_absent(checked);
  return checked;
}

/// How many wrong steps nothing explains, then how many are wrong.
std::pair<std::size_t, std::size_t> trouble_in(const attn::Diagnosis& diagnosis) {
  std::pair<std::size_t, std::size_t> trouble{0, 0};
  for (const auto& step : diagnosis.steps) {
    if (!step.is_wrong()) continue;
    if (step.mistakes.empty()) ++trouble.first;
    ++trouble.second;
  }
  return trouble;
}

/// Whether neither the file that has the inputs nor anybody else says how many heads there are.
bool leaves_heads_open(const CheckDump& check, const attn::StoredTrace& source) {
  const auto& config = source.header().config;
  return check.lesson->uses("heads") && !check.options.is_typed("heads") &&
         !attn::any_of(config, [](const auto& one) { return one.first == "heads"; });
}

/// How little goes with some number of heads before any mistake is looked for: how many tensors have another
/// shape, then how many differ.
std::pair<std::size_t, std::size_t> misfit_of(const CheckDump& check, const attn::StoredTrace& file,
                                              const attn::StoredTrace& source, const std::string& path) {
  const auto read = read_as_said(check, file, source, path, false);
  const auto has_other_shape = [&](const ExpectedTensor& one) {
    const auto* const theirs = attn::value_in(read.dump.tensors, one.id);
    return theirs != nullptr && theirs->shape() != one.shape;
  };
  return {std::count_if(read.expected.begin(), read.expected.end(), has_other_shape),
          attn::differing_steps(read.dump, read.rerun(), check.conventions, {}).size()};
}

/// The check with each number of heads that the shapes of the file's inputs allow and that go best with those
/// of its steps, those that leave least to explain first, the usual one before others.
std::vector<CheckDump> with_fitting_heads(const CheckDump& check, const attn::StoredTrace& file,
                                          const attn::StoredTrace& source, const std::string& path) {
  constexpr std::size_t usual = 0, most_heads = 32;
  std::multimap<std::pair<std::size_t, std::size_t>, CheckDump> ranked;
  for (std::size_t heads = usual; heads <= most_heads; ++heads) {
    if (heads != usual && heads == check.options.heads) continue;
    auto one = check;
    if (heads != usual) {
      one.options.typed.insert("heads");
      one.options.heads = heads;
    }
    try {
      ranked.emplace(misfit_of(one, file, source, path), one);
    } catch (const Error&) {
      continue;
    }
  }
  std::vector<CheckDump> fitting;
  for (auto& [misfit, one] : ranked)
    if (misfit.first == ranked.begin()->first.first) fitting.push_back(std::move(one));
  return fitting.empty() ? std::vector{check} : fitting;
}

/// That a number of heads is taken which nobody gave. `tried` were possible.
std::string assumed_heads(const Checked& best, const std::vector<CheckDump>& tried) {
  const auto heads = *best.plan.options.heads;
  if (trouble_in(best.diagnosis).first == 0 || tried.size() == 1)
    return fmt::format(
        "heads = {0} is assumed: neither the file nor an option, such as --heads {0}, says how many there "
        "are.",
        heads);
  std::set<std::size_t> numbers;
  for (const auto& one : tried) numbers.insert(one.options.heads.value_or(heads));
  std::vector<std::string> names;
  for (const auto number : numbers) names.push_back(std::to_string(number));
  return fmt::format(
      "heads = {} is a guess: neither the file nor an option says how many there are, with none of {} all is "
      "right or explained, and what follows may be of another number than yours; --heads N says it.",
      heads, attn::listed(names, "and"));
}

/// The file with as many heads as the options say, or, where nobody says how many, with those that leave the
/// least trouble.
Checked check_tensors(const CheckDump& check, const attn::StoredTrace& stored, const std::string& path) {
  Files given;
  for (const auto& input : check.options.input) given.push_back(lessons::open_input(input));
  const auto file = with_renames(check, stored, given);
  const auto beside = inputs_beside(check, file, given);
  const auto& source = beside ? *beside : static_cast<const attn::StoredTrace&>(file);
  if (!leaves_heads_open(check, source)) return check_as_said(check, file, source, path);
  const auto possible = with_fitting_heads(check, file, source, path);
  auto best = check_as_said(possible.front(), file, source, path);
  ProgressBar progress;
  for (std::size_t i = 1;
       i < possible.size() && trouble_in(best.diagnosis).first > 0 && best.dump.absent.empty(); ++i) {
    progress.show(static_cast<double>(i) / static_cast<double>(possible.size()),
                  fmt::format("--heads is not given: trying {}", possible[i].options.heads.value_or(0)));
    auto checked = check_as_said(possible[i], file, source, path);
    if (trouble_in(checked.diagnosis) < trouble_in(best.diagnosis)) best = std::move(checked);
  }
  if (best.plan.options.heads)
    best.dump.assumptions.insert(best.dump.assumptions.begin(), assumed_heads(best, possible));
  return best;
}

/// The dump with the only probe of the folder that explains all its numbers, or nothing.
std::optional<Checked> check_with_fitting(CheckDump check, const attn::StoredTrace& file,
                                          const std::string& path) {
  std::optional<Checked> fitting;
  for (const auto& probe : probes_in(*check.probe)) {
    auto with_probe = check;
    with_probe.probe = probe.string();
    try {
      auto checked = check_tensors(with_probe, file, path);
      const bool fits = trouble_in(checked.diagnosis).first == 0 && !checked.diagnosis.leaves_open();
      if (!fits) continue;
      if (fitting) return std::nullopt;
      checked.probe = probe.filename().string();
      checked.shows_its_probe = true;
      fitting.emplace(std::move(checked));
    } catch (const Error&) {  // of other shapes, or another lesson's
      continue;
    }
  }
  if (fitting)
    fitting->dump.assume(fmt::format(
        "Nothing in the file says which probe it is of. It is taken for that of {}, the only one in {} that "
        "explains its numbers.",
        fitting->probe, *check.probe));
  return fitting;
}

/// A dump, with the probe that is its own.
Checked check_dump(CheckDump check, const attn::StoredTrace& file, const std::string& path) {
  if (!check.probe) return check_tensors(check, file, path);
  const bool is_folder = std::filesystem::is_directory(*check.probe);
  try {
    check.probe = probe_of(*check.probe, file, path);
  } catch (const UnknownProbe&) {
    if (auto fitting = check_with_fitting(check, file, path)) return std::move(*fitting);
    throw;
  }
  auto checked = check_tensors(check, file, path);
  checked.shows_its_probe = checked.shows_its_probe || is_folder;
  const bool is_first_wrong = checked.diagnosis.steps.front().is_wrong();  // nothing of theirs is before it
  if (!checked.shows_its_probe && is_first_wrong && trouble_in(checked.diagnosis).first > 0)
    checked.dump.assume(
        "Nothing in the file shows that it is of this probe; config or an input, saved beside, would.");
  checked.probe = std::filesystem::path(*check.probe).filename().string();
  return checked;
}

/// The last part of a path that may end in a slash.
std::string name_of(const std::filesystem::path& path) {
  return path.has_filename() ? path.filename().string() : path.parent_path().filename().string();
}

/// "inputs.npz and weights.npz".
std::string names_of_given(const CheckDump& check) {
  std::vector<std::string> names;
  for (const auto& path : check.options.input) names.push_back(name_of(path));
  return names.empty() ? "" : attn::listed(names, "and");
}

}  // namespace

Inputs inputs_of(const CheckDump& check, const attn::StoredTrace& file, const std::string& path) {
  if (!check.probe) return inputs_in(file, check, path);
  const auto& lesson = file.header().lesson;
  if (!lesson.empty() && lesson != check.lesson->name)
    throw Error(fmt::format("--probe {} is of the lesson {}; valid: a probe of {}", *check.probe, lesson,
                            check.lesson->name));
  if (!lesson.empty()) refuse_other_mask(check, file);
  auto options = check.options;
  options.input = {*check.probe};
  options.mask_true = attn::MaskTrue::by_name;  // that of a probe is the lab's, whatever theirs is
  return {lessons::make_plan(*check.lesson, options)};
}

attn::Rerun Checked::rerun() const {
  return [this](const attn::Watch& watch) { lessons::run_watched(*plan.lesson, plan, watch); };
}

bool is_csv_dump(const std::filesystem::path& folder, const Lesson& lesson) {
  if (!attn::has_csv_files(folder.string())) return false;
  std::set<std::string> inside;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".csv") return true;
    if (entry.is_directory()) inside.insert(entry.path().filename().string());
  }
  if (!lesson.probe) return false;
  const auto probed = lessons::lesson_of_probe(lesson);
  const auto is_inside = [&](const ExpectedTensor& one) {
    return inside.count(one.id.substr(0, one.id.find('/'))) > 0;
  };
  return attn::any_of(expected_tensors(lessons::plan_of_probe(*probed, probed->defaults)), is_inside);
}

Checked check_file(const CheckDump& check, const std::string& path) {
  if (is_csv_dump(path, *check.lesson)) return check_dump(check, *attn::open_csv_folder(path), path);
  if (std::filesystem::is_directory(path))
    throw Error(
        fmt::format("{0} is a folder without NAME.csv of a tensor; valid: a file of tensors, a folder of "
                    "CSV files, or --folder {0} for each file in it",
                    path));
  attn::File tensors(path);
  if (const auto answers = attn::read_answers(tensors)) return check_sheet(check, *answers, path);
  return check_dump(check, *attn::open_trace(std::move(tensors)), path);
}

std::map<std::string, std::vector<attn::AxisLabels>> labels_of(const lessons::Plan& plan) {
  attn::Recorder run(plan.header());
  lessons::run(*plan.lesson, plan, run);
  std::map<std::string, std::vector<attn::AxisLabels>> by_id;
  for (const auto& tensor : run.tensors()) {
    auto& labels = by_id[tensor.id] = tensor.labels;
    if (!plan.is_batched()) labels.insert(labels.begin(), attn::AxisLabels{});
  }
  return by_id;
}

std::string report(const CheckDump& check, const Checked& checked, const std::filesystem::path& path,
                   CheckFormat format) {
  attn::ReportSettings settings{
      .lesson = std::string(check.lesson->name),
      .dump = is_regular_file(path) || is_directory(path) ? name_of(path) : "standard input",
      .probe = checked.probe.empty() ? names_of_given(check) : checked.probe,
      .hint = check.hint,
      .reveals = check.reveals};
  if (format == CheckFormat::json) return attn::report_as_json(checked.diagnosis, checked.dump, settings);
  if (checked.has_words) settings.labels = labels_of(checked.plan);
  for (const auto& step : checked.diagnosis.steps)
    if (auto words = what_tells_apart(checked.plan, step); !words.empty())
      settings.told_apart.emplace(step.id, std::move(words));
  return attn::report_as_text(checked.diagnosis, checked.dump, settings);
}

}  // namespace lab
