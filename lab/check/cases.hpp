#pragma once

#include <string>
#include <vector>

namespace lab {

/// What a check says of a step, or of a file of a folder, as a test says it.
struct Case {
  std::string name;
  std::string problem{};  ///< in a line; empty where all is right
  std::string details{};  ///< the report
};

/// The cases as a suite in JUnit's XML, which Jenkins, GitLab, GitHub's and Azure's actions show.
std::string junit_of(const std::string& suite, const std::vector<Case>& cases);

/// A line for each problem that GitHub Actions shows beside a run: "::error title=…::…".
std::string annotations_of(const std::string& suite, const std::vector<Case>& cases);

}  // namespace lab
