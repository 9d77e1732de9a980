#pragma once

#include "attn/ops/feature_maps.hpp"
