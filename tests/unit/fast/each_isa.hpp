#pragma once

#include <catch2/catch.hpp>

#include "fast/simd/isa.hpp"

/// Puts the instruction set that was in use back when a test is done with the others.
class IsaRestored {
 public:
  IsaRestored() = default;
  IsaRestored(const IsaRestored&) = delete;
  IsaRestored& operator=(const IsaRestored&) = delete;
  ~IsaRestored() { attn::simd::use(before_); }

 private:
  attn::simd::Isa before_ = attn::simd::isa_in_use();
};

/// Calls `check` once with each instruction set in use that this processor has.
template <class Check>
void for_each_isa(const Check& check) {
  const IsaRestored restored;
  for (const attn::simd::Isa isa : attn::simd::available_isas()) {
    INFO("instruction set " << attn::simd::name_of(isa));
    attn::simd::use(isa);
    check();
  }
}
