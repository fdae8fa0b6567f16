#include "gossamer/runners/runner.h"

#include "gossamer/files/tensor_file.h"

namespace gossamer::command {

Result<std::unique_ptr<Runner>> make_runner(const std::string& target, const ModelFile& model,
                                            const RunnerOptions& options) {
  if (target == "interp") return make_interp_runner(model);
  if (target == "c") return make_c_runner(model, options);
  if (runs_here_on(target, native_device)) return make_native_runner(target, model, options);
  return fail(cat("target ", target, " does not run in this process"));
}

Result<> check_feeds(const std::vector<Port>& ports, const std::vector<ops::TensorData>& feeds) {
  if (feeds.size() != ports.size())
    return fail(cat("the model has ", ports.size(), " inputs, ", feeds.size(), " are given"));
  for (size_t at = 0; at < ports.size(); ++at) {
    const Port& port = ports[at];
    const ops::TensorData& feed = feeds[at];
    const std::string where = cat("input \"", port.name, "\"");
    if (feed.dtype != port.dtype)
      return fail_at(where, cat("is ", ir::name_of(port.dtype), ", the tensor given is ",
                                ir::name_of(feed.dtype)));
    bool fits = feed.shape.size() == port.shape.size();
    for (size_t axis = 0; fits && axis < port.shape.size(); ++axis)
      fits = port.shape[axis] < 0 || port.shape[axis] == feed.shape[axis];
    if (!fits)
      return fail_at(where, cat("has shape ", shape_text(port.shape), ", the tensor given has ",
                                shape_text(feed.shape)));
  }
  return {};
}

}  // namespace gossamer::command
