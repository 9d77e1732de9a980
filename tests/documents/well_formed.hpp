#pragma once

#include <string>

/// Whether every element that is opened is closed, in order, and no & or < stands for itself.
bool is_well_formed(const std::string& document);
