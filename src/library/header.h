// NAME.h of a library: the model's shapes, types, sizes and errors in plain C.
#pragma once

#include <string>

#include "library/encode.h"
#include "package/package.h"

namespace gossamer::library {

// A model's name as C's: letters, digits and _, neither a digit first nor a word of C or C++.
std::string identifier_of(const std::string& name);

struct HeaderOptions {
  std::string name;       // an identifier; everything in the header begins with it
  std::string machine;    // for people: what the code is for
  bool beside = false;    // the weights are the caller's
  bool allocates = true;  // init takes memory by malloc
};
std::string header_of(const package::Module& module, const Encoded& encoded,
                      const HeaderOptions& options);

}  // namespace gossamer::library
