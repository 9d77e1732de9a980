#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lab/check/check.hpp"
#include "trace/diagnosis/diagnosis.hpp"
#include "trace/event.hpp"

namespace lab {

/// A checked file.
struct Checked {
  std::shared_ptr<const lessons::Lesson> lesson;  ///< where it is no lesson as the table has it
  lessons::Plan plan;
  attn::Dump dump;
  attn::Diagnosis diagnosis;
  bool has_words = true;         ///< whether somebody says which words the tensors are of
  std::string student{};         ///< the name on a worksheet
  std::string probe{};           ///< the file that its inputs come from, without its folder
  bool shows_its_probe = false;  ///< whether it has inputs of the probe, or its id
};

/// Whether the folder is a dump itself: a CSV file stands in it, or in a folder that is a group of tensors.
bool is_csv_dump(const std::filesystem::path& folder, const lessons::Lesson& lesson);

/// A filled-in worksheet, a file of tensors, or a folder with a CSV file for each. Throws attn::Error,
/// OtherProbe, UnknownProbe, and BlankSheet for a sheet with nothing on it.
Checked check_file(const CheckDump& check, const std::string& path);

/// What is said of the file, as JSON or as text.
std::string report(const CheckDump& check, const Checked& checked, const std::filesystem::path& path,
                   CheckFormat format);

/// The lesson on some inputs, and what was assumed about them.
struct Inputs {
  lessons::Plan plan;
  std::vector<std::string> assumptions{};
};

/// The lesson on the inputs of the probe or, without one, on those that the file itself has. Throws
/// attn::Error.
Inputs inputs_of(const CheckDump& check, const attn::StoredTrace& file, const std::string& path);

/// The names along the axes of every tensor of a run, the batch axis included, by id.
std::map<std::string, std::vector<attn::AxisLabels>> labels_of(const lessons::Plan& plan);

}  // namespace lab
