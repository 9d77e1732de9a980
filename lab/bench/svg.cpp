#include "page/svg/svg.hpp"

#include <fmt/format.h>

#include "attn/error.hpp"
#include "lab/bench/curves.hpp"
#include "lab/bench/report.hpp"

namespace lab {

namespace {

using attn::bench::Pass;

std::string conditions(const BenchReport& report) {
  const auto& setting = report.run.setting;
  const auto shared = setting.kv_heads == setting.heads ? "" : fmt::format(" on {}", setting.kv_heads);
  const auto window = setting.window ? fmt::format(", window {}", *setting.window) : "";
  return fmt::format("{}{} heads, d_k = {}, d_v = {}{}{}, {} scores, {}, {} {}, {}, OpenBLAS {}",
                     setting.heads, shared, setting.d_k, setting.d_v, setting.causal ? ", causal" : "",
                     window, name_of(setting.scores), report.run.dtype, setting.threads,
                     setting.threads == 1 ? "thread" : "threads", report.isa, report.blas_core);
}

}  // namespace

std::string bench_svg(const BenchReport& report) {
  if (time_curves(report.result, Pass::forward).lines.empty())
    throw attn::Error(
        "--format svg draws times over n, and no kernel was timed at two lengths; valid: shorter --lengths "
        "or more --seconds");
  attn::SvgRenderer renderer({.lesson = "bench", .title = "Attention kernels as n grows", .config = {}});
  renderer.say("attnlab bench · " + conditions(report));
  for (const Pass pass : {Pass::forward, Pass::backward}) {
    const auto name = name_of(pass);
    for (auto& [caption, curves] : {std::pair("Seconds of a run", time_curves(report.result, pass)),
                                    std::pair("Useful GFLOP/s", rate_curves(report.result, pass))})
      if (!curves.lines.empty()) renderer.add(fmt::format("{}, {}", caption, name), curves);
  }
  return renderer.finish();
}

}  // namespace lab
