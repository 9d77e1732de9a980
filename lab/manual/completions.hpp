#pragma once

#include <map>
#include <string>
#include <vector>

namespace lab {

/// What may stand after an option, or as an argument: some words, or a file, or anything.
struct Choices {
  std::vector<std::string> words{};
  bool files = false;
  bool folders = false;
  bool takes_value = true;  ///< false of an option that takes none
};

/// An option of a command, or of those lessons that have one of that name.
struct CompletedOption {
  std::vector<std::string> names;  ///< "-o", "--output"
  std::string summary;
  Choices choices;
};

/// The options of `sdpa`, or of `check` whatever the lesson.
struct CompletedCommand {
  std::string name;
  std::string summary;
  std::vector<CompletedOption> own{};
  std::vector<CompletedOption> of_lesson{};  ///< that `check`, `probe` and `break` take for this lesson, too
};

/// All that the scripts for the shells know.
struct CompletedProgram {
  std::vector<CompletedCommand> commands{};
  std::vector<std::string> lessons{};
  std::vector<std::string> lessons_with_probe{}, lessons_with_worksheet{};
  std::vector<std::string> lessons_to_check{};                 ///< those with either
  std::map<std::string, std::vector<std::string>> mistakes{};  ///< of each lesson with a probe
  std::vector<std::string> tasks{};
  std::vector<std::string> topics{};
};

CompletedProgram completed_program();

std::string bash_completions(const CompletedProgram& program);
std::string zsh_completions(const CompletedProgram& program);
std::string fish_completions(const CompletedProgram& program);

}  // namespace lab
