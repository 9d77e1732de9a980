#include "fast/simd/isa.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "attn/error.hpp"
#include "tests/unit/fast/each_isa.hpp"

using attn::simd::available_isas;
using attn::simd::Isa;

TEST_CASE("every processor has the generic instructions, and the best that it has are in use") {
  const auto& isas = available_isas();
  REQUIRE(!isas.empty());
  CHECK(isas.front() == Isa::generic);
  CHECK(std::is_sorted(isas.begin(), isas.end()));
  CHECK(attn::simd::isa_in_use() == isas.back());
}

TEST_CASE("the instruction set can be chosen") {
  std::size_t chosen = 0;
  for_each_isa([&] { CHECK(attn::simd::isa_in_use() == available_isas()[chosen++]); });
  CHECK(chosen == available_isas().size());
  CHECK(attn::simd::isa_in_use() == available_isas().back());
}

TEST_CASE("instruction sets have names of their own") {
  CHECK(name_of(Isa::generic) == "generic");
  CHECK(name_of(Isa::avx2) == "avx2");
  CHECK(name_of(Isa::avx512) == "avx512");
}

TEST_CASE("an instruction set that the processor lacks is refused, and the valid ones are named") {
  for (const Isa isa : {Isa::avx2, Isa::avx512}) {
    if (std::count(available_isas().begin(), available_isas().end(), isa) > 0) continue;
    CHECK_THROWS_WITH(attn::simd::use(isa),
                      Catch::Contains(std::string(name_of(isa))) && Catch::Contains("; valid: generic"));
    CHECK(attn::simd::isa_in_use() == available_isas().back());
  }
  CHECK_THROWS_WITH(attn::simd::use(static_cast<Isa>(99)), Catch::Contains("; valid: generic"));
  CHECK(attn::simd::isa_in_use() == available_isas().back());
}
