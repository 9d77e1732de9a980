#include "fast/simd/isa.hpp"

#include <algorithm>
#include <string>

#include "attn/error.hpp"

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

std::vector<Isa> find_available() {
  std::vector<Isa> found;
  for (const Isa isa : {Isa::generic, Isa::avx2, Isa::avx512})
    if (has(isa)) found.push_back(isa);
  return found;
}

Isa& chosen() {
  static Isa isa = available_isas().back();
  return isa;
}

std::string names_of(const std::vector<Isa>& isas) {
  std::string names;
  for (const Isa isa : isas) names.append(names.empty() ? "" : ", ").append(name_of(isa));
  return names;
}

}  // namespace

std::string_view name_of(Isa isa) {
  constexpr std::string_view names[] = {"generic", "avx2", "avx512"};
  return names[static_cast<std::size_t>(isa)];
}

const std::vector<Isa>& available_isas() {
  static const std::vector<Isa> isas = find_available();
  return isas;
}

Isa isa_in_use() {
  return chosen();
}

void use(Isa isa) {
  const auto& available = available_isas();
  if (std::find(available.begin(), available.end(), isa) == available.end())
    throw Error("this processor has no instruction set " + std::string(name_of(isa)) +
                "; valid: " + names_of(available));
  chosen() = isa;
}

}  // namespace attn::simd
