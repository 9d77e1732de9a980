#include "lab/check/read_dump.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "attn/error.hpp"
#include "attn/text/spelling.hpp"
#include "lab/check/probes.hpp"
#include "lessons/workbench/own_inputs.hpp"
#include "lessons/workbench/probe.hpp"
#include "trace/diagnosis/catalogue.hpp"
#include "trace/diagnosis/decimals.hpp"
#include "trace/diagnosis/fitting.hpp"
#include "trace/diagnosis/synonyms.hpp"

namespace lab {

namespace {

using attn::Dump;
using attn::Error;
using attn::ExpectedTensor;
using lessons::Lesson;
using lessons::Plan;

std::vector<std::string> ids_of(const std::vector<ExpectedTensor>& expected) {
  std::vector<std::string> ids;
  for (const auto& one : expected) ids.push_back(one.id);
  return ids;
}

/// Whether the file is a trace of ours with trained weights.
bool names_a_model(const attn::StoredTrace& file) {
  const auto& config = file.header().config;
  return std::any_of(config.begin(), config.end(), [](const auto& option) {
    return option.first == "model" && std::holds_alternative<std::string>(option.second);
  });
}

/// The lesson on the inputs that the file itself has.
Inputs inputs_in(const attn::StoredTrace& file, const CheckDump& check, const std::string& path) {
  auto options = check.options;
  options.input.clear();
  if (!options.model && !names_a_model(file)) {
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
    if (check.options.typed.count(key) > 0 &&
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
                      "was computed from, or "
                      "a folder of probes",
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
    if (const auto found = dump.tensors.find(one.id); one.kind == attn::Kind::input &&
                                                      found != dump.tensors.end() &&
                                                      attn::decimals_of({&found->second}) == dump.decimals)
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

attn::Renames renames_of(const CheckDump& check) {
  auto renames = check.renames;
  for (auto& [from, to] : renames)
    if (from.ends_with(".weight") && attn::synonym_of(attn::folded(to + ".weight")) != nullptr)
      to += ".weight";
  return renames;
}

Read read_as_said(const CheckDump& check, const attn::StoredTrace& file, const attn::StoredTrace& source,
                  const std::string& path) {
  if (!check.lesson->probe)
    throw Error(
        fmt::format("{} is no worksheet, and check knows nothing else of {}; valid: a filled-in sheet of "
                    "attnlab worksheet {}",
                    path, check.lesson->name, check.lesson->name));
  auto [plan, assumptions] = inputs_of(check, source, path);
  auto expected = expected_tensors(plan);
  auto dump = attn::named(file, ids_of(expected), fusion_of(check.options, check.fused));
  refuse_unknown_renames(check, dump, ids_of(expected));
  if (const auto meant = misspelt(dump, file, expected); !meant.empty()) {
    dump =
        attn::named(attn::RenamedTrace(file, meant), ids_of(expected), fusion_of(check.options, check.fused));
    for (const auto& [name, id] : meant)
      dump.assume(fmt::format("{} is taken for {}, whose name is nearly that.", name, id));
  }
  dump.has_module_of_torch = attn::has_module_of_torch(source);
  attn::fit(dump, expected, check.options.mask_true);
  for (auto& assumption : assumptions) dump.assume(std::move(assumption));
  dump.absent = absent_inputs(plan);
  dump.has_drawn_absent = check.options.typed.count("seed") > 0;
  if (!check.probe) note_rounded_inputs(dump, expected);
  const bool has_input_of_probe = compare_inputs(check, plan, dump, path);
  const auto& queries = plan.target.size() > 0 ? plan.target : plan.sentence;
  if (queries.is_padded())
    dump.lengths = queries.lengths();
  else if (plan.target.size() == 0)
    dump.lengths = lengths_by_mask(plan);
  dump.settled = settled_by(plan, check.probe.has_value());
  return {std::move(plan), std::move(expected), std::move(dump), has_input_of_probe};
}

}  // namespace lab
