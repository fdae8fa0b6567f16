// What a model keeps from run to run: inputs that are what an output was in the run before.
#pragma once

#include <optional>

#include "runtime/device_tensor.h"
#include "runtime/model.h"
#include "runtime/tensor.h"

namespace gossamer::runtime {

// One of them. Where a package writes rows in place it lies in the slot of its tensor, which is the
// output's, too, and nothing else's; before it was placed there, and in other packages, on the
// host.
struct Kept {
  size_t input = 0, output = 0;  // of the package's ports
  int dim = -1;                  // whose value is the room for rows; -1: none
  int axis = 0;                  // along which they are rows
  // Of what the next run begins with; nothing: of its beginning.
  std::optional<std::vector<int64_t>> shape;
  int64_t room = 0;  // of its slot, in rows; 0: it lies on the host
  HostTensor host;
  // Where a run on the device left a state that does not grow in place; `host` is empty then.
  std::optional<DeviceTensor> there;
  // What the run under way begins with.
  std::vector<int64_t> fed;
  std::vector<std::byte> zeros;
};

// The same elements where the rows of an axis have room for more.
std::vector<std::byte> with_room(const TensorView& tensor, int axis, int64_t room);

// The elements of the first rows of an axis.
std::vector<std::byte> first_rows(const TensorView& tensor, int axis, int64_t rows);

// Checks a tensor that a user gives. Errors: another type or shape; another number of bytes.
Result<> check_kind(const Port& port, const TensorView& feed, const std::string& where);
Result<> check_feed(const Port& port, const TensorView& feed, const std::string& where);

struct KeptState {
  std::vector<Kept> all;
  std::vector<Port> ports;  // of each, its input
  int64_t rows = 0;         // there is room for, at least

  const Kept* of_input(size_t input) const;
  const Kept* of_output(size_t output) const;
  const Kept* of_dim(size_t dim) const;
  // Errors: none of that name.
  Result<size_t> find(const std::string& name) const;
};

}  // namespace gossamer::runtime
