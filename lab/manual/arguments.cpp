#include "lab/arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "attn/error.hpp"
#include "attn/text/spelling.hpp"
#include "lab/manual/completions.hpp"

namespace lab {

namespace {

using attn::Error;

const char* const about_manual =
    "manual: a page for man, in roff, about the program or one command of it\n\n"
    "Usage: attnlab manual\n"
    "       attnlab manual COMMAND\n"
    "       attnlab manual --list    what has a page\n\n"
    "Examples:\n"
    "  attnlab manual sdpa | man -l -\n";

const char* const about_completions =
    "completions: a script that lets a shell complete what follows attnlab\n\n"
    "Commands, lessons, options and their values, mistakes, tasks and files.\n\n"
    "Usage: attnlab completions bash|zsh|fish\n"
    "       attnlab completions --for WORD...    what may stand in the place of the last word, as these "
    "ask\n\n"
    "Examples:\n"
    "  . <(attnlab completions bash)\n"
    "  attnlab completions zsh > ~/.zfunc/_attnlab\n"
    "  attnlab completions fish > ~/.config/fish/completions/attnlab.fish\n";

bool asks_for_this_page(int argc, char** argv) {
  return argc == 2 && (std::string_view(argv[1]) == "--help" || std::string_view(argv[1]) == "-h");
}

void require_one_of(const std::string& name, const std::vector<std::string>& valid, std::string_view what) {
  if (std::find(valid.begin(), valid.end(), name) != valid.end()) return;
  throw Error(fmt::format("{} \"{}\" is unknown; {}", what, name, attn::valid_instead_of(name, valid)));
}

}  // namespace

Command parse_manual(int argc, char** argv) {
  if (asks_for_this_page(argc, argv)) return PrintText{about_manual};
  if (argc > 2)
    throw Error(fmt::format("manual: \"{}\" is one too many; valid: attnlab manual COMMAND", argv[2]));
  if (argc == 1) return PrintManual{};
  if (std::string_view(argv[1]) == "--list")
    return PrintText{fmt::format("{}\n", fmt::join(manual_topics(), "\n"))};
  require_one_of(argv[1], manual_topics(), "manual: the command");
  return PrintManual{argv[1]};
}

Command parse_completions(int argc, char** argv) {
  if (asks_for_this_page(argc, argv)) return PrintText{about_completions};
  if (argc > 2 && std::string_view(argv[1]) == "--for")
    return PrintText{choices_for({argv + 2, argv + argc})};
  if (argc != 2)
    throw Error(fmt::format("completions takes one shell, but {} are given; valid: attnlab completions {}",
                            argc - 1, fmt::join(shells(), "|")));
  require_one_of(argv[1], shells(), "completions: the shell");
  return PrintText{completions(argv[1])};
}

}  // namespace lab
