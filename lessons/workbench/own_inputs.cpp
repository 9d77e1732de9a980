#include "lessons/workbench/own_inputs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <utility>

#include "attn/error.hpp"
#include "lessons/workbench/model.hpp"
#include "trace/csv.hpp"
#include "trace/diagnosis/catalogue.hpp"
#include "trace/diagnosis/dump.hpp"
#include "trace/diagnosis/layout.hpp"
#include "trace/diagnosis/names.hpp"
#include "trace/event.hpp"
#include "trace/filter.hpp"

namespace lessons {

namespace {

using attn::AnyTensor;
using attn::Dump;
using attn::ExpectedTensor;
using attn::last_of_path;

/// The id of the lesson's mask, "attention/mask" of a block: that in the fewest groups.
std::string id_of_mask(const Lesson& lesson, const Options& options) {
  std::string id;
  for (const auto& input : lesson.inputs(options))
    if (last_of_path(input.id) == "mask" && (id.empty() || input.id.size() < id.size())) id = input.id;
  return id.empty() ? "mask" : id;
}

using Ids = std::vector<std::string>;

void add_to(Ids& ids, const std::string& id) {
  if (!attn::contains(ids, id)) ids.push_back(id);
}

/// The ids of a run, and of the mask and the masked scores, which are there where something is hidden.
Ids ids_of(const Plan& plan) {
  Ids ids;
  for (const auto& one : expected_tensors(plan)) add_to(ids, one.id);
  const auto mask = id_of_mask(*plan.lesson, plan.options);
  for (const auto& id : {mask, mask + "ed", std::string("lengths")}) add_to(ids, id);
  return ids;
}

/// The lesson on its own sizes.
Plan small_plan(const Lesson& lesson, const Options& options) {
  auto small = options;  // no name depends on a dimension
  if (options.heads) small.d_model = 2 * *options.heads;
  return make_plan(lesson, small, nullptr);
}

/// Those of the lesson on its own sizes, and all inputs that it declares: what is given decides what it has.
Ids possible_ids(const Lesson& lesson, const Options& options) {
  auto ids = ids_of(small_plan(lesson, options));
  for (const auto& input : lesson.inputs(options)) add_to(ids, input.id);
  return ids;
}

bool is_input(const Lesson& lesson, const Options& options, const std::string& id) {
  return find_input(lesson, options, id).has_value();
}

/// The inputs among somebody's tensors, as if --input had them. Where all inputs are there that the lesson
/// draws, what it computes from them is no input, though it could be given instead, as backward's Q.
attn::Tensors inputs_of(const Lesson& lesson, const Options& options, const Dump& dump) {
  attn::Tensors inputs;
  for (const auto& [id, tensor] : dump.tensors)
    if (id == "lengths" || is_input(lesson, options, id)) inputs.emplace(id, tensor);
  const auto own = expected_tensors(small_plan(lesson, options));
  const auto is_there = [&](const ExpectedTensor& one) {
    return one.kind == attn::Kind::step || inputs.contains(one.id);
  };
  if (attn::all_of(own, is_there))
    for (const auto& one : own)
      if (one.kind == attn::Kind::step) inputs.erase(one.id);
  return inputs;
}

/// The mask as the lesson takes it: of the batch, the queries and the keys of the scores beside it.
std::optional<ExpectedTensor> expected_mask(const std::string& id,
                                            const std::vector<ExpectedTensor>& expected) {
  const auto group = id.substr(0, id.size() - last_of_path(id).size());
  const auto* scores = attn::find_by_id(expected, group + "scores");
  if (scores == nullptr) scores = attn::find_by_id(expected, group + "weights");
  if (scores == nullptr) return std::nullopt;
  const auto& shape = scores->shape;
  return ExpectedTensor{.id = id,
                        .kind = attn::Kind::input,
                        .dtype = attn::Dtype::boolean,
                        .shape = {shape.front(), shape[shape.size() - 2], shape.back()},
                        .axes = {"batch", "query", "key"},
                        .shows_batch = scores->shows_batch};
}

/// Somebody's mask, whose shape and meaning the other inputs decide, with what was assumed of it. Throws
/// attn::Error for one that is none of this run.
std::optional<AnyTensor> mask_of(Dump& dump, const ExpectedTensor& mask, attn::MaskTrue mask_true) {
  std::erase_if(dump.undecided, [&](const auto& tensor) { return !attn::contains(tensor.ids, mask.id); });
  Ids given;
  const auto add = [&](const attn::NamedTensor& tensor) {
    given.push_back(fmt::format("{} ({})", tensor.name, attn::to_string(tensor.tensor.shape())));
  };
  for (const auto& tensor : dump.undecided) add(tensor);
  if (const auto* const named = attn::value_in(dump.as_named, mask.id)) add(*named);
  attn::fit(dump, {mask}, mask_true);
  const auto* const found = attn::value_in(dump.tensors, mask.id);
  if (found != nullptr && found->shape() == mask.shape) return *found;
  if (given.empty()) return std::nullopt;
  const auto queries = mask.shape[1], keys = mask.shape[2];
  throw attn::Error(fmt::format(
      "{} in --input: no mask of this run, which has one for all heads; valid: ({}) or ({}×{}), a batch "
      "before it, heads only where all have the same, of true and false, of 1 and 0, or of 0 and −∞",
      attn::listed(given, "and"), keys, queries, keys));
}

/// The mask behind somebody's masked scores, which are −∞ or a large negative number where it hides.
std::optional<AnyTensor> mask_behind(const Dump& dump, const ExpectedTensor& mask) {
  constexpr double largest_hidden = -1e4;
  const auto masked = dump.tensors.find(mask.id + "ed");
  if (masked == dump.tensors.end()) return std::nullopt;
  AnyTensor seen(attn::Dtype::boolean, masked->second.shape());
  bool hides = false;
  for (std::size_t i = 0; i < attn::element_count(seen.shape()); ++i) {
    seen.elements<bool>()[i] = !(masked->second.view().at(i) <= largest_hidden);
    hides = hides || !seen.elements<bool>()[i];
  }
  auto fitted = hides ? attn::as_mask(seen, mask.id, mask, attn::MaskTrue::seen) : std::nullopt;
  if (!fitted) return std::nullopt;
  return std::move(fitted->tensor);
}

/// What lengths and options hide.
std::optional<AnyTensor> mask_of_rules(const Plan& plan, const ExpectedTensor& mask) {
  std::optional<AnyTensor> found;
  run_watched(*plan.lesson, plan, [&](const attn::Tapped& tapped) {
    if (tapped.id == mask.id && tapped.shape == mask.shape)
      found = AnyTensor(attn::TensorView{tapped.dtype, tapped.shape, tapped.elements});
  });
  return found;
}

/// "mask, lengths and --causal": what hides keys.
std::string rules_in_words(const std::string& mask, const Plan& plan, const attn::Tensors& inputs) {
  std::vector<std::string> rules = {mask};
  if (inputs.contains("lengths")) rules.emplace_back("lengths");
  if (plan.options.causal) rules.emplace_back("--causal");
  if (plan.options.window) rules.push_back(fmt::format("--window {}", *plan.options.window));
  return attn::listed(rules, "and");
}

/// Takes a tensor whose name may be an input's or a step's ("q_proj": W_Q or Q) for the input where its shape
/// goes with the other inputs and is not the step's.
void decide_by_shapes(const Lesson& lesson, const Options& options, const attn::StoredTrace& file,
                      Dump& dump) {
  std::erase_if(dump.undecided, [&](auto& tensor) {
    const auto id = std::find_if(tensor.ids.begin(), tensor.ids.end(),
                                 [&](const auto& one) { return is_input(lesson, options, one); });
    if (id == tensor.ids.end() || dump.tensors.contains(*id) || last_of_path(*id) == "mask") return false;
    auto inputs = inputs_of(lesson, options, dump);
    inputs.insert_or_assign(*id, tensor.tensor);
    std::erase_if(inputs, [](const auto& input) { return last_of_path(input.first) == "mask"; });
    try {
      const attn::TensorsAsTrace given(file.header(), std::move(inputs));
      for (const auto& one : expected_tensors(make_plan(lesson, options, &given))) {
        auto shape = one.shape;
        if (!one.shows_batch && shape.size() == tensor.tensor.shape().size() + 1) shape.erase(shape.begin());
        if (one.id != *id && attn::contains(tensor.ids, one.id) && shape == tensor.tensor.shape())
          return false;
      }
    } catch (const attn::Error&) {
      return false;
    }
    dump.assume(fmt::format("{} is taken for {}, whose shape it has.", tensor.name, *id));
    dump.tensors.insert_or_assign(*id, tensor.tensor);
    dump.as_named.insert_or_assign(*id, tensor);
    return true;
  });
}

/// Keeps what is no input under the lesson's ids, or under its own name where it could be one; steps that the
/// run does not have stand for nothing. `known` are the ids that the lesson may have.
void keep_others(OwnInputs& own, const Dump& dump, const attn::StoredTrace& file, const Plan& plan,
                 const Ids& known, const Ids& ids_of_run, const std::string& mask, bool has_mask) {
  for (const auto& [id, tensor] : dump.tensors) {
    if ((id == mask && has_mask) || own.tensors.contains(id)) continue;
    if (attn::contains(ids_of_run, id))
      own.others.emplace(id, tensor);
    else
      own.other_names.push_back(dump.as_named.at(id).name);
  }
  for (const auto& tensor : dump.undecided) {
    if (has_mask && attn::contains(tensor.ids, mask)) continue;
    const bool may_be_input =
        attn::any_of(tensor.ids, [&](const auto& id) { return is_input(*plan.lesson, plan.options, id); });
    own.others.emplace(may_be_input ? tensor.name : tensor.ids[0], tensor.tensor);
  }
  const auto is_common = [&](const std::string& name) {  // of a step that only other lessons have
    return attn::meaning_of(name, known).ids.empty() &&
           (name == "output" || attn::synonym_of(attn::folded(name)) != nullptr);
  };
  for (const auto& name : dump.unknown)
    if (name.find('.') == name.npos && !is_common(name))
      own.others.emplace(name, file.read(name));
    else
      own.other_names.push_back(name);
}

/// The inputs of another lesson's trace, and those of its steps that are inputs here.
std::unique_ptr<attn::StoredTrace> as_inputs(const Lesson& lesson, const Options& options,
                                             const attn::StoredTrace& file) {
  attn::Tensors tensors;
  for (const auto& tensor : file.tensors())
    if (tensor.kind != attn::Kind::step || is_input(lesson, options, tensor.id))
      tensors.emplace(tensor.id, file.read(tensor.id));
  return std::make_unique<attn::TensorsAsTrace>(file.header(), std::move(tensors));
}

/// "heads = 2 is assumed …", where neither somebody nor the file says how many heads its weights are of.
std::optional<std::string> assumed_heads(const Lesson& lesson, const Options& options,
                                         const attn::StoredTrace& file) {
  if (!lesson.uses("heads") || options.is_typed("heads") || file.header().lesson == lesson.name)
    return std::nullopt;
  for (const auto& tensor : file.tensors()) {
    const auto input = find_input(lesson, options, tensor.id);
    const auto extents = input ? extents_of(lesson, *input, options) : std::vector<Extent>();
    if (extents.size() != 2 || !extents[0].name.starts_with("d_model") || !extents[1].name.ends_with("d_k"))
      continue;
    Ids possible;
    for (std::size_t heads = 1; heads <= tensor.shape.back(); ++heads)
      if (tensor.shape.back() % heads == 0) possible.push_back(std::to_string(heads));
    return fmt::format(
        "heads = {} is assumed: by their shapes the weights may be of {}, and --heads says it.",
        options.heads.value_or(1), attn::listed(possible, "or"));
  }
  return std::nullopt;
}

/// That X [12×1×64] is 12 texts of one token each, though PyTorch has one of 12 so.
std::optional<std::string> read_as_batch(const attn::StoredTrace& file) {
  if (!file.header().lesson.empty()) return std::nullopt;
  for (const std::string_view id : {"X", "X_target"}) {
    const auto* X = file.find(id);
    if (X == nullptr || X->shape.size() != 3 || X->shape[0] == 1 || X->shape[1] != 1) continue;
    return fmt::format(
        "{0} is {1} texts of one token each; if it is [token×batch×d_model], as PyTorch has it by default, "
        "save {0}.transpose(0, 1).",
        id, X->shape[0]);
  }
  return std::nullopt;
}

bool is_separator(char c) {
  return c == '.' || c == '/';
}

/// Where the first part of two names begins that is not the same in both: after "layers.".
std::size_t begin_of_difference(const std::string& a, const std::string& b) {
  const auto first =
      static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  const auto separator = first == 0 ? a.npos : a.find_last_of("./", first - 1);
  return separator == a.npos ? 0 : separator + 1;
}

/// The groups that a part names one of: "layers." of "layers.1", and of "layers.1.self_attn" that and
/// "layers.1.".
Ids groups_with_siblings(const std::string& part) {
  Ids groups;
  for (std::size_t begin = 0; begin < part.size();) {
    const auto end = std::min(part.find_first_of("./", begin), part.size());
    const bool is_numbered = part.find_first_not_of("0123456789", begin) >= end;
    if (begin > 0 && (is_numbered || end == part.size())) groups.push_back(part.substr(0, begin));
    begin = end + 1;
  }
  return groups;
}

/// Refuses names of which each could be the same input, as those of several layers are. `names_in_files` are
/// those in each file of --input.
void refuse_contested(const OwnInputs& own, const Options& typed, const std::vector<Ids>& names_in_files) {
  if (own.contested.empty()) return;
  const auto& names = own.contested.begin()->second;
  Ids ids, parts;
  for (const auto& [id, of_id] : own.contested)
    if (of_id == names) ids.push_back(id);
  const auto begin = begin_of_difference(names.front(), names.back());
  Ids places;
  for (const auto& name : names) {
    std::size_t place = 0;
    while (!attn::contains(names_in_files[place], name)) ++place;
    add_to(places, "--input " + typed.input[place]);
    if (const auto end = name.find_first_of("./", begin); end != name.npos)
      add_to(parts, fmt::format("--input {}:{}", file_of_input(typed.input[place]), name.substr(0, end)));
  }
  throw attn::Error(fmt::format("{}: {} could each be {}; valid: one of them{}", attn::listed(places, "and"),
                                attn::listed(names, "and"), attn::listed(ids, "and"),
                                parts.size() > 1 ? ", as with " + attn::listed(parts, "or") : ""));
}

/// Whether a tensor is neither an input nor a step under its name.
bool has_other_names(const Lesson& lesson, const Options& options, const attn::StoredTrace& file) {
  Ids names;
  for (const auto& tensor : file.tensors())
    if (tensor.kind != attn::Kind::step && tensor.id != "lengths" && !is_input(lesson, options, tensor.id))
      names.push_back(tensor.id);
  if (names.empty()) return false;
  const auto ids = possible_ids(lesson, options);
  return attn::any_of(names, [&](const auto& name) { return !attn::contains(ids, name); });
}

}  // namespace

std::string file_of_input(const std::string& path) {
  const auto colon = path.rfind(':');
  const bool has_part =
      colon != path.npos && !std::filesystem::exists(path) && std::filesystem::exists(path.substr(0, colon));
  return has_part ? path.substr(0, colon) : path;
}

std::vector<ExpectedTensor> expected_tensors(const Plan& plan) {
  std::vector<ExpectedTensor> expected;
  run_watched(*plan.lesson, plan, [&](const attn::Tapped& tapped) {
    if (auto* const known = attn::find_by_id(expected, tapped.id)) {
      known->shape = tapped.shape;  // of a recurrence, which grows
      return;
    }
    auto axes = tapped.axes;
    if (tapped.shape.size() > axes.size()) axes.insert(axes.begin(), "batch");
    expected.push_back(
        {tapped.id, tapped.kind, tapped.dtype, tapped.shape, std::move(axes), plan.is_batched()});
  });
  return expected;
}

void require_possible_ids(const Lesson& lesson, const Options& options,
                          const std::vector<std::string>& wanted) {
  if (wanted.empty()) return;
  const auto kind_of = [](std::string id) {
    if (id.ends_with('/')) id.pop_back();
    std::string kind(last_of_path(id));
    std::erase_if(kind, [](unsigned char c) { return std::isdigit(c) != 0; });
    return kind;
  };
  auto small = options;
  small.input.clear();
  Ids kinds;
  for (auto id : possible_ids(lesson, small)) {
    add_to(kinds, kind_of(id));
    for (auto end = id.rfind('/'); end != id.npos; end = id.rfind('/'))
      add_to(kinds, kind_of(id = id.substr(0, end)));
  }
  for (const auto& id : wanted)
    if (!attn::contains(kinds, kind_of(id)))
      attn::refuse_selection(id, attn::ids_in(expected_tensors(small_plan(lesson, small))));
}

attn::Fusion fusion_of(const Options& options, std::optional<attn::FusedLayout> layout) {
  attn::Fusion fusion{.layout = layout};
  if (options.is_typed("heads") || options.is_typed("kv-heads")) {
    fusion.heads = options.heads;
    fusion.kv_heads = options.kv_heads ? options.kv_heads : options.heads;
  }
  return fusion;
}

std::string tensors_in(const attn::StoredTrace& file, const std::vector<std::string>& names) {
  std::vector<std::string> tensors;
  for (const auto& name : names)
    if (const auto* tensor = file.find(name))
      tensors.push_back(fmt::format("{} ({})", name, attn::to_string(tensor->shape)));
  return tensors.empty() ? "" : fmt::format("; it has {}", fmt::join(tensors, ", "));
}

OwnInputs own_inputs(const Lesson& lesson, const Options& typed, const attn::StoredTrace& file,
                     std::optional<attn::FusedLayout> layout) {
  auto options = typed;
  follow_config(lesson, file, options);
  const auto id = id_of_mask(lesson, options);
  const auto fusion = fusion_of(options, layout);
  const auto known = possible_ids(lesson, options);
  Dump dump;
  OwnInputs own;
  const auto read_with = [&](const Ids& ids) {
    dump = attn::named(file, ids, fusion);
    decide_by_shapes(lesson, options, file, dump);
    own.tensors = inputs_of(lesson, options, dump);
    own.tensors.erase(id);
    own.contested = dump.contested;
    std::erase_if(own.contested, [&](const auto& one) { return !is_input(lesson, options, one.first); });
  };
  read_with(known);
  own.other_names = dump.unknown;
  if (own.tensors.empty()) return own;
  const auto plan_without_mask = [&] {
    const attn::TensorsAsTrace given(file.header(), own.tensors);
    return make_plan(lesson, options, &given);
  };
  read_with(ids_of(plan_without_mask()));
  own.other_names.clear();
  const auto plan = plan_without_mask();
  const auto expected = expected_tensors(plan);
  const auto wanted = expected_mask(id, expected);
  keep_others(own, dump, file, plan, known, attn::ids_in(expected), id, wanted.has_value());
  auto mask = wanted ? mask_of(dump, *wanted, options.mask_true) : std::nullopt;
  const bool is_known = plan.options.causal || plan.options.window || own.tensors.contains("lengths");
  if (wanted && !mask && !is_known && (mask = mask_behind(dump, *wanted)))
    own.assumptions.push_back(fmt::format(
        "Nobody gives {0}: it is taken to hide what {0}ed has −∞ or a large negative number for.", id));
  own.names = dump.assumptions;
  if (!mask) return own;
  const bool is_trace_of_ours = file.header().lesson == lesson.name;  // whose mask has all that is hidden
  const auto rules = is_trace_of_ours ? std::nullopt : mask_of_rules(plan, *wanted);
  const auto combined = rules ? attn::hidden_by_either(*mask, *rules) : *mask;
  if (!attn::are_identical(combined, *mask))
    own.assumptions.push_back(fmt::format("{} are combined: hidden is what one of them hides.",
                                          rules_in_words(id, plan, own.tensors)));
  const auto shape = plan.is_batched() ? wanted->shape : attn::Shape{wanted->shape[1], wanted->shape[2]};
  own.tensors.insert_or_assign(id,
                               AnyTensor(attn::TensorView{combined.dtype(), shape, combined.view().data}));
  return own;
}

std::unique_ptr<attn::StoredTrace> open_input(const std::string& path) {
  const auto file = file_of_input(path);
  if (file == path) return attn::has_csv_files(path) ? attn::open_csv_folder(path) : attn::open_trace(path);
  const auto whole = open_input(file);
  auto part = path.substr(file.size() + 1);
  while (!part.empty() && is_separator(part.back())) part.pop_back();
  const auto siblings = groups_with_siblings(part);
  const auto is_of_part = [&](const std::string& name) {
    return name.starts_with(part) && (name.size() == part.size() || is_separator(name[part.size()]));
  };
  const auto is_sibling = [&](const std::string& name) {
    return attn::any_of(siblings, [&](const auto& group) { return name.starts_with(group); });
  };
  attn::Tensors tensors;
  bool is_there = false;
  for (const auto& name : attn::ids_in(whole->tensors())) {
    is_there = is_there || is_of_part(name);
    if (is_of_part(name) || (!siblings.empty() && !is_sibling(name)))
      tensors.emplace(name, whole->read(name));
  }
  if (!is_there)
    throw attn::Error(fmt::format("--input {}: the file has no tensors of {}; it has {}", path, part,
                                  fmt::join(attn::ids_in(whole->tensors()), ", ")));
  return std::make_unique<attn::TensorsAsTrace>(whole->header(), std::move(tensors));
}

GivenFile open_inputs(const Lesson& lesson, const Options& typed) {
  std::vector<std::unique_ptr<attn::StoredTrace>> files;
  std::vector<Ids> names;
  for (const auto& path : typed.input) {
    files.push_back(open_input(path));
    names.push_back(attn::ids_in(files.back()->tensors()));
  }
  std::unique_ptr<attn::StoredTrace> file;
  if (files.size() == 1)
    file = std::move(files.front());
  else
    file = std::make_unique<attn::MergedTrace>(std::move(files));
  auto options = typed;
  follow_config(lesson, *file, options);
  Ids remarks;
  const auto refuse_beside_others = [&](const std::string& path, const Ids& assumptions, const Ids& of_file) {
    for (const auto& one : assumptions)
      for (const auto& name : of_file)
        if (one.starts_with(name + " is left out, because "))
          throw attn::Error(
              fmt::format("--input {}: {}; valid: one file without it, or a part of that, --input FILE:X",
                          path, one.substr(0, one.size() - 1)));
  };
  const auto refuse_without_inputs = [&](const std::string& paths, const std::string& held) {
    throw attn::Error(fmt::format("--input {} holds no input of {}{}; valid: {}", paths, lesson.name, held,
                                  describe_inputs(lesson, options)));
  };
  const auto held = tensors_in(*file, attn::ids_in(file->tensors()));
  const bool is_of_other = !file->header().lesson.empty() && file->header().lesson != lesson.name;
  const bool merges_heads = is_of_other && file->find("Q_heads") != nullptr &&
                            find_input(lesson, options, "Q") &&
                            !attn::contains(possible_ids(lesson, options), "Q_heads");
  if (is_of_other) file = as_inputs(lesson, options, *file);
  if (has_other_names(lesson, options, *file) || (is_of_other && file->tensors().empty()) ||
      options.mask_true == attn::MaskTrue::hidden) {
    auto own = own_inputs(lesson, options, *file);
    refuse_contested(own, typed, names);
    if (own.tensors.empty()) refuse_without_inputs(fmt::format("{}", fmt::join(typed.input, " and ")), held);
    remarks = std::move(own.names);
    remarks.insert(remarks.end(), own.assumptions.begin(), own.assumptions.end());
    if (is_of_other)
      for (auto& [name, tensor] : std::exchange(own.others, {})) own.other_names.push_back(name);
    for (std::size_t i = 0; i < names.size(); ++i)
      if (!names[i].empty() &&
          attn::all_of(names[i], [&](const auto& name) { return attn::contains(own.other_names, name); })) {
        refuse_beside_others(typed.input[i], remarks, names[i]);
        refuse_without_inputs(typed.input[i], tensors_in(*file, names[i]));
      }
    if (!own.other_names.empty())
      remarks.push_back(fmt::format("Left aside, since this run has no such tensor: {}.",
                                    fmt::join(own.other_names, ", ")));
    own.tensors.merge(own.others);
    file = std::make_unique<attn::TensorsAsTrace>(file->header(), std::move(own.tensors));
  }
  if (is_of_other) {
    remarks.push_back(fmt::format("Taken from the trace of {}: {}.", file->header().lesson,
                                  attn::listed(attn::ids_in(file->tensors()), "and")));
    if (merges_heads)
      remarks.emplace_back(
          "Its Q, K and V have all heads side by side and are taken for those of one head; Q_heads, K_heads "
          "and V_heads there have those of each.");
  }
  for (auto remark : {assumed_heads(lesson, options, *file), read_as_batch(*file)})
    if (remark) remarks.push_back(std::move(*remark));
  return {std::move(file), std::move(remarks)};
}

std::vector<std::string> absent_inputs(const Plan& plan) {
  std::vector<std::string> absent;
  run_watched(*plan.lesson, plan, [&](const attn::Tapped& tapped) {
    if (tapped.kind != attn::Kind::input || plan.given.count(tapped.id) > 0) return;
    const auto input = find_input(*plan.lesson, plan.options, tapped.id);
    if (!input || input->draw == Draw::option || last_of_path(tapped.id) == "mask") return;
    if (input->draw == Draw::embedding && plan.options.embeddings) return;
    absent.push_back(tapped.id);
  });
  return absent;
}

}  // namespace lessons
