#include "lab/arguments.hpp"

#include <CLI/CLI.hpp>
#include <filesystem>

#include "attn/error.hpp"
#include "lab/command_line.hpp"

namespace lab {

Command parse_book(int argc, char** argv) {
  MakeBook make;
  CLI::App app(
      "book: every lesson as one page of HTML that runs the lab in the browser\n\n" +
          help_paragraph("The page needs no other file and no network. Where the program for browsers is not "
                         "built (lab/browser/build), its numbers stay as they are printed.") +
          "\n",
      "attnlab book");
  prepare(app, help_examples({"book --output book.html"}));
  add_text_option(app, "output", "FILE", Values::one, help_of_option("where to write the page"),
                  [&](const std::string& text) { make.output = text; });
  add_text_option(
      app, "program", "FOLDER", Values::one,
      help_of_option("the folder that lab/browser/build has made; default: beside the lab's data"),
      [&](const std::string& text) { make.program = text; });
  app.set_help_flag("--help,-h", "this page");
  if (auto help = read_arguments(app, "book", argc, argv)) return *help;
  refuse_extras(app, "book");
  if (make.output.empty()) throw attn::Error("book has no --output; valid: attnlab book --output FILE.html");
  if (std::filesystem::path(make.output).extension() != ".html")
    throw attn::Error("--output " + make.output + " is no page of HTML; valid: a name that ends in .html");
  return make;
}

}  // namespace lab
