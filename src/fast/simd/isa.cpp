#include "fast/simd/isa.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attn/error.hpp"
#include "attn/lists.hpp"

namespace attn::simd {

namespace {

bool has(Isa isa) {
  if (isa == Isa::generic) return true;
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (isa == Isa::avx2) return avx2;
  return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl");
#else
  return false;
#endif
}

Isa& chosen() {
  static Isa isa = available_isas().back();
  return isa;
}

}  // namespace

std::string_view name_of(Isa isa) {
  constexpr std::string_view names[] = {"generic", "avx2", "avx512"};
  const auto place = static_cast<std::size_t>(isa);
  return place < std::size(names) ? names[place] : "unknown";
}

const std::vector<Isa>& available_isas() {
  static const auto isas = [] {
    std::vector<Isa> all = {Isa::generic, Isa::avx2, Isa::avx512};
    std::erase_if(all, [](Isa isa) { return !has(isa); });
    return all;
  }();
  return isas;
}

Isa isa_in_use() {
  return chosen();
}

void use(Isa isa) {
  std::vector<std::string_view> available;
  for (const Isa one : available_isas()) available.push_back(name_of(one));
  if (!contains(available_isas(), isa))
    throw Error(fmt::format("this processor has no instruction set {}; valid: {}", name_of(isa),
                            fmt::join(available, ", ")));
  chosen() = isa;
}

}  // namespace attn::simd
