#pragma once

#include <condition_variable>
#include <csignal>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "trace/trace.hpp"

/// Of several ranks with the same output the first one writes.
namespace lab {

/// Writes to standard output. A reader that has gone away is no error. Throws attn::Error where the system
/// refuses.
void write_to_stdout(const std::string& text);

/// Throws attn::Error where `write_to_file` would, and names the option: to be asked ahead of what takes
/// long.
void require_writable(const std::string& path, std::string_view option = "--output");

/// Makes the folder of a file where it is not there yet. Throws attn::Error where the system refuses.
void make_folder_of(const std::string& file);

/// Writes a file whole or not at all: beside it under another name, then renamed. A file that is there keeps
/// its permissions, a symbolic link stays and is followed, and what is no regular file (a device, a pipe) is
/// written to directly. Throws attn::Error where the system refuses.
void write_to_file(const std::string& path, const std::string& text);

/// A file of the tensors that `tell` sends, in the format of the path's ending: .npz, .safetensors or .json.
/// Nothing for another ending.
std::optional<std::string> tensor_file(const std::string& path, const attn::Header& header,
                                       const std::function<void(attn::Sink&)>& tell);

/// What a signal does, until this is gone.
class SignalAction {
 public:
  SignalAction(int signal, void (*action)(int)) : signal_(signal), before_(std::signal(signal, action)) {}
  ~SignalAction() { std::signal(signal_, before_); }
  SignalAction(const SignalAction&) = delete;
  SignalAction& operator=(const SignalAction&) = delete;

 private:
  int signal_;
  void (*before_)(int);
};

enum class Paging { automatic, never };

/// Writes to standard output. Where that is a terminal too small for the text, shows it through the pager,
/// unless paging is `never`: $PAGER, else `less -FRX`, run by the shell as git does; none where PAGER is
/// empty or `cat`, and by default none on a dumb terminal. Returns once the reader leaves the pager, at its
/// end or before. A pager that cannot be started is done without. Throws attn::Error as `write_to_stdout`
/// does.
void show(const std::string& text, Paging paging);

/// Writes to the file where there is one, else shows it.
void write_or_show(const std::string& text, const std::optional<std::string>& file, Paging paging);

/// The size of a terminal, in characters.
struct Screen {
  std::size_t rows = 0;
  std::size_t columns = 0;
};

/// Whether somebody may read standard output as it comes. Under mpirun a rank has a terminal of its own,
/// which mpirun reads.
bool stdout_is_terminal();

/// The terminal that standard output is. Nothing where it is no terminal, or one that does not tell its size.
std::optional<Screen> screen_of_stdout();

/// A variable of the environment, which may be empty; nothing where it is not set.
std::optional<std::string_view> environment(const char* name);

/// Whether TERM says that escape sequences mean nothing to the terminal; also where it is not set.
bool terminal_is_dumb();

/// A picture as PNG or PDF, which `rsvg-convert` of librsvg makes of it; `fills_slide` makes a PNG 1,920
/// pixels wide, and `paper`, "#ffffff", is behind what it rounds up to. Throws attn::Error where that program
/// is not installed, or refuses.
std::string converted(const std::string& svg, const std::string& format, const std::string& paper,
                      bool fills_slide);

/// A bar on stderr that is wiped away at the end. It is shown on a terminal, elsewhere with
/// ATTNLAB_PROGRESS=1 in the environment, and nowhere with ATTNLAB_PROGRESS=0.
class ProgressBar {
 public:
  ProgressBar();
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// `share` is from 0 to 1, `next` what comes next.
  void show(double share, const std::string& next);

 private:
  bool is_wanted_, was_shown_ = false;
};

/// Passes a run on. Where it takes more than two seconds, a line on stderr, shown where a ProgressBar is,
/// says for how long it has been computing and after which step; it is wiped away at the end.
class ProgressOfRun : public attn::Sink {
 public:
  ProgressOfRun(attn::Sink& next, std::string_view lesson);
  ~ProgressOfRun() override;
  ProgressOfRun(const ProgressOfRun&) = delete;
  ProgressOfRun& operator=(const ProgressOfRun&) = delete;

  void receive(const attn::Event& event) override;

 private:
  void tell(const std::string& lesson);

  attn::Sink& next_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
  std::string last_;  ///< id of the last event
  std::thread clock_;
};

/// Texts that are a part of the program: "book.style" and "book.script", each with its SHA-256 in hexadecimal
/// digits as "book.style.sha256", and the files "help.txt", "exercises.txt", "glossary.txt" and
/// "completions.bash".
std::string_view asset(std::string_view name);

}  // namespace lab
