#pragma once

#include <catch2/catch.hpp>
#include <string>

#include "attn/kernels/exact/kernels.hpp"

/// Calls `check` once with each instruction set in use that this processor has.
template <class Check>
void for_each_isa(const Check& check) {
  const attn::exact::Isa before = attn::exact::isa_in_use();
  for (const attn::exact::Isa isa : attn::exact::available_isas()) {
    INFO("instruction set " << attn::exact::name_of(isa));
    attn::exact::use(isa);
    check();
  }
  attn::exact::use(before);
}
