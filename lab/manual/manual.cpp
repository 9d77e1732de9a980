#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "attn/error.hpp"
#include "attn/text/spelling.hpp"
#include "attn/text/trim.hpp"
#include "lab/command_line.hpp"
#include "lab/output.hpp"

namespace lab {

namespace {

using Words = std::vector<std::string>;

/// What `attnlab WORDS… --help` says.
CommandHelp help_of(Words words) {
  words.insert(words.begin(), "attnlab");
  words.emplace_back("--help");
  const auto command = parse(words);
  const auto* print = std::get_if<PrintText>(&command);
  if (print == nullptr || !print->help) throw std::logic_error("[manual] " + words[1] + " has no help");
  return *print->help;
}

bool is_on_lessons(std::string_view command) {
  return command == "check" || command == "probe" || command == "break" || command == "worksheet";
}

/// Of a command that is about a lesson without the lesson's own options.
CommandHelp help_of_command(const std::string& command) {
  if (!is_on_lessons(command)) return help_of({command});
  auto help = help_of({command, names_of(lessons_of("probe")).front()});
  std::erase_if(help.options, [](const OptionHelp& option) { return option.group == what_is_computed; });
  return help;
}

/// Text for roff: no backslash, no hyphen for a minus that is typed, no request at the start of a line.
std::string in_roff(std::string_view text) {
  std::string result;
  for (const char character : text) {
    const bool begins_line = result.empty() || result.back() == '\n';
    if (begins_line && (character == '.' || character == '\'')) result += "\\&";
    if (character == '\\')
      result += "\\e";
    else if (character == '-')
      result += "\\-";
    else
      result += character;
  }
  return result;
}

std::string bold(std::string_view text) {
  return fmt::format("\\fB{}\\fR", in_roff(text));
}

std::string italic(std::string_view text) {
  return fmt::format("\\fI{}\\fR", in_roff(text));
}

std::string page_name(std::string_view topic) {
  return topic.empty() ? "attnlab" : fmt::format("attnlab-{}", topic);
}

/// "attnlab-sdpa(1)"
std::string reference(std::string_view topic) {
  return bold(page_name(topic)) + "(1)";
}

/// Paragraphs, as a help has them: blank lines part them, and indented lines are kept as they are.
std::string paragraphs(const std::string& text) {
  std::string result;
  bool begins = true, is_kept = false;
  for (const auto& line : attn::split(text, '\n')) {
    const bool keeps = line.starts_with("  ");
    if (keeps != std::exchange(is_kept, keeps)) result += keeps ? ".PP\n.nf\n" : ".fi\n";
    if (!keeps && !line.empty() && std::exchange(begins, false) && !result.empty()) result += ".PP\n";
    if (!line.empty()) result += in_roff(line) + "\n";
    begins = begins || line.empty();
  }
  return result + (is_kept ? ".fi\n" : "");
}

/// "FILE" in italics, "text|json" with its words in bold.
std::string value_in_roff(const std::string& value) {
  std::vector<std::string> parts;
  for (const auto& part : attn::split(value, '|'))
    parts.push_back(part.front() >= 'A' && part.front() <= 'Z' ? italic(part) : bold(part));
  return fmt::format("{}", fmt::join(parts, "|"));
}

std::string option_in_roff(const OptionHelp& option) {
  std::vector<std::string> names;
  for (const auto& name : option.names) names.push_back(name.front() == '-' ? bold(name) : italic(name));
  auto text = fmt::format(".TP\n{}", fmt::join(names, ", "));
  if (!option.value.empty() && option.names.front().front() == '-') text += " " + value_in_roff(option.value);
  return text + "\n" + in_roff(option.text) + "\n";
}

std::string options_in_roff(const CommandHelp& help) {
  std::vector<std::string> groups;
  for (const auto& option : help.options)
    if (!attn::contains(groups, option.group)) groups.push_back(option.group);
  std::string text = ".SH OPTIONS\n";
  for (const auto& group : groups) {
    if (!group.empty()) text += fmt::format(".SS {}\n", in_roff(group));
    for (const auto& option : help.options)
      if (option.group == group) text += option_in_roff(option);
  }
  return text;
}

std::string examples_in_roff(const std::string& examples) {
  return fmt::format(".SH EXAMPLES\n.nf\n{}.fi\n", in_roff(examples.substr(examples.find('\n') + 1)));
}

std::string in_help(std::string_view heading) {
  return std::string(help_text(heading)) + '\n';
}

std::string head(std::string_view topic, std::string_view title, const std::string& synopsis) {
  auto name = page_name(topic);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char letter) { return letter >= 'a' && letter <= 'z' ? letter - 'a' + 'A' : letter; });
  return fmt::format(".TH {} 1 \"\" \"attnlab {}\" \"Attention Lab\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{}",
                     name, ATTNLAB_VERSION, in_roff(page_name(topic)), in_roff(title), synopsis);
}

std::string synopsis_of(std::string_view topic, std::string_view arguments) {
  return fmt::format("{} {}\n", bold(fmt::format("attnlab {}", topic)), italic(arguments));
}

/// The commands and lessons that have a page of their own.
Words manual_topics() {
  auto topics = names_of(lessons::all_lessons());
  for (const auto& line : command_lines())
    if (line.name != "list" && line.name != "manual" && line.name != "completions")
      topics.emplace_back(line.name);
  return topics;
}

std::string page_of_program() {
  std::string synopsis;
  for (const auto& line : command_lines()) synopsis += ".br\n" + synopsis_of(line.name, line.arguments);
  const auto text = head("", "see, check and debug attention, number by number",
                         bold("attnlab") + " " + italic("LESSON [options]") + "\n" + synopsis);
  const auto entry = [](const std::string& name, std::string_view words) {
    return fmt::format(".TP\n{}\n{}\n", name, in_roff(words));
  };
  std::string of_lessons, of_commands;
  for (const auto* lesson : lessons::all_lessons())
    of_lessons += entry(reference(lesson->name), lesson->title);
  const auto topics = manual_topics();
  for (const auto& line : command_lines()) {
    const bool has_page = attn::contains(topics, std::string(line.name));
    of_commands += entry(has_page ? reference(line.name) : bold(line.name), line.summary);
  }
  return text + fmt::format(fmt::runtime(help_text("program in roff")), of_lessons, of_commands) +
         in_help("exit status in roff") + in_help("environment in roff");
}

std::string arguments_of(std::string_view command) {
  for (const auto& line : command_lines())
    if (line.name == command) return std::string(line.arguments);
  return "[options]";
}

/// The description of a help is "check: the first wrong step of …", then an empty line and paragraphs.
std::string page_of(const std::string& topic) {
  const auto help = help_of_command(topic);
  const auto& about = help.description;
  const auto begin = about.find(": ") + 2, end = about.find("\n\n");
  auto text =
      head(topic, about.substr(begin, about.find('\n') - begin), synopsis_of(topic, arguments_of(topic)));
  text += ".SH DESCRIPTION\n" + paragraphs(end == about.npos ? "" : about.substr(end + 2)) +
          options_in_roff(help);
  if (is_on_lessons(topic))
    text += ".PP\nIt also takes what the lesson's own page lists under \"What is computed\".\n";
  return text + examples_in_roff(help.examples) + in_help("exit status in roff") + ".SH SEE ALSO\n" +
         reference("") + "\n";
}

const Words shells = {"bash", "zsh", "fish"};

Words commands() {
  Words lines;
  for (const auto* lesson : lessons::all_lessons())
    lines.push_back(fmt::format("{}\t{}", lesson->name, lesson->title));
  for (const auto& line : command_lines()) lines.push_back(fmt::format("{}\t{}", line.name, line.summary));
  lines.insert(lines.end(), {"--help\twhat there is", "--version\tthe version"});
  return lines;
}

/// What may be the argument at that place after `attnlab`, which the command has as 1.
Words arguments_at(std::size_t place, const Words& words) {
  const auto& command = words[0];
  if (command == "diff" || (command == "check" && place == 3)) return {"FILE"};
  if (place == 3 && command == "break") {
    for (const auto* lesson : lessons_of(command))
      if (lesson->name == words[1]) return mistakes_of_probe(*lesson);
    return words[1] == "--list" ? names_of(lessons_of(command)) : Words();
  }
  if (place != 2) return {};
  if (is_on_lessons(command)) return names_of(lessons_of(command));
  if (command == "manual") return manual_topics();
  if (command == "completions") return shells;
  if (command == "--help") return {"numbers"};
  return command == "train" ? task_names() : Words();
}

std::vector<OptionHelp> options_of(const Words& words) try {
  const auto& command = words[0];
  const bool has_lesson = words.size() > 2 && !words[1].starts_with('-');
  if (is_on_lessons(command) && has_lesson) return help_of({command, words[1]}).options;
  auto options = help_of_command(command).options;
  if (command == "break") options.push_back({{"--list"}, "", "name the mistakes", ""});
  return options;
} catch (const std::exception&) {  // of a command without options, or none at all
  return {{{"--help", "-h"}, "", "this page", ""}};
}

/// What "strided|fixed|random|FILE" lets follow the option.
Words words_of_values(const OptionHelp& option, const Words& words) {
  auto values = choices_of(option.value);
  for (const auto& part : split(option.value, '|'))
    if (part == "FILE" || part == "DIR") values.push_back(part);
  if (option.value == "LESSON") values = names_of(lessons::all_lessons());
  for (const auto* lesson : lessons::all_lessons())
    if (option.names.front() == "--model" && lesson->trained &&
        attn::contains(words, std::string(lesson->name)))
      values.emplace_back(lesson->trained->default_model());
  return values;
}

/// The text up to its first ; or : on one line.
std::string summary_of(const std::string& text) {
  auto summary = text.substr(0, text.find_first_of(";:"));
  std::replace(summary.begin(), summary.end(), '\n', ' ');
  return summary;
}

Words choices_after(const Words& words) {
  if (words.size() == 1) return commands();
  const auto options = options_of(words);
  const auto& before = words[words.size() - 2];
  for (const auto& option : options)
    if (!option.value.empty() && attn::contains(option.names, before)) return words_of_values(option, words);
  if (!words.back().starts_with('-'))
    if (auto arguments = arguments_at(words.size(), words); !arguments.empty()) return arguments;
  Words lines;
  for (const auto& option : options)
    for (const auto& name : option.names)
      if (name.starts_with('-')) lines.push_back(fmt::format("{}\t{}", name, summary_of(option.text)));
  return lines;
}

/// What may stand in the place of the last of the words after `attnlab`, which may be empty or only begun: a
/// line for each, with a tab and what it is behind it where that is known. FILE and DIR stand for any file or
/// folder.
std::string choices_for(const Words& words) {
  auto typed = words;
  if (const auto equals = typed.back().find('=');
      typed.back().starts_with("--") && equals != std::string::npos) {
    typed.push_back(typed.back().substr(equals + 1));
    typed[typed.size() - 2].resize(equals);
  }
  std::string text;
  for (const auto& line : choices_after(typed))
    if (line == "FILE" || line == "DIR" || line.starts_with(typed.back())) text += line + '\n';
  return text;
}

void require_one_of(const std::string& name, const std::vector<std::string>& valid, std::string_view what) {
  if (attn::contains(valid, name)) return;
  throw attn::Error(fmt::format("{} \"{}\" is unknown; {}", what, name, attn::valid_instead_of(name, valid)));
}

}  // namespace

Command parse_manual(int argc, char** argv) {
  if (argc == 2 && is_help(argv[1])) return PrintText{in_help("manual")};
  if (argc > 2)
    throw attn::Error(fmt::format("manual: \"{}\" is one too many; valid: attnlab manual COMMAND", argv[2]));
  if (argc == 1) return PrintText{page_of_program()};
  if (std::string_view(argv[1]) == "--list")
    return PrintText{fmt::format("{}\n", fmt::join(manual_topics(), "\n"))};
  require_one_of(argv[1], manual_topics(), "manual: the command");
  return PrintText{page_of(argv[1])};
}

Command parse_completions(int argc, char** argv) {
  if (argc == 2 && is_help(argv[1])) return PrintText{in_help("completions")};
  if (argc > 2 && std::string_view(argv[1]) == "--for")
    return PrintText{choices_for({argv + 2, argv + argc})};
  if (argc != 2)
    throw attn::Error(
        fmt::format("completions takes one shell, but {} are given; valid: attnlab completions {}", argc - 1,
                    fmt::join(shells, "|")));
  require_one_of(argv[1], shells, "completions: the shell");
  return PrintText{std::string(asset(fmt::format("completions.{}", argv[1])))};
}

}  // namespace lab
