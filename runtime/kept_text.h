// What a model's state was after some text.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/tensor.h"

namespace gossamer::runtime {

class Model;

// The model that made it keeps it as its own state until that changes, and then copies it to the
// host.
struct KeptText {
  std::vector<int64_t> tokens = {};
  std::mutex mutex = {};                          // of what follows
  const Model* holder = nullptr;                  // whose state it is
  std::map<std::string, HostTensor> states = {};  // by input; empty while only the holder has them
  bool lost = false;                              // the holder's device went away
};

}  // namespace gossamer::runtime
