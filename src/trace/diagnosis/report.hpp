#pragma once

#include <map>
#include <string>
#include <vector>

#include "attn/text/tokens.hpp"
#include "trace/diagnosis/diagnosis.hpp"

namespace attn {

/// How much a report gives away.
enum class Hint {
  where,   ///< the step
  family,  ///< and the part of attention that the mistake belongs to
  name,    ///< and its name
  all      ///< and what to do about it, with the evidence
};

/// What a report is about.
struct ReportSettings {
  std::string lesson{};
  std::string dump{};   ///< the name of the file
  std::string probe{};  ///< of the file, or empty
  Hint hint = Hint::all;
  bool reveals = false;  ///< the numbers that would be right
  int precision = 4;
  std::size_t width = 80;
  std::map<std::string, std::vector<AxisLabels>> labels{};  ///< by step: of the axes, the batch axis first
  std::map<std::string, std::string> told_apart{};          ///< by step: why it may be several mistakes
};

/// "masks" or "softmax or masks": the parts of attention that the mistakes of a wrong step belong to.
std::string families_of(const StepVerdict& step);

/// The diagnosis as text for people.
std::string report_as_text(const Diagnosis& diagnosis, const Dump& dump, const ReportSettings& settings);

/// The diagnosis as a JSON document of the schema "attnlab.check/1".
std::string report_as_json(const Diagnosis& diagnosis, const Dump& dump, const ReportSettings& settings);

}  // namespace attn
