#include "tests/cli/program.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <regex>
#include <sstream>
#include <system_error>
#include <utility>

namespace {

[[noreturn]] void fail(const char* action) {
  throw std::system_error(errno, std::generic_category(), action);
}

/// An open file, closed at the end.
class Descriptor {
 public:
  Descriptor(int number, const char* action) : number_(number) {
    if (number < 0) fail(action);
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() { close(); }

  int number() const { return number_; }
  void close() {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }

  /// `receive` is given all that has been read so far, after every piece.
  std::string read_all(const std::function<void(const std::string&)>& receive = {}) const {
    std::string text;
    std::array<char, 65536> buffer{};
    for (;;) {
      const auto count = ::read(number_, buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return text;  // a terminal whose other side is closed gives an error
      text.append(buffer.data(), static_cast<std::size_t>(count));
      if (receive) receive(text);
    }
  }

 private:
  int number_;
};

Descriptor open_file(const char* path, int flags) {
  return {::open(path, flags | O_CLOEXEC | O_NOCTTY), path};
}

/// What the program writes into and the tests read from.
struct Channel {
  Descriptor reading, writing;
};

Channel open_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("open a pipe");
  return {{ends[0], "read a pipe"}, {ends[1], "write a pipe"}};
}

/// A terminal that leaves line ends as they are.
Channel open_terminal(const Window& window) {
  Descriptor terminal(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), "open a terminal");
  if (::grantpt(terminal.number()) != 0 || ::unlockpt(terminal.number()) != 0) fail("unlock a terminal");
  auto other_side = open_file(::ptsname(terminal.number()), O_RDWR);
  winsize size{};
  size.ws_row = static_cast<unsigned short>(window.rows);
  size.ws_col = static_cast<unsigned short>(window.columns);
  termios settings{};
  if (::ioctl(terminal.number(), TIOCSWINSZ, &size) != 0 || ::tcgetattr(other_side.number(), &settings) != 0)
    fail("set a terminal up");
  settings.c_oflag &= ~static_cast<tcflag_t>(OPOST);
  ::tcsetattr(other_side.number(), TCSANOW, &settings);
  return {std::move(terminal), std::move(other_side)};
}

Channel open_channel(const Surroundings& surroundings) {
  switch (surroundings.output) {
    case Output::terminal:
      return open_terminal(surroundings.window);
    case Output::full_device:
      return {open_file("/dev/null", O_RDONLY), open_file("/dev/full", O_WRONLY)};
    case Output::closed_pipe:
      return {open_file("/dev/null", O_RDONLY), open_pipe().writing};
    default:
      return open_pipe();
  }
}

/// The words of a command line as a shell takes them apart.
std::vector<std::string> words_of(const std::string& command) {
  std::vector<std::string> words;
  std::optional<std::string> word;
  char quote = '\0';
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char character = command[i];
    const bool is_unquoted = quote == '\0';
    if (is_unquoted && character == ' ') {
      if (word) words.push_back(*std::exchange(word, std::nullopt));
      continue;
    }
    if (!word) word.emplace();
    if (is_unquoted && (character == '\'' || character == '"'))
      quote = character;
    else if (character == quote)
      quote = '\0';
    else if (character == '\\' && quote != '\'' && i + 1 < command.size())
      *word += command[++i];
    else
      *word += character;
  }
  if (word) words.push_back(*word);
  return words;
}

std::vector<std::string> variables(const std::map<std::string, std::string>& additions) {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    if (equals != text.npos) variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  for (const char* name :
       {"NO_COLOR", "TERM", "PAGER", "LESS", "OPENBLAS_NUM_THREADS", "OPENBLAS_CORETYPE", "GITHUB_ACTIONS"})
    variables.erase(name);
  for (const auto& [name, value] : additions) variables[name] = value;

  std::vector<std::string> entries;
  for (const auto& [name, value] : variables) entries.push_back(name + "=" + value);
  return entries;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (auto& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

void limit_files(const Surroundings& surroundings) {
  if (!surroundings.largest_file) return;
  const rlimit limit{*surroundings.largest_file, *surroundings.largest_file};
  if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(127);
}

void signal_in_time(pid_t child, const std::function<bool()>& is_time, int signal) {
  const auto has_ended = [&] {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           info.si_pid != 0;
  };
  while (!has_ended() && !is_time()) continue;
  ::kill(child, signal);  // until it is waited for, its number is nobody else's
}

/// Presses a key each time that a run asks for one. Kills the run where no key is left.
class Typist {
 public:
  Typist(int terminal, pid_t child, const std::vector<std::string>& keys)
      : terminal_(terminal), child_(child), keys_(keys) {}

  void read(const std::string& shown) {
    const std::string question = "q: leave";
    for (auto at = shown.find(question, read_); at != shown.npos; at = shown.find(question, read_)) {
      read_ = at + question.size();
      if (pressed_ == keys_.size()) {
        ::kill(child_, SIGKILL);
        return;
      }
      const auto& key = keys_[pressed_++];
      if (::write(terminal_, key.data(), key.size()) < 0) fail("press a key");
    }
  }

 private:
  int terminal_;
  pid_t child_;
  const std::vector<std::string>& keys_;
  std::size_t read_ = 0, pressed_ = 0;
};

/// In the child: becomes the program.
[[noreturn]] void become(char* const* arguments, char* const* environment, int in, int out, int err) {
  ::prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0);  // only root has it to drop
  const bool is_ready = ::dup2(in, STDIN_FILENO) >= 0 && ::dup2(out, STDOUT_FILENO) >= 0 &&
                        ::dup2(err, STDERR_FILENO) >= 0 && ::chdir(ATTNLAB_ROOT) == 0;
  if (is_ready) ::execve(ATTNLAB_PROGRAM, arguments, environment);
  ::_exit(127);
}

int status_of(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

}  // namespace

Result run(const std::string& arguments, const Surroundings& surroundings) {
  auto words = words_of("attnlab " + arguments);
  auto entries = variables(surroundings.environment);
  const auto argument_pointers = pointers(words), environment_pointers = pointers(entries);
  const auto in = open_file("/dev/null", O_RDONLY);
  auto out = open_channel(surroundings);
  const int input = surroundings.keys.empty() ? in.number() : out.writing.number();
  const Descriptor err(::memfd_create("stderr", MFD_CLOEXEC), "make room for stderr");

  const pid_t child = ::fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    limit_files(surroundings);
    become(argument_pointers.data(), environment_pointers.data(), input, out.writing.number(),
           surroundings.err_goes_there ? out.writing.number() : err.number());
  }
  if (surroundings.killed_when)
    signal_in_time(child, surroundings.killed_when, surroundings.interrupted ? SIGINT : SIGKILL);

  out.writing.close();
  Result result;
  Typist typist(out.reading.number(), child, surroundings.keys);
  result.out = out.reading.read_all([&](const std::string& shown) { typist.read(shown); });
  int status = 0;
  struct rusage usage {};
  while (::wait4(child, &status, 0, &usage) < 0)
    if (errno != EINTR) fail("wait");
  ::lseek(err.number(), 0, SEEK_SET);
  result.err = err.read_all();
  result.status = status_of(status);
  result.peak_memory = static_cast<std::size_t>(usage.ru_maxrss) * 1024;
  return result;
}

std::string output_of(const std::string& arguments, const Surroundings& surroundings) {
  const auto result = run(arguments, surroundings);
  INFO("attnlab " << arguments);
  CHECK(result.status == 0);
  CHECK(result.err == "");
  return result.out;
}

std::string refusal(const std::string& arguments, const Surroundings& surroundings) {
  const auto result = run(arguments, surroundings);
  INFO("attnlab " << arguments << '\n' << result.out.substr(0, 300));
  CHECK(result.status == 2);
  CHECK(result.out == "");
  CHECK(lines_of(result.err).size() == 1);
  return result.err;
}

std::string check_refused(const std::string& arguments, const std::vector<std::string>& said) {
  const auto line = refusal(arguments);
  INFO("attnlab " << arguments << '\n' << line);
  CHECK(line.rfind("attnlab: ", 0) == 0);
  CHECK_FALSE(contains(line, "a fault of the program"));
  for (const auto& part : said) {
    INFO(part);
    CHECK(contains(line, part));
  }
  return line;
}

void check_bad_usage(const std::string& arguments, const std::vector<std::string>& said) {
  const auto line = check_refused(arguments, said);
  INFO("attnlab " << arguments << '\n' << line);
  CHECK((contains(line, "; valid: ") || contains(line, "; did you mean ")));
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

std::string in_one_line(const std::string& text) {
  return std::regex_replace(text, std::regex("\\s+"), " ");
}

std::string as_argument(std::string_view text) {
  std::string result = "'";
  for (const char character : text) result += character == '\'' ? "'\\''" : std::string(1, character);
  return result + "'";
}

std::vector<std::string> lessons() {
  std::vector<std::string> names;
  for (const auto& line : lines_of(output_of("list"))) names.push_back(line.substr(0, line.find(' ')));
  REQUIRE_FALSE(names.empty());
  return names;
}

bool takes(const std::string& lesson, const std::string& option) {
  static std::map<std::string, std::string> helps;
  auto& help = helps[lesson];
  if (help.empty()) help = output_of(lesson + " --help");
  return help.find("\n  " + option + " ") != help.npos || help.find("\n  " + option + "\n") != help.npos;
}

std::string with_sentence(const std::string& lesson, const std::string& sentence) {
  if (takes(lesson, "--sentence")) return " --sentence " + as_argument(sentence);
  if (takes(lesson, "--source"))
    return " --source " + as_argument(sentence) + " --target " + as_argument(sentence);
  return "";
}

std::string sentence_of(std::size_t tokens) {
  std::string sentence;
  for (std::size_t i = 1; i <= tokens; ++i) sentence += (i > 1 ? " " : "") + std::to_string(i);
  return sentence;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string without_header(const std::string& page) {
  return page.substr(std::min(page.size(), page.find("\n\n")));
}
