// NAME.c: a model, its weights and the run time in C as one file.
#pragma once

#include <string>

#include "library/header.h"
#include "library/linked_forms.h"

namespace gossamer::library {

// C11 with nothing of another standard: for compilers whose float and double are IEEE's, whose
// bytes have 8 bits and whose pointers have 32 or 64. Includes NAME.h.
std::string c_source_of(const Made& made, const HeaderOptions& header);

}  // namespace gossamer::library
