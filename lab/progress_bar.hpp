#pragma once

#include <string>

namespace lab {

/// A bar on stderr, on a terminal only, that is wiped away at the end.
class ProgressBar {
 public:
  ProgressBar();
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// `share` is from 0 to 1, `next` what comes next.
  void show(double share, const std::string& next);

 private:
  bool is_seen_;
};

}  // namespace lab
