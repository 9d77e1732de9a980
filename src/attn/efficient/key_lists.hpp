#pragma once

#include "attn/ops/sparse_pattern.hpp"
