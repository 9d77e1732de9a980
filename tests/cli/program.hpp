#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What a run of attnlab left behind.
struct Result {
  int status = 0;  ///< of its exit, or 128 + the number of the signal that ended it
  std::string out;
  std::string err;
  std::size_t peak_memory = 0;  ///< bytes
};

/// Where the standard output of a run goes. Only what goes to a pipe or a terminal can be read.
enum class Output { pipe, terminal, full_device, closed_pipe };

/// The size of a terminal in characters; one of 0 does not tell it.
struct Window {
  int rows = 0, columns = 0;
};

struct Surroundings {
  std::map<std::string, std::string> environment{};  ///< on top of the tests' own
  Output output = Output::pipe;
  bool err_goes_there = false;                ///< stderr goes where standard output does
  Window window{};                            ///< of a terminal
  std::vector<std::string> keys{};            ///< pressed on the terminal, one each time that the run asks
  std::optional<std::size_t> largest_file{};  ///< bytes that a file, and stderr, may have: a disk gets full
  std::function<bool()> killed_when{};        ///< asked over and over; once true the run is killed
  bool interrupted = false;                   ///< it gets Ctrl-C (SIGINT) in that moment instead
};

/// Runs attnlab with these arguments, which are taken apart as a shell does ('…', "…" and \ keep white
/// space). It runs at the project's root, with nothing to read but keys, without the variables that change
/// colours, paging or BLAS, and without root's right to write where permissions forbid it. A run that asks
/// for more keys than there are is killed.
Result run(const std::string& arguments, const Surroundings& surroundings = {});

/// What a successful run prints. Checks that it is one, with nothing on stderr.
std::string output_of(const std::string& arguments, const Surroundings& surroundings = {});

/// The one line that a run with bad arguments or bad input says. Checks that it is refused so.
std::string refusal(const std::string& arguments, const Surroundings& surroundings = {});

/// Checks that bad arguments or bad input are refused in one line that says all of this. The line.
std::string check_refused(const std::string& arguments, const std::vector<std::string>& said = {});

/// Checks of bad usage that the line says, too, what would be valid.
void check_bad_usage(const std::string& arguments, const std::vector<std::string>& said);

bool contains(const std::string& text, const std::string& part);

/// With one space in the place of all white space that follows on itself.
std::string in_one_line(const std::string& text);

/// The text as one argument.
std::string as_argument(std::string_view text);

/// The names of all lessons, as `attnlab list` has them.
std::vector<std::string> lessons();

/// Whether the lesson's help has the option, "--causal".
bool takes(const std::string& lesson, const std::string& option);

/// " --sentence …" or " --source … --target …", as the lesson takes it; nothing where it takes no sentence.
std::string with_sentence(const std::string& lesson, const std::string& sentence);

/// "1 2 3 …": a sentence of so many different tokens.
std::string sentence_of(std::size_t tokens);

std::vector<std::string> lines_of(const std::string& text);

/// A page without its first lines, which repeat the options: what they do is below.
std::string without_header(const std::string& page);
