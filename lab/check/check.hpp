#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "attn/error.hpp"
#include "lab/output.hpp"
#include "lessons/lesson.hpp"
#include "trace/diagnosis/diagnosis.hpp"
#include "trace/diagnosis/dump.hpp"
#include "trace/diagnosis/replay.hpp"
#include "trace/event.hpp"
#include "trace/stored_trace.hpp"

namespace lab {

enum class CheckFormat { text, json, csv };

/// What is to be checked, and how it is told.
struct CheckDump {
  const lessons::Lesson* lesson;
  lessons::Options options{};           ///< where no file tells them
  std::optional<std::string> dump{};    ///< a file of tensors
  std::optional<std::string> folder{};  ///< of such files
  std::optional<std::string> probe{};   ///< the file that the inputs come from, or a folder of such files
  attn::Hint hint = attn::Hint::all;
  bool reveals = false;
  std::optional<CheckFormat> format{};  ///< where not given it follows the ending of `output`
  std::optional<std::string> output{};
  std::optional<std::string> junit{};        ///< a file for the same as cases of a test
  std::optional<std::string> reports{};      ///< a folder for a report of each file of `folder`
  attn::Renames renames{};                   ///< names of the dump that count as others
  std::set<std::string> conventions{};       ///< ids of --like
  std::optional<attn::FusedLayout> fused{};  ///< of --like
  Paging paging = Paging::automatic;
};

/// Checks and prints, or writes the report to the file. Returns the exit status: 0 where all is right but for
/// rounding and conventions, 1 where something is wrong, 2 where no file of a folder could be checked. Throws
/// attn::Error for a file that cannot be read or has another probe, and inputs that contradict each other.
int run_check(const CheckDump& check);

/// Inputs for somebody else's implementation of a lesson.
struct MakeProbe {
  std::shared_ptr<const lessons::Lesson> lesson;  ///< whose defaults are those of the probe
  lessons::Options options{};
  std::optional<std::string> output{};
  std::optional<std::uint32_t>
      last_seed{};                     ///< of several probes, one for each seed from that of `options` on
  std::optional<std::string> names{};  ///< a file with a line for each probe, whose name that is
  bool is_audit = false;               ///< asks which mistakes the dimensions hide
  Paging paging = Paging::automatic;
};

/// Writes the inputs to the file and prints the task sheet, or tells what the dimensions hide. Of several
/// seeds each has a file with the seed in its name, of several names one of that name, and its task sheet
/// beside it, .txt. Returns 0. Throws attn::Error for bad input.
int run_probe(const MakeProbe& probe);

/// A lesson with a mistake in it, beside the right one.
struct BreakLesson {
  std::shared_ptr<const lessons::Lesson> lesson;  ///< whose defaults are those of the probe
  lessons::Options options{};
  std::string mistake{};
  std::optional<std::string> output{};  ///< a file for the tensors with the mistake
  Paging paging = Paging::automatic;
};

/// Shows what the mistake changes and what it does not, and writes the file. Throws attn::Error for a mistake
/// that the lesson cannot make on these options, and for bad input. Returns 0.
int run_break(const BreakLesson& broken);

/// Ids of the mistakes that the lesson can make on the inputs of its probe.
std::vector<std::string> mistakes_of_probe(const lessons::Lesson& lesson);

/// Shows the mistakes of the lesson, or of all where it is null. Returns 0.
int list_mistakes(const lessons::Lesson* lesson);

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

/// The member of a file's config that names its probe.
inline constexpr std::string_view id_of_probe = "probe";

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
  std::vector<attn::ExpectedTensor> expected{};  ///< what the lesson has; none of a worksheet
  bool has_words = true;                         ///< whether somebody says which words the tensors are of
  std::string student{};                         ///< the name on a worksheet
  std::string probe{};                           ///< the file that its inputs come from, without its folder
  bool shows_its_probe = false;                  ///< whether it has inputs of the probe, or its id

  /// Runs the lesson on the inputs of the file. It must outlive what is returned.
  attn::Rerun rerun() const;
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
