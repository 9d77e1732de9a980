#include "lab/manual/manual.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "lab/manual/help_of.hpp"

namespace lab {

namespace {

/// Text for roff: no backslash, no hyphen for a minus that is typed, no request at the start of a line.
std::string escaped(std::string_view text) {
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
  return fmt::format("\\fB{}\\fR", escaped(text));
}

std::string italic(std::string_view text) {
  return fmt::format("\\fI{}\\fR", escaped(text));
}

std::string page_name(std::string_view topic) {
  return topic.empty() ? "attnlab" : fmt::format("attnlab-{}", topic);
}

/// "attnlab-sdpa(1)"
std::string reference(std::string_view topic) {
  return bold(page_name(topic)) + "(1)";
}

std::string as_printed(const std::string& lines) {
  return ".nf\n" + escaped(lines) + ".fi\n";
}

/// Paragraphs, as a help has them: blank lines part them, and indented lines are kept as they are.
std::string paragraphs(const std::string& text) {
  std::string result, kept;
  bool begins = true;
  const auto flush = [&] {
    if (!kept.empty()) result += ".PP\n" + as_printed(kept);
    kept.clear();
  };
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("  ")) {
      kept += line + "\n";
      continue;
    }
    flush();
    if (line.empty()) {
      begins = true;
      continue;
    }
    if (std::exchange(begins, false) && !result.empty()) result += ".PP\n";
    result += escaped(line) + "\n";
  }
  flush();
  return result;
}

/// "FILE" in italics, "text|json" with its words in bold.
std::string value_in_roff(const std::string& value) {
  std::vector<std::string> parts;
  std::istringstream stream(value);
  for (std::string part; std::getline(stream, part, '|');)
    parts.push_back(part.front() >= 'A' && part.front() <= 'Z' ? italic(part) : bold(part));
  return fmt::format("{}", fmt::join(parts, "|"));
}

std::string option_in_roff(const OptionHelp& option) {
  std::vector<std::string> names;
  for (const auto& name : option.names) names.push_back(name.front() == '-' ? bold(name) : italic(name));
  auto text = fmt::format(".TP\n{}", fmt::join(names, ", "));
  if (!option.value.empty() && option.names.front().front() == '-') text += " " + value_in_roff(option.value);
  return text + "\n" + escaped(option.text) + "\n";
}

std::string options_in_roff(const CommandHelp& help) {
  std::vector<std::string> groups;
  for (const auto& option : help.options)
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end()) groups.push_back(option.group);
  std::string text = ".SH OPTIONS\n";
  for (const auto& group : groups) {
    if (!group.empty()) text += fmt::format(".SS {}\n", escaped(group));
    for (const auto& option : help.options)
      if (option.group == group) text += option_in_roff(option);
  }
  return text;
}

std::string examples_in_roff(const std::string& examples) {
  return ".SH EXAMPLES\n" + as_printed(examples.substr(examples.find('\n') + 1));
}

const char* const exit_status =
    ".SH EXIT STATUS\n"
    ".TP\n.B 0\nall that is claimed holds\n"
    ".TP\n.B 1\nsomething does not\n"
    ".TP\n.B 2\nbad usage or bad input\n";

std::string head(std::string_view topic, std::string_view title, const std::string& synopsis) {
  auto name = page_name(topic);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char letter) { return letter >= 'a' && letter <= 'z' ? letter - 'a' + 'A' : letter; });
  return fmt::format(".TH {} 1 \"\" \"attnlab {}\" \"Attention Lab\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{}",
                     name, ATTNLAB_VERSION, escaped(page_name(topic)), escaped(title), synopsis);
}

std::string synopsis_of(std::string_view topic, std::string_view arguments) {
  return fmt::format("{} {}\n", bold(fmt::format("attnlab {}", topic)), italic(arguments));
}

std::string page_of_program() {
  std::string synopsis;
  for (const auto& line : command_lines()) synopsis += ".br\n" + synopsis_of(line.name, line.arguments);
  std::string text = head("", "see, check and debug attention, number by number",
                          bold("attnlab") + " " + italic("LESSON [options]") + "\n" + synopsis);
  text += ".SH DESCRIPTION\n";
  text += escaped(
      "A lesson runs attention on your own sentences and dimensions and prints every intermediate tensor "
      "with\n"
      "its name, formula, axes and shape, with one entry of it worked out.\n");
  text += ".SS Lessons, in the order in which to learn them\n";
  for (const auto* lesson : lessons::all_lessons())
    text += fmt::format(".TP\n{}\n{}\n", reference(lesson->name), escaped(lesson->title));
  text += ".SS Other commands\n";
  const auto topics = manual_topics();
  for (const auto& line : command_lines()) {
    const bool has_page = std::find(topics.begin(), topics.end(), line.name) != topics.end();
    text += fmt::format(".TP\n{}\n{}\n", has_page ? reference(line.name) : bold(line.name),
                        escaped(line.summary));
  }
  return text + exit_status +
         ".SH ENVIRONMENT\n"
         ".TP\n.B ATTNLAB_DATA\na folder with models, corpora, lessons or mistakes that come before those of "
         "the program\n"
         ".TP\n.B ATTNLAB_PROGRESS\n1 shows progress on standard error where it is no terminal, 0 shows "
         "none\n"
         ".TP\n.B NO_COLOR\nno colours\n"
         ".TP\n.B PAGER\nwhat a page longer than the screen goes through\n";
}

std::string arguments_of(std::string_view command) {
  for (const auto& line : command_lines())
    if (line.name == command) return std::string(line.arguments);
  return "[options]";
}

std::string page_of(const std::string& topic) {
  const bool on_lessons = is_on_lessons(topic);
  const auto help = on_lessons ? help_of_command_on_lessons(topic) : help_of({topic});
  auto text = head(topic, title_of(help), synopsis_of(topic, arguments_of(topic)));
  text += ".SH DESCRIPTION\n" + paragraphs(body_of(help)) + options_in_roff(help);
  if (on_lessons) text += ".PP\nIt also takes what the lesson's own page lists under \"What is computed\".\n";
  return text + examples_in_roff(help.examples) + exit_status + ".SH SEE ALSO\n" + reference("") + "\n";
}

}  // namespace

const std::vector<CommandLine>& command_lines() {
  static const std::vector<CommandLine> lines = {
      {"list", "", "list the lessons, one per line"},
      {"tour", "[options]", "all lessons in order"},
      {"book", "--output FILE", "all lessons as one page of HTML, live"},
      {"run", "FILE.md [options]", "a lesson of your own, a document"},
      {"lesson", "new|check NAME", "write a lesson of your own, check it"},
      {"diff", "A B [options]", "what differs between two traces"},
      {"check", "LESSON DUMP", "the first wrong step of your own program"},
      {"probe", "LESSON", "inputs that expose mistakes, for check"},
      {"break", "LESSON MISTAKE", "a lesson with a classic mistake in it"},
      {"worksheet", "LESSON", "a lesson on paper, with blanks and answers"},
      {"bench", "[options]", "time the attention kernels"},
      {"train", "TASK", "train a small model that the lessons use"},
      {"manual", "[COMMAND]", "a page for man: attnlab manual | man -l -"},
      {"completions", "SHELL", "lets bash, zsh or fish complete a line"},
  };
  return lines;
}

std::vector<std::string> manual_topics() {
  std::vector<std::string> topics;
  for (const auto* lesson : lessons::all_lessons()) topics.emplace_back(lesson->name);
  for (const auto& line : command_lines())
    if (line.name != "list" && line.name != "manual" && line.name != "completions")
      topics.emplace_back(line.name);
  return topics;
}

std::string manual_page(const PrintManual& manual) {
  return manual.topic.empty() ? page_of_program() : page_of(manual.topic);
}

}  // namespace lab
