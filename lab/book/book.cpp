#include "lab/book/book.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "attn/error.hpp"
#include "attn/text/trim.hpp"
#include "lab/book/assets.hpp"
#include "lab/option_values.hpp"
#include "lab/output.hpp"
#include "lab/run_lesson.hpp"
#include "lessons/lesson.hpp"
#include "page/html/assets.hpp"
#include "page/html/base64.hpp"
#include "page/html/escape.hpp"
#include "page/svg/png.hpp"
#include "trace/file.hpp"
#include "trace/wording.hpp"

namespace lab {

namespace {

using attn::html::escaped;
using nlohmann::ordered_json;
namespace fs = std::filesystem;

/// The program for browsers, as lab/browser/build leaves it.
struct BrowserProgram {
  std::string script;         ///< attnlab.js
  std::string script_sha256;  ///< in hexadecimal digits
  std::string code;           ///< attnlab.wasm, compressed by gzip
};

std::string read_whole(const fs::path& path) {
  return attn::File(path.string(), "--program with the folder that lab/browser/build has made").bytes();
}

BrowserProgram read_program(const fs::path& folder) {
  return {.script = read_whole(folder / "attnlab.js"),
          .script_sha256 = read_whole(folder / "attnlab.js.sha256").substr(0, 64),
          .code = read_whole(folder / "attnlab.wasm.gz")};
}

/// That of --program, or the one beside the lab's data; none where it is not built.
std::optional<BrowserProgram> find_program(const MakeBook& make) {
  if (make.program) return read_program(*make.program);
  try {
    return read_program(attn::data_folder("browser"));
  } catch (const attn::Error&) {
    return std::nullopt;
  }
}

std::string content_policy(const std::optional<BrowserProgram>& program) {
  using attn::html::base64_of_hex;
  auto scripts = fmt::format("'sha256-{}'", base64_of_hex(book::script_sha256()));
  if (program)
    scripts += fmt::format(" 'sha256-{}' 'wasm-unsafe-eval'", base64_of_hex(program->script_sha256));
  return fmt::format(
      "default-src 'none'; script-src {}; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
      scripts, base64_of_hex(book::style_sheet_sha256()));
}

/// The words of "strided|fixed|random|FILE" that may be typed as they are.
std::vector<std::string> choices_of(std::string_view value) {
  std::vector<std::string> choices;
  for (const auto& choice : split(std::string(value), '|')) {
    const bool is_place_holder =
        std::any_of(choice.begin(), choice.end(), [](char letter) { return letter >= 'A' && letter <= 'Z'; });
    if (!is_place_holder) choices.push_back(choice);
  }
  return choices;
}

template <class Field>
const char* kind_of(const lessons::OptionInfo& info, const Field&) {
  if constexpr (std::is_same_v<Field, bool>) return "switch";
  if constexpr (std::is_same_v<Field, std::uint32_t>) return "seed";
  if constexpr (std::is_same_v<Field, double> || std::is_same_v<Field, std::optional<double>>)
    return "number";
  if constexpr (std::is_same_v<Field, std::optional<std::size_t>>) return "count";
  if constexpr (std::is_same_v<Field, std::vector<std::string>>) return "sentences";
  if constexpr (std::is_same_v<Field, std::vector<std::size_t>>) return "list";
  return choices_of(info.value).empty() ? "text" : "choice";
}

ordered_json value_of(const std::vector<std::string>& texts) {
  return texts;
}
ordered_json value_of(bool flag) {
  return flag;
}
template <class Field>
ordered_json value_of(const Field& field) {
  return lab::text_of(field);
}

/// The options of a lesson that a reader changes in the book, as JSON: for each its flag, what it means, its
/// kind ("sentences", "text", "switch", "choice", "count", "number", "list"), its value by default and, where
/// it has them, its choices or its smallest value.
std::string controls_of(const lessons::Lesson& lesson) {
  const auto plan = lessons::make_plan(lesson, lesson.defaults);
  auto controls = ordered_json::array();
  lessons::visit_options(plan.options, [&](const lessons::OptionInfo& info, const auto& field) {
    if (!lesson.uses(info.key) || info.value == "FILE") return;
    ordered_json control = {
        {"flag", info.flag}, {"help", info.help}, {"kind", kind_of(info, field)}, {"value", value_of(field)}};
    if (control["kind"] == "choice") control["choices"] = choices_of(info.value);
    if (control["kind"] == "count") control["smallest"] = lessons::smallest_count(info);
    controls.push_back(std::move(control));
  });
  return controls.dump();
}

/// A question about a lesson, with its answer and the command that shows it, which may be missing.
struct Exercise {
  std::string lesson, question, answer, command;
};

/// A term, what it means, and the lessons that teach it.
struct Term {
  std::string name, meaning;
  std::vector<std::string> lessons;
};

/// The lines, those that go on with the one before joined to it.
std::vector<std::string> entries_of(std::string_view text) {
  std::vector<std::string> entries;
  for (const auto& line : attn::lines_of(std::string(text))) {
    if (line.empty()) continue;
    const bool begins = std::string_view("[?!$").find(line[0]) != std::string_view::npos;
    if (begins || entries.empty())
      entries.push_back(line);
    else
      entries.back() += fmt::format(" {}", attn::trimmed(line));
  }
  return entries;
}

/// Of a text in which "[sdpa]" begins a lesson, "?" a question, "!" its answer, "$" a command, and every
/// other line goes on with the one before.
std::vector<Exercise> exercises_of(std::string_view text) {
  std::vector<Exercise> exercises;
  std::string lesson;
  for (const auto& entry : entries_of(text)) {
    const std::string words(attn::trimmed(std::string_view(entry).substr(1)));
    if (entry[0] == '[')
      lesson = words.substr(0, words.find(']'));
    else if (entry[0] == '?')
      exercises.push_back({lesson, words, "", ""});
    else if (!exercises.empty())
      (entry[0] == '!' ? exercises.back().answer : exercises.back().command) = words;
  }
  return exercises;
}

/// Of a text with a paragraph for each term: "query: what it means -> sdpa, lookup".
std::vector<Term> terms_of(std::string_view text) {
  std::vector<Term> terms;
  bool is_new = true;
  std::vector<std::string> paragraphs;
  for (const auto& line : attn::lines_of(std::string(text))) {
    if (line.empty())
      is_new = true;
    else if (std::exchange(is_new, false))
      paragraphs.push_back(line);
    else
      paragraphs.back() += fmt::format(" {}", attn::trimmed(line));
  }
  for (const auto& paragraph : paragraphs) {
    const auto colon = paragraph.find(": ");
    const auto arrow = paragraph.rfind("-> ");
    Term term{.name = paragraph.substr(0, colon),
              .meaning = paragraph.substr(colon + 2, arrow == paragraph.npos ? arrow : arrow - colon - 3),
              .lessons = {}};
    if (arrow != paragraph.npos) term.lessons = split(paragraph.substr(arrow + 3), ',');
    terms.push_back(std::move(term));
  }
  return terms;
}

std::string page_of(const lessons::Lesson& lesson) {
  return run_lesson_body({.lesson = &lesson, .options = lesson.defaults, .presentation = {}});
}

std::string contents() {
  std::string items;
  for (const auto* lesson : lessons::all_lessons())
    items += fmt::format("<li><a href=\"#/{0}\">{0}</a> <span>{1}</span></li>\n", escaped(lesson->name),
                         escaped(lesson->title));
  return fmt::format(
      "<nav id=\"contents\" aria-label=\"Lessons\">\n<details open=\"open\"><summary>Attention "
      "Lab</summary>\n"
      "<ol>\n{}</ol>\n<p><a href=\"#/glossary\">Glossary</a></p>\n</details>\n</nav>\n",
      items);
}

std::string exercise_list(const std::string& lesson, const std::vector<Exercise>& exercises) {
  std::string items;
  for (const auto& exercise : exercises) {
    if (exercise.lesson != lesson) continue;
    const auto command = exercise.command.empty()
                             ? ""
                             : fmt::format("<ul class=\"commands\"><li><code>{}</code></li></ul>\n",
                                           escaped(exercise.command));
    items +=
        fmt::format("<li><p>{}</p>\n<details><summary>The answer</summary>\n<p>{}</p>\n{}</details></li>\n",
                    escaped(exercise.question), escaped(exercise.answer), command);
  }
  return items.empty()
             ? ""
             : fmt::format(
                   "<section class=\"exercises\" id=\"exercises\">\n<h2>Exercises</h2>\n<ol>\n{}</ol>\n"
                   "</section>\n",
                   items);
}

std::string glossary() {
  std::string items;
  for (const auto& term : terms_of(book::glossary())) {
    std::string links;
    for (const auto& lesson : term.lessons)
      links += fmt::format(" <a href=\"#/{0}\">{0}</a>", escaped(lesson));
    items += fmt::format("<dt>{}</dt>\n<dd>{}{}</dd>\n", escaped(term.name), escaped(term.meaning), links);
  }
  return fmt::format(
      "<header>\n<p class=\"series\">Attention Lab</p>\n<h1>glossary</h1>\n"
      "<p class=\"subtitle\">The words of the pages, and the lessons that teach them</p>\n</header>\n"
      "<main>\n<dl class=\"glossary\">\n{}</dl>\n</main>\n",
      items);
}

std::string in_template(std::string_view name, const std::string& markup) {
  return fmt::format("<template id=\"page-{}\">\n{}</template>\n", escaped(name), markup);
}

/// JSON as it may stand in a script element.
std::string in_script(const std::string& json) {
  std::string text;
  for (const char character : json)
    text += character == '<' || character == '>' || character == '&'
                ? fmt::format("\\u{:04x}", static_cast<unsigned>(character))
                : std::string(1, character);
  return text;
}

std::string all_controls() {
  std::vector<std::string> members;
  for (const auto* lesson : lessons::all_lessons())
    members.push_back(fmt::format("\"{}\":{}", lesson->name, controls_of(*lesson)));
  return in_script(fmt::format("{{{}}}", fmt::join(members, ",")));
}

std::string book_with(const std::optional<BrowserProgram>& program) {
  const auto exercises = exercises_of(book::exercises());
  const auto& all = lessons::all_lessons();
  std::string templates;
  for (const auto* lesson : all)
    templates +=
        in_template(lesson->name, page_of(*lesson) + exercise_list(std::string(lesson->name), exercises));
  templates += in_template("glossary", glossary());
  std::string code;
  if (program) {
    templates = fmt::format("<script type=\"text/plain\" id=\"pages\">{}</script>\n",
                            attn::html::base64(attn::svg::packed(templates, 9)));
    code = fmt::format("<script type=\"text/plain\" id=\"program\">{}</script>\n<script>{}</script>\n",
                       attn::html::base64(program->code), program->script);
  }
  const auto remark =
      program ? ""
              : "<p class=\"sources\">This copy is a page to read: its numbers stay as they are printed. "
                "<code>lab/browser/build</code> makes the live one.</p>\n";
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta name=\"color-scheme\" content=\"light dark\"/>\n<meta name=\"generator\" content=\"attnlab\"/>\n"
      "<title>Attention Lab</title>\n<style>{}</style>\n</head>\n<body class=\"book\" data-lesson=\"{}\">\n{}"
      "<noscript><p>The book needs JavaScript. Without it, attnlab LESSON --format html makes a page of each "
      "lesson."
      "</p></noscript>\n{}"
      "<form id=\"controls\" aria-label=\"What is computed\" hidden=\"hidden\"></form>\n"
      "<div id=\"lesson\">\n{}{}</div>\n<nav id=\"turn\" aria-label=\"Next and previous lesson\"></nav>\n"
      "<script type=\"application/json\" "
      "id=\"all-controls\">{}</script>\n<script>{}</script>\n{}{}</body>\n</html>\n",
      content_policy(program), book::style_sheet(), escaped(all.front()->name), contents(), remark,
      page_of(*all.front()), exercise_list(std::string(all.front()->name), exercises), all_controls(),
      book::script(), templates, code);
}

}  // namespace

void run_book(const MakeBook& make) {
  require_writable(make.output);
  const auto program = find_program(make);
  write_to_file(make.output, book_with(program));
  if (!program)
    fmt::print(stderr, "attnlab: {} is a page to read; lab/browser/build makes the live one\n", make.output);
}

}  // namespace lab
