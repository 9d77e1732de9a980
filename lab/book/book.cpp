#include "lab/book/book.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "attn/error.hpp"
#include "lab/book/assets.hpp"
#include "lab/book/controls.hpp"
#include "lab/book/texts.hpp"
#include "lab/output.hpp"
#include "lab/run_lesson.hpp"
#include "page/html/assets.hpp"
#include "page/html/base64.hpp"
#include "page/html/escape.hpp"
#include "page/svg/png.hpp"
#include "trace/data_folder.hpp"
#include "trace/file.hpp"

namespace lab {

namespace {

using attn::html::escaped;
namespace fs = std::filesystem;

/// The program for browsers, as lab/browser/build leaves it.
struct BrowserProgram {
  std::string script;         ///< attnlab.js
  std::string script_sha256;  ///< in hexadecimal digits
  std::string code;           ///< attnlab.wasm, compressed by gzip
};

std::string read_whole(const fs::path& path) {
  const attn::File file(path.string(), "--program with the folder that lab/browser/build has made");
  std::string bytes(file.size(), '\0');
  file.read_exactly(0, bytes.data(), bytes.size());
  return bytes;
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

std::string book_of(const MakeBook& make) {
  return book_with(find_program(make));
}

void run_book(const MakeBook& make) {
  require_writable(make.output);
  const auto program = find_program(make);
  write_to_file(make.output, book_with(program));
  if (!program)
    fmt::print(stderr, "attnlab: {} is a page to read; lab/browser/build makes the live one\n", make.output);
}

}  // namespace lab
