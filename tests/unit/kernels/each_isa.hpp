#pragma once

#include <catch2/catch.hpp>

#include "attn/kernels/exact/kernels.hpp"

/// Puts the instruction set that was in use back when a test is done with the others.
class IsaRestored {
 public:
  IsaRestored() = default;
  IsaRestored(const IsaRestored&) = delete;
  IsaRestored& operator=(const IsaRestored&) = delete;
  ~IsaRestored() { attn::exact::use(before_); }

 private:
  attn::exact::Isa before_ = attn::exact::isa_in_use();
};

/// Calls `check` once with each instruction set in use that this processor has.
template <class Check>
void for_each_isa(const Check& check) {
  const IsaRestored restored;
  for (const attn::exact::Isa isa : attn::exact::available_isas()) {
    INFO("instruction set " << attn::exact::name_of(isa));
    attn::exact::use(isa);
    check();
  }
}
