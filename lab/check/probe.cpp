#include "lessons/workbench/probe.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "attn/text/trim.hpp"
#include "attn/text/width.hpp"
#include "lab/check/check.hpp"
#include "lab/check/checked.hpp"
#include "lab/command_line.hpp"
#include "lab/output.hpp"
#include "trace/diagnosis/catalogue.hpp"
#include "trace/diagnosis/names.hpp"
#include "trace/diff/diff.hpp"
#include "trace/file.hpp"
#include "trace/wording.hpp"

namespace lab {

namespace {

constexpr std::size_t sheet_width = 80;

std::string on_sheet(const std::string& words) {
  return attn::paragraph(words, sheet_width, 2);
}

/// Passes inputs on, and keeps what the task sheet says of all.
class TaskSheet : public attn::Sink {
 public:
  void pass_inputs_to(attn::Sink& inputs) { inputs_ = &inputs; }

  void receive(const attn::Event& event) override {
    if (!event.tensor) return;
    const bool is_input = event.kind == attn::Kind::input;
    if (is_input) inputs_->receive(event);
    auto& lines = is_input ? given_ : asked_;
    lines.push_back(line_of(event));
    if (is_input) return;
    shapes_[event.id] = event.tensor->shape;
  }

  /// The tables of what is given and what is asked.
  std::string text() const {
    return "\nThe inputs\n" + table(given_) + "\nWhat to compute\n" + table(asked_);
  }

  /// "attn for weights": some common names that check takes for what is asked.
  std::vector<std::string> common_names() const {
    std::vector<std::string> ids, names;
    for (const auto& line : asked_) ids.push_back(line.id);
    for (const std::string name : {"attn_weights", "query_states", "attn_scores", "logits", "attn_out"})
      if (const auto meant = attn::meaning_of(name, ids).ids; !meant.empty() && !attn::contains(ids, name))
        names.push_back(fmt::format("{} for {}", name, attn::listed(meant, "or")));
    return names;
  }

  /// A step that was asked for, with its shape, batch and all.
  const attn::Shape& shape_of(const std::string& id) const { return shapes_.at(id); }

 private:
  struct Line {
    std::string id, shape, formula;
  };

  static Line line_of(const attn::Event& event) {
    std::vector<std::string> axes;
    for (std::size_t i = 0; i < event.axes.size(); ++i)
      axes.push_back(fmt::format("{} {}", event.axes[i], event.tensor->shape[i]));
    auto formula = event.formula.empty() ? event.title : event.formula;
    std::replace(formula.begin(), formula.end(), '\n', ' ');
    return {event.id, fmt::format("[{}]", fmt::join(axes, " × ")), formula};
  }

  static std::string table(const std::vector<Line>& lines) {
    std::size_t widest = 0;
    for (const auto& line : lines) widest = std::max(widest, attn::display_width(line.id));
    std::vector<std::vector<std::string>> rows;
    for (const auto& line : lines) {
      rows.push_back({line.id, line.shape});
      if (!line.formula.empty())
        for (const auto& part : attn::wrap(line.formula, sheet_width - widest - 6))
          rows.push_back({"", "  " + part});
    }
    return attn::format_columns(rows);
  }

  attn::Sink* inputs_ = nullptr;
  std::vector<Line> given_, asked_;
  std::map<std::string, attn::Shape> shapes_;
};

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

/// What the options mean for the shapes and the masks.
std::string rules_of(const lessons::Plan& plan) {
  const auto& options = plan.options;
  std::string text;
  if (options.kv_heads && options.kv_heads != options.heads)
    text += fmt::format(
        " Each key and value head is read by {} query heads in a row. For a program with as many key and "
        "value heads as query heads make the probe with --kv-heads {}.",
        *options.heads / *options.kv_heads, *options.heads);
  if (options.causal)
    text += fmt::format(
        " Causal: the last query stands beside the last key. For a program that is not causal make the probe "
        "{}.",
        options.typed.count("causal") == 0 || plan.lesson->defaults.causal ? "with --no-causal"
                                                                           : "without --causal");
  if (options.window)
    text += fmt::format(" A window: keys at most {} positions {}.", *options.window,
                        options.causal ? "before the query" : "away from the query");
  if (options.window == 0)
    text +=
        " So each query sees itself alone, with the weight 1: a larger window, or --no-window, shows more.";
  return text;
}

std::string task(const lessons::Plan& plan, const std::string& file, const std::string& id,
                 const std::vector<std::string>& results) {
  auto text = fmt::format("probe {}: {} (seed {}, id {})\n\nThe task\n", plan.lesson->name, file,
                          plan.options.seed, id);
  text += on_sheet(fmt::format(
      "Compute the lesson {0} from the inputs in {1} with your own program, and save what you computed under "
      "the names below. Then: attnlab check {0} mine.npz --probe {1}",
      plan.lesson->name, file));
  text += on_sheet(fmt::format("Each name that you save is checked by itself; {} alone will do.",
                               attn::listed(results, "and")));
  text += on_sheet(
      "Save config, or an input, beside them: check tells by it whether a file is of this probe. A file that "
      "is "
      "named as the probe is will do, too.");
  text += on_sheet(fmt::format("Options: {}.{}", options_of(plan), rules_of(plan)));
  if (plan.is_batched())
    text += on_sheet(
        "The batch has samples of unequal length, in `lengths`: the tokens behind them are padding, which no "
        "query may see. A mask is true where a key may be seen. Rows of padded queries may be left 0.");
  return text;
}

/// The lines that read an archive of NumPy and save a tensor in other languages.
std::string with_archives(const std::string& file, const std::string& id, const attn::Shape& shape) {
  return fmt::format(R"(
  NumPy    given = np.load("{0}")
           np.savez("mine.npz", config=given["config"],
                    **{{"{1}": x}})
  PyTorch  np.savez("mine.npz", config=given["config"],
                    **{{"{1}": x.detach().cpu().numpy()}})
  JAX      np.savez("mine.npz", config=given["config"],
                    **{{"{1}": np.asarray(x)}})
  Julia    using NPZ; given = npzread("{0}")
           npzwrite("mine.npz", Dict("config" => given["config"],
                                     "{1}" => x))
  Rust     use ndarray_npy::{{NpzReader, NpzWriter}}; use std::fs::File;
           let mut given = NpzReader::new(File::open("{0}")?)?;
           let config: ndarray::Array1<u8> = given.by_name("config")?;
           let mut mine = NpzWriter::new(File::create("mine.npz")?);
           mine.add_array("config", &config)?;
           mine.add_array("{1}", &x)?; mine.finish()?;
  C++      auto config = cnpy::npz_load("{0}", "config");
           cnpy::npz_save("mine.npz", "config",
                          config.data<unsigned char>(), config.shape, "w");
           cnpy::npz_save("mine.npz", "{1}", x.data(),
                          {{{2}}}, "a");
)",
                     file, id, fmt::join(shape, ", "));
}

/// How to read a probe in this format and to save a tensor, in other languages.
std::string in_languages(const std::string& file, const std::string& id, const attn::Shape& shape,
                         const std::string& probe) {
  std::string reading;
  if (file.ends_with(".json"))
    reading = fmt::format(
        "\n  read     each of \"events\" in {} has an \"id\", a \"shape\" and\n"
        "           \"data\": lists of lists\n",
        file);
  else if (file.ends_with(".safetensors"))
    reading = fmt::format("\n  Python   given = safetensors.numpy.load_file(\"{}\")\n", file);
  else
    reading = with_archives(file, id, shape);
  return fmt::format(R"(
How to read and to save, for example x as {0}{1}  JSON     mine.json: {{"config": {{"probe": "{2}"}},
                       "{0}": [[[0.1, …], …], …]}}, all digits
           −∞ and NaN as "-Infinity" and "NaN"
  CSV      a folder (attnlab check LESSON mine) with a file for each tensor,
           NAME.csv: a row of its last axis a line; an input among them
)",
                     id, reading, probe);
}

/// A probe, and the task sheet that calls its file `name`.
struct Written {
  std::string inputs, task;
};

Written written_probe(const MakeProbe& probe, const lessons::Options& options, const std::string& name) {
  const auto plan = lessons::plan_of_probe(*probe.lesson, options);
  auto header = plan.header();
  const auto id = id_of_probe(lessons::inputs_of(plan));
  header.config.emplace_back("probe", id);
  TaskSheet sheet;
  const auto inputs = tensor_file(*probe.output, header, [&](attn::Sink& file) {
    sheet.pass_inputs_to(file);
    lessons::run(*plan.lesson, plan, sheet);
  });
  const auto results = lessons::results_of(plan, lessons::steps_with({}, plan));
  const auto& result = results.front();
  auto names = sheet.common_names();
  names.resize(std::min<std::size_t>(names.size(), 3));
  const auto examples = names.empty() ? "" : fmt::format(", as {}", fmt::join(names, ", "));
  return {inputs.value(),
          task(plan, name, id, results) + sheet.text() +
              on_sheet(fmt::format("check takes common names, too{}. It says what it took for what, and "
                                   "--rename NAME=ID is for all others.",
                                   examples)) +
              in_languages(name, result, sheet.shape_of(result), id)};
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
      files.emplace_back((std::filesystem::path(*probe.output).parent_path() / (name + ".npz")).string(),
                         probe.options.seed + static_cast<std::uint32_t>(files.size()));
  return files;
}

}  // namespace

void run_probe(const MakeProbe& probe) {
  if (probe.is_audit) return show(audit(*probe.lesson, probe.options), probe.paging);
  make_folder_of(*probe.output);
  if (!probe.last_seed && !probe.names) {
    const auto [inputs, task] = written_probe(probe, probe.options, *probe.output);
    write_to_file(*probe.output, inputs);
    return show(task, probe.paging);
  }
  for (const auto& [file, seed] : files_of(probe)) {
    auto options = probe.options;
    options.seed = seed;
    std::filesystem::path path = file;
    const auto [inputs, task] = written_probe(probe, options, path.filename().string());
    write_to_file(path.string(), inputs);
    write_to_file(path.replace_extension(".txt").string(), task);
  }
}

}  // namespace lab
