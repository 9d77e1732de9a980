#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "trace/trace.hpp"

namespace lab {

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

}  // namespace lab
