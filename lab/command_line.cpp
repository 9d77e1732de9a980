#include "lab/command_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <sstream>

#include "attn/error.hpp"
#include "attn/text/spelling.hpp"
#include "attn/text/trim.hpp"
#include "attn/text/width.hpp"
#include "lab/output.hpp"
#include "page/text/plain.hpp"
#include "trace/diagnosis/names.hpp"
#include "trace/file.hpp"

namespace lab {

namespace {

using attn::Error;
using lessons::OptionInfo;

constexpr std::size_t help_column = 32;
constexpr std::size_t help_width = 80;
constexpr std::size_t longest_value = 48;

std::string wrapped(std::string_view text, std::size_t width) {
  return fmt::format("{}", fmt::join(attn::wrap(text, width), "\n"));
}

/// In lines as wide as what is right of the options' names in the help.
std::string help_of_option(std::string_view text) {
  return wrapped(text, help_width - help_column);
}

OptionHelp described(const CLI::Option& option) {
  OptionHelp help{.names = {}, .value = {}, .text = option.get_description(), .group = option.get_group()};
  for (const auto& name : option.get_snames()) help.names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) help.names.push_back("--" + name);
  if (help.names.empty()) {
    help.names.push_back(option.get_name());
    help.group.clear();
  }
  if (option.get_items_expected_max() > 0) help.value = option.get_type_name();
  return help;
}

CommandHelp described(const CLI::App& app) {
  CommandHelp help{.description = app.get_description(), .options = {}, .examples = app.get_footer()};
  for (const auto* option : app.get_options())
    if (!option->get_group().empty()) help.options.push_back(described(*option));
  return help;
}

/// CLI11 takes --causal=false for a flag that is not given.
void refuse_values_of_flags(const CLI::App& app, std::string_view command, int argc, char** argv) {
  for (const std::string argument : std::vector(argv + std::min(argc, 1), argv + argc)) {
    const auto name = argument.substr(0, argument.find('='));
    const auto* option = app.get_option_no_throw(name);
    if (name == argument || option == nullptr || option->get_items_expected_max() > 0) continue;
    const auto opposite = "--no-" + name.substr(name.find_first_not_of('-'));
    throw Error(fmt::format("{}: {} is a flag, which takes no value; valid: {}", command, argument,
                            app.get_option_no_throw(opposite) == nullptr
                                ? fmt::format("{}, or nothing", name)
                                : fmt::format("{}, or {}", name, opposite)));
  }
}

std::string without_spaces(const std::string& text) {
  return std::string(attn::trimmed(text, " "));
}

template <class Number>
std::errc read_number(const std::string& text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return end == text.data() + text.size() ? error : std::errc::invalid_argument;
}

std::errc read_number(const std::string& text, double& value) {
  const auto number = attn::parse_number(text);
  value = number.value_or(0.0);
  return number ? std::errc() : std::errc::invalid_argument;
}

template <class Number>
Number parse_number(std::string_view flag, const std::string& given, std::string_view valid) {
  Number value{};
  if (read_number(without_spaces(given), value) != std::errc())
    throw Error(fmt::format("--{} {} is out of range or no number; valid: {}", flag,
                            given.empty() ? "\"\"" : given, valid));
  return value;
}

/// Whether a command that is about a lesson can be about this one.
bool takes(std::string_view command, const lessons::Lesson& lesson) {
  const bool is_on_paper = (command == "worksheet" || command == "check") && lesson.worksheet;
  return is_on_paper || (command != "worksheet" && lesson.probe);
}

void parse_seeds(const std::string& text, lessons::Options& options, std::optional<std::uint32_t>& last) {
  constexpr std::uint32_t most_seeds = 1000;
  const OptionInfo seed{.key = "seed", .flag = "seed", .value = "N", .help = ""};
  if (text.find(',') != text.npos)
    throw Error(fmt::format("--seed {}: valid: a whole number, or FIRST-LAST, as 1-3", text));
  const auto dash = text.find('-', 1);
  assign(seed, options.seed, text.substr(0, dash));
  options.typed.insert(seed.key);
  if (dash == text.npos) return;
  assign(seed, last.emplace(), text.substr(dash + 1));
  if (*last < options.seed || *last - options.seed >= most_seeds)
    throw Error(fmt::format("--seed {}: valid: FIRST-LAST, upwards, for {} seeds at most", text, most_seeds));
}

}  // namespace

std::string_view help_text(std::string_view heading) {
  return attn::text_under(heading, asset("help.txt"));
}

std::vector<std::string> entries_of(std::string_view text, std::string_view marks) {
  std::vector<std::string> entries;
  bool is_behind_empty_line = true;
  for (const auto& line : attn::split(text, '\n')) {
    const bool begins = marks.empty() ? is_behind_empty_line : marks.find(line[0]) != marks.npos;
    is_behind_empty_line = line.empty();
    if (line.empty()) continue;
    if (begins || entries.empty())
      entries.push_back(line);
    else
      entries.back() += fmt::format(" {}", attn::trimmed(line));
  }
  return entries;
}

std::string about_command(std::string_view command) {
  return help_paragraph(fmt::format("{}", fmt::join(entries_of(help_text(command)), "\n\n"))) + "\n";
}

std::string help_paragraph(std::string_view text) {
  return wrapped(text, help_width);
}

std::string_view value_name(std::string_view value) {
  return value.size() <= longest_value ? value : "NAME";
}

std::vector<std::string> choices_of(std::string_view value) {
  auto choices = split(value, '|');
  std::erase_if(choices, [](const std::string& choice) {
    return choice.empty() || std::any_of(choice.begin(), choice.end(),
                                         [](char letter) { return letter >= 'A' && letter <= 'Z'; });
  });
  return choices;
}

std::string help_examples(const std::vector<std::string_view>& examples) {
  std::string text = "Examples:\n";
  for (const auto example : examples) text += fmt::format("  attnlab {}\n", example);
  return text;
}

std::string examples_of(std::string_view command) {
  const auto examples = attn::split(help_text(fmt::format("{} examples", command)), '\n');
  return help_examples({examples.begin(), examples.end()});
}

void prepare(CLI::App& app, const std::string& footer) {
  app.get_formatter()->column_width(help_column);
  app.set_help_flag();
  app.allow_extras();
  app.footer(footer);
}

void OptionGroup::add(std::string_view flag, std::string_view value, std::string_view help,
                      std::function<void(const std::string&)> assign_text, Values values) const {
  const auto name = fmt::format("--{}", flag);
  const bool is_list = values == Values::list;
  auto* option = app_.add_option(
      flag == "output" ? "-o," + name : name,
      [name, value = std::string(value), is_list, assign_text](const CLI::results_t& texts) {
        if (texts.size() > 1 && !is_list)
          throw Error(fmt::format("{} is given {} times: {}; valid: once", name, texts.size(),
                                  fmt::join(texts, ", ")));
        if (texts.front().empty() && !is_list)
          throw Error(fmt::format("{} \"\" has no value; valid: {} {}", name, name, value));
        for (const auto& text : texts) assign_text(text);
        return true;
      },
      help_of_option(help));
  option->type_name(std::string(value))->type_size(1)->expected(1)->allow_extra_args(false)->group(heading_);
  option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  if (value_name(value) != value) option->option_text(std::string(value_name(value)));
}

std::pair<std::string, std::string> OptionGroup::texts_of(std::string_view flag) const {
  const auto name = fmt::format("--{}", flag);
  for (const auto& text : texts_) {
    const auto colon = text.find(": "), end = std::min(text.find(' '), colon);
    if (text.substr(0, end) == name)
      return {std::string(attn::trimmed(text.substr(end, colon - end))), text.substr(colon + 2)};
  }
  throw std::logic_error("[options] help.txt has no " + name);
}

void OptionGroup::add_flag(std::string_view flag, std::string_view help, std::function<void()> set) const {
  app_.add_flag_callback(fmt::format("--{}", flag), std::move(set), help_of_option(help))->group(heading_);
}

CLI::Option* add_paging_option(CLI::App& app, Paging& paging) {
  return app.add_flag_callback(
      "--no-pager", [&] { paging = Paging::never; },
      help_of_option("print at once what is longer than the terminal's screen; "
                     "default: through $PAGER, or less -FRX"));
}

std::string valid_instead_of_lesson(std::string_view name, const std::vector<std::string>& valid) {
  std::istringstream words{std::string(help_text("lessons of words"))};
  const auto wanted = attn::folded(name);
  for (std::string word, lesson; words >> word >> lesson;)
    if (word == wanted) return attn::valid_instead_of(lesson, valid);
  return attn::valid_instead_of(name, valid);
}

std::vector<const lessons::Lesson*> lessons_of(std::string_view command) {
  auto known = lessons::all_lessons();
  std::erase_if(known, [&](const lessons::Lesson* lesson) { return !takes(command, *lesson); });
  return known;
}

std::vector<std::string> names_of(const std::vector<const lessons::Lesson*>& lessons) {
  std::vector<std::string> names;
  for (const auto* lesson : lessons) names.emplace_back(lesson->name);
  return names;
}

const lessons::Lesson& lesson_asked_for(std::string_view command, int argc, char** argv) {
  const auto names = names_of(lessons_of(command));
  if (argc < 2 || argv[1][0] == '-')
    throw Error(fmt::format("{}: no lesson is given; valid: attnlab {} LESSON, one of {}", command, command,
                            fmt::join(names, ", ")));
  const auto* const lesson = lessons::lesson_named(argv[1]);
  if (lesson != nullptr && (command == "worksheet" || takes(command, *lesson))) return *lesson;
  if (lesson != nullptr && lesson->name.ends_with(".md"))
    throw Error(
        fmt::format("{} {}: the document has no probe; valid: a line \"probe: \" with options in its "
                    "front matter",
                    command, argv[1]));
  throw Error(fmt::format("{} knows no lesson \"{}\"; {}", command, argv[1],
                          valid_instead_of_lesson(argv[1], names)));
}

std::optional<PrintText> read_arguments(CLI::App& app, std::string_view command, int argc, char** argv) {
  refuse_values_of_flags(app, command, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return PrintText{app.help(), described(app)};
  } catch (const CLI::ParseError& error) {
    throw Error(fmt::format("{}: {}; valid: see attnlab {} --help", command, error.what(), command));
  }
  return std::nullopt;
}

void refuse_option(const CLI::App& app, std::string_view command, const std::string& name) {
  std::vector<std::string> names;
  for (const auto* option : app.get_options()) names.push_back(option->get_name());
  throw Error(
      fmt::format("{} has no option {}; did you mean {}?", command, name, attn::nearest(name, names)));
}

std::optional<PrintText> read_all_arguments(CLI::App& app, std::string_view command, int argc, char** argv,
                                            const std::string& heading, std::string_view valid) {
  app.set_help_flag("--help,-h", "this page")->group(heading);
  if (auto help = read_arguments(app, command, argc, argv)) return help;
  const auto extras = app.remaining();
  if (extras.empty()) return std::nullopt;
  if (extras.front().starts_with('-'))
    refuse_option(app, command, extras.front().substr(0, extras.front().find('=')));
  throw Error(fmt::format("{}: \"{}\" belongs to no option; valid: {}", command, extras.front(),
                          valid.empty() ? fmt::format("see attnlab {} --help", command) : valid));
}

void refuse_choice(std::string_view flag, std::string_view text, const std::vector<std::string>& valid) {
  throw Error(fmt::format("--{} {} is unknown; {}", flag, text, attn::valid_instead_of(text, valid)));
}

int parse_whole(std::string_view flag, const std::string& text, int smallest, int largest) {
  const auto valid = fmt::format("a whole number from {} to {}", smallest, largest);
  const int value = parse_number<int>(flag, text, valid);
  if (value < smallest || value > largest)
    throw Error(fmt::format("--{} {} is out of range; valid: {}", flag, text, valid));
  return value;
}

double parse_tolerance(std::string_view flag, const std::string& text) {
  const auto valid = "a number, 0 or more";
  const double value = parse_number<double>(flag, text, valid);
  if (!(value >= 0.0) || std::isinf(value))
    throw Error(fmt::format("--{} {} is out of range; valid: {}", flag, text, valid));
  return value;
}

double parse_positive(std::string_view flag, const std::string& text) {
  const double value = parse_tolerance(flag, text);
  if (value == 0.0) throw Error(fmt::format("--{} {} is out of range; valid: a number above 0", flag, text));
  return value;
}

void add_renames_option(const OptionGroup& group, attn::Renames& renames) {
  const auto add = [&renames](const std::string& text) {
    const auto sign = text.rfind('=');
    const auto from = text.substr(0, sign), to = sign == text.npos ? "" : text.substr(sign + 1);
    if (from.empty() || !attn::is_valid_id(to) || from.ends_with('/') != to.ends_with('/'))
      throw Error(
          fmt::format("--rename {}: it names no two ids; valid: --rename attn=weights, or for a group "
                      "--rename att/=attention/",
                      text));
    renames.emplace_back(from, to);
  };
  group.add("rename", add, Values::list);
}

void assign(const OptionInfo& info, double& field, const std::string& text) {
  field = parse_number<double>(info.flag, text, "a number");
}

void assign(const OptionInfo& info, std::uint32_t& field, const std::string& text) {
  field = parse_number<std::uint32_t>(info.flag, text, "a whole number from 0 to 4294967295");
}

void assign(const OptionInfo& info, std::size_t& field, const std::string& text) {
  if (read_number(without_spaces(text), field) == std::errc::result_out_of_range)
    throw Error(fmt::format(
        "--{} {} is too large: even 2^64 numbers need 128 EiB; valid: what fits in memory", info.flag, text));
  field = parse_number<std::size_t>(info.flag, text,
                                    fmt::format("a whole number, {} or more", lessons::smallest_count(info)));
}

void assign(const OptionInfo&, std::string& field, const std::string& text) {
  field = text;
}

void assign(const OptionInfo&, std::vector<std::string>& field, const std::string& text) {
  field.push_back(text);
}

void assign(const OptionInfo& info, std::vector<std::size_t>& field, const std::string& text) {
  for (const auto& item : split(text, ',')) assign(info, field.emplace_back(), item);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> items;
  std::istringstream stream{std::string(text)};
  for (std::string item; std::getline(stream, item, separator);) items.push_back(without_spaces(item));
  return items;
}

void add_seeds_option(CLI::App& app, const std::string& group, const std::string& help,
                      lessons::Options& options, std::optional<std::uint32_t>& last) {
  app.remove_option(app.get_option("--seed"));
  OptionGroup(app, group.c_str()).add("seed", "N|FIRST-LAST", help, [&](const std::string& text) {
    parse_seeds(text, options, last);
  });
}

void for_each_seed(std::uint32_t first, const std::optional<std::uint32_t>& last,
                   const std::function<void(std::uint32_t)>& call) {
  for (std::uint64_t seed = first; seed <= last.value_or(first); ++seed)
    call(static_cast<std::uint32_t>(seed));
}

std::string path_of_seed(const std::string& path, std::uint32_t seed,
                         const std::optional<std::uint32_t>& last) {
  if (!last) return path;
  const std::filesystem::path whole(path);
  return (whole.parent_path() / fmt::format("{}-{:0{}}{}", whole.stem().string(), seed,
                                            std::to_string(*last).size(), whole.extension().string()))
      .string();
}

}  // namespace lab
