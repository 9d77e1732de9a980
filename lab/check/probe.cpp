#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "attn/random/random.hpp"
#include "attn/text/trim.hpp"
#include "attn/text/width.hpp"
#include "lab/check/check.hpp"
#include "lab/command_line.hpp"
#include "lab/output.hpp"
#include "lessons/workbench/exercises.hpp"
#include "trace/csv.hpp"
#include "trace/diagnosis/catalogue.hpp"
#include "trace/diagnosis/names.hpp"
#include "trace/diff/diff.hpp"
#include "trace/file.hpp"
#include "trace/wording.hpp"

namespace lab {

namespace {

namespace fs = std::filesystem;

/// A tensor that is given, or asked for.
struct Line {
  std::string id;
  attn::Shape shape;  ///< batch and all
  std::string named_shape, formula;
};

Line line_of(const attn::Event& event) {
  auto formula = event.formula.empty() ? event.title : event.formula;
  std::replace(formula.begin(), formula.end(), '\n', ' ');
  return {event.id, event.tensor->shape, attn::named_shape(event), formula};
}

std::string table_of_lines(const std::vector<Line>& lines) {
  std::size_t widest = 0;
  for (const auto& line : lines) widest = std::max(widest, attn::display_width(line.id));
  std::vector<std::vector<std::string>> rows;
  for (const auto& line : lines) {
    rows.push_back({line.id, line.named_shape});
    if (!line.formula.empty())
      for (const auto& part : attn::wrap(line.formula, attn::usual_width - widest - 6))
        rows.push_back({"", "  " + part});
  }
  return attn::format_columns(rows);
}

/// ", as attn for weights": some common names that check takes for what is asked.
std::string common_names(const std::vector<Line>& asked) {
  constexpr std::size_t most_named = 3;
  const auto ids = attn::ids_in(asked);
  std::vector<std::string> names;
  for (const std::string name : {"attn_weights", "query_states", "attn_scores", "logits", "attn_out"})
    if (const auto meant = attn::meaning_of(name, ids).ids; !meant.empty() && !attn::contains(ids, name))
      names.push_back(fmt::format("{} for {}", name, attn::listed(meant, "or")));
  names.resize(std::min(names.size(), most_named));
  return names.empty() ? "" : fmt::format(", as {}", fmt::join(names, ", "));
}

/// The options that decide what is computed: the inputs say all the others.
std::string options_of(const lessons::Plan& plan) {
  const std::set<std::string> of_inputs = {"sentence", "source", "target",       "seed",       "rng",
                                           "draws",    "model",  "weight_scale", "embeddings", "dtype"};
  const auto header = plan.header();
  std::vector<std::string> texts;
  for (const auto& [name, value] : header.config)
    if (of_inputs.count(name) == 0)
      if (auto text = attn::option_text(name, value); !text.empty()) texts.push_back(std::move(text));
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// What help.txt has under a heading, a line for each paragraph, with words in its places.
template <class... Words>
std::string filled(std::string_view heading, const Words&... words) {
  const auto paragraphs = fmt::format("{}", fmt::join(entries_of(help_text(heading)), "\n"));
  return fmt::format(fmt::runtime(paragraphs), words...);
}

/// What the options mean for the shapes and the masks.
std::string rules_of(const lessons::Plan& plan) {
  const auto& options = plan.options;
  const bool is_usually_causal = !options.is_typed("causal") || plan.lesson->defaults.causal;
  std::string text;
  if (options.kv_heads && options.kv_heads != options.heads)
    text += ' ' + filled("task of shared heads", *options.heads / *options.kv_heads, *options.heads);
  if (options.causal)
    text +=
        ' ' + filled("task of a causal lesson", is_usually_causal ? "with --no-causal" : "without --causal");
  if (options.window)
    text += fmt::format(" A window: keys at most {} positions {}.", *options.window,
                        options.causal ? "before the query" : "away from the query");
  if (options.window == 0) text += ' ' + filled("task of a window of 0");
  return text;
}

std::string task(const lessons::Plan& plan, const std::string& file, const std::string& id,
                 const std::vector<std::string>& results) {
  return fmt::format("probe {}: {} (seed {}, id {})\n\nThe task\n", plan.lesson->name, file,
                     plan.options.seed, id) +
         attn::paragraph(filled("task", plan.lesson->name, file, attn::listed(results, "and"),
                                options_of(plan), rules_of(plan))) +
         (plan.is_batched() ? attn::paragraph(filled("task of a batch")) : "");
}

/// How to read a probe in this format and to save a tensor, in other languages.
std::string in_languages(const std::string& file, const std::string& id, const attn::Shape& shape,
                         const std::string& probe) {
  const auto ending = fs::path(file).extension().string();
  const auto reading =
      fmt::format(fmt::runtime(help_text("read " + ending)), file, id, fmt::join(shape, ", "));
  return '\n' + fmt::format(fmt::runtime(help_text("read and save")), id, reading, probe) + '\n';
}

/// Eight hexadecimal digits that follow from the ids, shapes and numbers of its inputs.
std::string id_of(const attn::Tensors& inputs) {
  std::string text;
  for (const auto& [id, tensor] : inputs) {
    text += fmt::format("{} {}", id, attn::to_string(tensor.shape()));
    const auto view = tensor.view();
    for (std::size_t i = 0; i < attn::element_count(view.shape); ++i)
      text += fmt::format(" {:.6f}", view.at(i) + 0.0);
  }
  return fmt::format("{:08x}", attn::crc32(text));
}

/// A probe, and the task sheet that calls its file `name`.
std::pair<std::string, std::string> written_probe(const MakeProbe& probe, const lessons::Options& options,
                                                  const std::string& name) {
  const auto plan = lessons::plan_of_probe(*probe.lesson, options);
  auto header = plan.header();
  const auto id = id_of(lessons::inputs_of(plan));
  header.config.emplace_back(id_of_probe, id);
  std::vector<Line> given, asked;
  const auto inputs = tensor_file(*probe.output, header, [&](attn::Sink& file) {
    attn::EachEvent sheet([&](const attn::Event& event) {
      if (!event.tensor) return;
      const bool is_input = event.kind == attn::Kind::input;
      if (is_input) file.receive(event);
      (is_input ? given : asked).push_back(line_of(event));
    });
    lessons::run(*plan.lesson, plan, sheet);
  });
  const auto results = lessons::results_of(plan, lessons::steps_with({}, plan));
  const auto* const result = attn::find_by_id(asked, results.front());
  return {inputs.value(), task(plan, name, id, results) + "\nThe inputs\n" + table_of_lines(given) +
                              "\nWhat to compute\n" + table_of_lines(asked) +
                              attn::paragraph(filled("names in a task", common_names(asked))) +
                              in_languages(name, result->id, result->shape, id)};
}

/// The lines of a roster, each the name of a file.
std::vector<std::string> names_in(const std::string& path) {
  std::istringstream lines(attn::File(path, "a file with a name a line").bytes());
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    std::string name(attn::trimmed(line, " \t\r"));
    if (name.empty()) continue;
    if (name.find('/') != name.npos || name.front() == '.' || attn::contains(names, name))
      throw attn::Error(fmt::format("--names {}: {} {}; valid: a name of a file a line, each once", path,
                                    name,
                                    attn::contains(names, name) ? "stands there twice" : "names no file"));
    names.push_back(std::move(name));
  }
  if (names.empty()) throw attn::Error(fmt::format("--names {} holds no name; valid: a name a line", path));
  return names;
}

/// The probes to write, with their seeds.
std::vector<std::pair<std::string, std::uint32_t>> files_of(const MakeProbe& probe) {
  std::vector<std::pair<std::string, std::uint32_t>> files;
  if (!probe.names)
    for_each_seed(probe.options.seed, probe.last_seed, [&](std::uint32_t seed) {
      files.emplace_back(path_of_seed(*probe.output, seed, probe.last_seed), seed);
    });
  else
    for (const auto& name : names_in(*probe.names))
      files.emplace_back((fs::path(*probe.output).parent_path() / (name + ".npz")).string(),
                         probe.options.seed + static_cast<std::uint32_t>(files.size()));
  return files;
}

/// Whether rows of the one shape, one after another, can be those of the other: CSV has rows alone.
bool has_rows_of(const attn::Shape& shape, const attn::Shape& other) {
  return attn::element_count(shape) == attn::element_count(other) && !shape.empty() && !other.empty() &&
         shape.back() == other.back();
}

/// Whether the dump has inputs of the probe, with its numbers, and none with others. Masks and lengths, which
/// many probes share, do not tell.
bool has_inputs_of(const attn::StoredTrace& dump, const attn::StoredTrace& probe) {
  bool has_one = false;
  for (const auto& input : probe.tensors()) {
    const auto* theirs = dump.find(input.id);
    if (theirs == nullptr || !attn::is_floating(input.dtype) || !has_rows_of(theirs->shape, input.shape))
      continue;
    const auto a = dump.read(input.id), b = probe.read(input.id);
    if (distance({a.dtype(), input.shape, a.view().data}, b.view()) > distance_of_other_probe) return false;
    has_one = true;
  }
  return has_one;
}

void refuse_other_name(const attn::StoredTrace& dump, const std::string& path, const std::string& probe) {
  const auto wanted = dump.header().text(id_of_probe),
             found = attn::open_trace(probe)->header().text(id_of_probe);
  if (!wanted.empty() && !found.empty() && wanted != found)
    throw OtherProbe(
        fmt::format("{} is of the probe {}, and {} is the probe {}; valid: --probe with that of {}", path,
                    wanted, probe, found, wanted));
}

}  // namespace

int run_probe(const MakeProbe& probe) {
  if (probe.is_audit) {
    show(audit(*probe.lesson, probe.options), probe.paging);
    return 0;
  }
  make_folder_of(*probe.output);
  const bool are_several = probe.last_seed || probe.names;
  for (const auto& [file, seed] : files_of(probe)) {
    auto options = probe.options;
    options.seed = seed;
    fs::path path = file;
    const auto [inputs, task] = written_probe(probe, options, are_several ? path.filename().string() : file);
    write_to_file(file, inputs);
    if (are_several)
      write_to_file(path.replace_extension(".txt").string(), task);
    else
      show(task, probe.paging);
  }
  return 0;
}

std::vector<fs::path> probes_in(const std::string& folder) {
  const std::set<std::string> endings = {".npz", ".safetensors", ".json"};
  std::vector<fs::path> probes;
  for (const auto& entry : fs::directory_iterator(folder))
    if (endings.count(entry.path().extension().string()) > 0) probes.push_back(entry.path());
  std::sort(probes.begin(), probes.end());
  return probes;
}

double distance(const attn::TensorView& tensor, const attn::TensorView& other) {
  constexpr auto infinity = std::numeric_limits<double>::infinity();
  if (tensor.shape != other.shape) return infinity;
  double largest = 0.0, difference = 0.0;
  for (std::size_t i = 0; i < attn::element_count(other.shape); ++i) {
    largest = std::max(largest, std::abs(other.at(i)));
    const double one = tensor.at(i) == other.at(i) ? 0.0 : std::abs(tensor.at(i) - other.at(i));
    difference = std::isnan(one) ? infinity : std::max(difference, one);
  }
  return difference == 0.0 ? 0.0 : difference / largest;
}

std::string probe_of(const std::string& probe, const attn::StoredTrace& dump, const std::string& path) {
  if (!fs::is_directory(probe) || attn::has_csv_files(probe)) {
    refuse_other_name(dump, path, probe);
    return probe;
  }
  const auto probes = probes_in(probe);
  const auto first = [&](auto is_its) {
    const auto found = std::find_if(probes.begin(), probes.end(), is_its);
    return found == probes.end() ? std::string() : found->string();
  };
  const auto stem = fs::path(path).stem(), folder = fs::path(path).parent_path().filename();
  auto found = first([&](const fs::path& one) { return one.stem() == stem; });
  if (found.empty()) found = first([&](const fs::path& one) { return one.stem() == folder; });
  if (!found.empty()) refuse_other_name(dump, path, found);
  const auto wanted = dump.header().text(id_of_probe);
  if (found.empty() && !wanted.empty())
    found = first(
        [&](const fs::path& one) { return attn::open_trace(one)->header().text(id_of_probe) == wanted; });
  if (found.empty())
    found = first([&](const fs::path& one) { return has_inputs_of(dump, *attn::open_trace(one)); });
  if (!found.empty()) return found;
  const auto message = fmt::format(
      "--probe {} has no probe of {}: none of its name, none {}; valid: a probe named {}.npz, or config or "
      "an input in the dump",
      probe, path, wanted.empty() ? "whose inputs it has" : "with the id " + wanted, stem.string());
  if (wanted.empty()) throw UnknownProbe(message);
  throw OtherProbe(message);
}

}  // namespace lab
