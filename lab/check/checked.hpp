#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "attn/error.hpp"
#include "lab/check/check.hpp"
#include "lessons/lesson.hpp"
#include "trace/diagnosis/diagnosis.hpp"
#include "trace/diagnosis/replay.hpp"
#include "trace/event.hpp"
#include "trace/stored_trace.hpp"

namespace lab {

/// A dump that was computed from other inputs than the probe's.
class OtherProbe : public attn::Error {
 public:
  using attn::Error::Error;
};

/// A dump of which nothing says which probe it is of.
class UnknownProbe : public attn::Error {
 public:
  using attn::Error::Error;
};

/// How far a tensor is from another of the same shape: the largest difference, in units of the other's
/// largest number. Infinite where the shapes differ.
double distance(const attn::TensorView& tensor, const attn::TensorView& other);

/// Within this distance a float16 or a printed input is still the same; inputs of another probe are farther.
inline constexpr double distance_of_other_probe = 0.01;

/// A probe's id: eight hexadecimal digits that follow from the ids, shapes and numbers of its inputs.
std::string id_of_probe(const attn::Tensors& inputs);

/// The probe that a file's config names; nothing where it names none.
std::string named_probe(const attn::StoredTrace& file);

/// The files of a folder that may be probes, by name.
std::vector<std::filesystem::path> probes_in(const std::string& folder);

/// The probe of somebody's dump in a folder of probes: the one of the dump's file name or of the folder's
/// that it is in, or the one that its config names, or the one whose inputs it has. A `probe` that is no
/// folder is that of every dump. Throws OtherProbe where the dump's config names another, UnknownProbe where
/// it names none and no probe of the folder is its.
std::string probe_of(const std::string& probe, const attn::StoredTrace& dump, const std::string& path);

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

/// Which mistakes a lesson's output would hide on these options, and the smallest change that exposes each;
/// which inputs of one shape a program could confuse without a change of the output. The lesson is that of a
/// probe. Throws attn::Error for bad options.
std::string audit(const lessons::Lesson& lesson, const lessons::Options& options);

/// "√d_model and d_k are both 4 here. With d_model = 20 they differ.": why a wrong step may be several
/// mistakes, and the smallest change that tells them apart, as far as there is one. Empty where nothing is to
/// be said.
std::string what_tells_apart(const lessons::Plan& plan, const attn::StepVerdict& step);

}  // namespace lab
