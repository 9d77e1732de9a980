// The ranks that mpirun started, over MPI. A thread of its own makes all transfers go on while the caller
// computes, since MPI moves them only while it is called, and sends a pulse to the next rank twice a second:
// a rank whose predecessor sends none for some seconds ends them all.

#include "fast/ranks/network.hpp"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>

namespace {

using attn::fast::Network;
using attn::fast::Range;
using attn::fast::Transfer;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto between_pulses = 500ms;
constexpr auto longest_silence = 6s;
constexpr auto between_tests = 50us;                           ///< of transfers that go on
constexpr std::size_t largest_message = std::size_t{1} << 30;  ///< MPI counts bytes in an int

enum Pulse : char { alive, last };

class MpiNetwork : public Network {
 public:
  MpiNetwork(int ranks, int rank)
      : Network(static_cast<std::size_t>(ranks),
                {static_cast<std::size_t>(rank), static_cast<std::size_t>(rank) + 1}),
        next_((rank + 1) % ranks),
        previous_((rank + ranks - 1) % ranks) {
    MPI_Comm_dup(MPI_COMM_WORLD, &messages_);
    MPI_Comm_dup(MPI_COMM_WORLD, &pulses_);
    listen();
    thread_ = std::thread([this] { keep_going(); });
  }

  /// Waits until the ranks before and behind have come to their end too.
  ~MpiNetwork() override {
    {
      const std::lock_guard lock(mutex_);
      is_ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
    MPI_Finalize();
  }

 private:
  void carry(const std::vector<Transfer>& transfers) override {
    const std::lock_guard lock(mutex_);
    const auto rank = here().begin;
    for (const auto& transfer : transfers) {
      if (transfer.from == rank && transfer.to == rank)
        std::memmove(transfer.destination, transfer.source, transfer.bytes);
      else if (transfer.from == rank)
        in_messages(transfer.bytes, [&](std::size_t begin, int bytes, MPI_Request* request) {
          MPI_Isend(static_cast<const char*>(transfer.source) + begin, bytes, MPI_BYTE,
                    static_cast<int>(transfer.to), 0, messages_, request);
        });
      else if (transfer.to == rank)
        in_messages(transfer.bytes, [&](std::size_t begin, int bytes, MPI_Request* request) {
          MPI_Irecv(static_cast<char*>(transfer.destination) + begin, bytes, MPI_BYTE,
                    static_cast<int>(transfer.from), 0, messages_, request);
        });
    }
    changed_.notify_all();
  }

  void wait() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return requests_.empty(); });
  }

  template <class Start>
  void in_messages(std::size_t bytes, const Start& start) {
    for (std::size_t begin = 0; begin < bytes; begin += largest_message) {
      requests_.push_back(MPI_REQUEST_NULL);
      start(begin, static_cast<int>(std::min(largest_message, bytes - begin)), &requests_.back());
    }
  }

  void keep_going() {
    std::unique_lock lock(mutex_);
    while (!(is_ending_ && said_last_ && heard_last_)) {
      test_transfers();
      hear();
      beat();
      if (requests_.empty()) {
        changed_.wait_for(lock, is_ending_ ? 1ms : 100ms);
      } else {
        lock.unlock();
        std::this_thread::sleep_for(between_tests);
        lock.lock();
      }
    }
    MPI_Wait(&sent_pulse_, MPI_STATUS_IGNORE);
  }

  void test_transfers() {
    if (requests_.empty()) return;
    int all_done = 0;
    MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &all_done, MPI_STATUSES_IGNORE);
    if (!all_done) return;
    requests_.clear();
    changed_.notify_all();
  }

  void listen() { MPI_Irecv(&heard_, 1, MPI_CHAR, previous_, 0, pulses_, &heard_pulse_); }

  void hear() {
    const auto now = Clock::now();
    int has_come = 0;
    if (!heard_last_) MPI_Test(&heard_pulse_, &has_come, MPI_STATUS_IGNORE);
    if (has_come) {
      last_heard_ = now;
      heard_last_ = heard_ == Pulse::last;
      if (!heard_last_) listen();
    }
    const bool is_needed = !heard_last_ || !requests_.empty();
    if (is_needed && now - last_heard_ > longest_silence) give_up();
  }

  void beat() {
    const bool is_last = is_ending_ && requests_.empty();
    if (said_last_ || (!is_last && Clock::now() - last_sent_ < between_pulses)) return;
    int is_sent = 0;
    MPI_Test(&sent_pulse_, &is_sent, MPI_STATUS_IGNORE);
    if (!is_sent) return;
    last_sent_ = Clock::now();
    said_last_ = is_last;
    pulse_ = is_last ? Pulse::last : Pulse::alive;
    MPI_Isend(&pulse_, 1, MPI_CHAR, next_, 0, pulses_, &sent_pulse_);
  }

  /// MPI may not be able to reach whom it is to end: this process ends all the same.
  [[noreturn]] void give_up() {
    std::fprintf(stderr,
                 "attnlab: rank %d is lost: rank %d has heard nothing from it for %d s; all ranks end\n",
                 previous_, static_cast<int>(here().begin), static_cast<int>(longest_silence.count()));
    alarm(2);
    MPI_Abort(MPI_COMM_WORLD, 2);
    _exit(2);
  }

  int next_, previous_;
  MPI_Comm messages_ = MPI_COMM_NULL, pulses_ = MPI_COMM_NULL;
  std::mutex mutex_;  ///< of all below, and of MPI
  std::condition_variable changed_;
  std::vector<MPI_Request> requests_{};
  char pulse_ = Pulse::alive, heard_ = Pulse::alive;
  MPI_Request sent_pulse_ = MPI_REQUEST_NULL, heard_pulse_ = MPI_REQUEST_NULL;
  Clock::time_point last_heard_ = Clock::now(), last_sent_{};
  bool is_ending_ = false, said_last_ = false, heard_last_ = false;
  std::thread thread_;
};

}  // namespace

extern "C" Network* attnlab_join_mpi() {
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
  if (provided < MPI_THREAD_SERIALIZED) {
    std::fputs("attnlab: this MPI lets no second thread call it; valid: one built with threads\n", stderr);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  int ranks = 0, rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return new MpiNetwork(ranks, rank);
}
