#include <fmt/format.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "attn/error.hpp"
#include "attn/ops/matmul.hpp"
#include "lab/command_line.hpp"
#include "lab/output.hpp"
#include "lab/ranks.hpp"

namespace lab {

namespace {

int run(const RunLesson& run) {
  if (run.expected) return compare_with_expected(run);
  const auto page = run_lesson(run);
  write_or_show(page.text, run.presentation.output, run.presentation.paging);
  return page.all_claims_hold ? 0 : 1;
}

/// Carries out what was asked for. Returns the exit status: 0 where all that was claimed holds, 1 otherwise.
/// Throws attn::Error for bad input; nothing has been written then.
int carry_out(const Command& command) {
  if (const auto* act = std::get_if<std::function<int()>>(&command)) return (*act)();
  if (const auto* lesson = std::get_if<RunLesson>(&command)) return run(*lesson);
  if (const auto* worksheet = std::get_if<MakeWorksheet>(&command)) run_worksheet(*worksheet);
  if (const auto* print = std::get_if<PrintText>(&command)) write_to_stdout(print->text);
  return 0;
}

const char* const variable_of_threads = "OPENBLAS_NUM_THREADS";
bool holds_back_threads = false;

/// Runs before the constructor in which OpenBLAS reads the environment: that one has the default priority. To
/// start threads takes longer than a short lesson.
__attribute__((constructor(101))) void hold_back_threads() {
  if (std::getenv(variable_of_threads) != nullptr) return;
  holds_back_threads = setenv(variable_of_threads, "1", 0) == 0;
}

/// What other programs are started with is the environment as it was.
void let_threads_start() {
  if (!holds_back_threads) return;
  unsetenv(variable_of_threads);
  attn::start_threads_when_worth();
}

/// Memory that a tensor gives back is there for the next one: to have fresh pages of the system for each
/// takes a third of a long lesson's time.
void use_memory_again() {
#ifdef __GLIBC__
  constexpr int most_kept = 1 << 30;
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, most_kept);
#endif
}

/// Prints the message on one line, whatever the values in it: control characters are shown, not obeyed.
/// Of several ranks with the same message the first one prints it.
void report_error(std::string_view message) {
  if (!is_first_rank()) return;
  std::string line = "attnlab: ";
  for (const char character : message) {
    const auto byte = static_cast<unsigned char>(character);
    line += byte < 0x20 || byte == 0x7F ? fmt::format("\\x{:02x}", byte) : std::string(1, character);
  }
  std::fputs((line + "\n").c_str(), stderr);
}

/// The exit status. What went wrong is told before the ranks part: mpirun ends those that have not spoken
/// when one of them leaves.
int answer(const Ranks& ranks, int argc, char** argv) {
  try {
    ranks.require_alike();
    return carry_out(parse(argc, argv));
  } catch (const attn::Error& error) {
    report_error(error.what());
  } catch (const std::bad_alloc&) {
    report_error("the tensors of this run do not fit in memory; valid: smaller dimensions");
  } catch (const std::exception& error) {
    report_error(fmt::format("a fault of the program itself: {}", error.what()));
  }
  return 2;
}

}  // namespace

}  // namespace lab

int main(int argc, char** argv) {
  lab::let_threads_start();
  lab::use_memory_again();
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that grows too large is refused where it is written
  try {
    const lab::Ranks ranks(argc, argv);
    return lab::answer(ranks, argc, argv);
  } catch (const attn::Error& error) {
    lab::report_error(error.what());
  }
  return lab::is_first_rank() ? 2 : 0;  // the ranks have not met, and the one that speaks must not be ended
}
