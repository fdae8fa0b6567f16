// State of a model that is not the one that its runs go on from.
#pragma once

#include <optional>
#include <vector>

#include "runtime/device_tensor.h"

namespace gossamer::runtime {

struct SetAsideState {
  std::optional<std::vector<int64_t>> shape;
  int64_t room = 0;
  HostTensor host;
  std::optional<DeviceTensor> there;
  std::shared_ptr<Buffer> memory;
};

// What Model::exchange_state puts here. Without anything, it is the beginning. Only for the model
// that made it, and as long as that is there.
struct SetAside {
  std::vector<SetAsideState> all;  // by state
};

}  // namespace gossamer::runtime
