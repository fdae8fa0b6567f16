// A device that candidates are measured on: one that joined an RPC server, or processes of our own
// that end with a candidate and are started again.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "gossamer/devices/child_process.h"
#include "gossamer/devices/web_harness.h"
#include "rpc/remote.h"
#include "tune/measurer.h"

namespace gossamer::command {

struct MeasureOptions {
  std::string target;
  BrowserOptions browser;  // `device`: rpc://..., else one is started here
  int threads = 0;
  double timeout = 60;  // seconds that a request may take
};

class RpcMeasurer : public tune::Measurer {
 public:
  // `feeds` of each run. Errors: nothing there has the target; what is not built or installed.
  static Result<std::unique_ptr<RpcMeasurer>> start(MeasureOptions options,
                                                    std::vector<rpc::NamedTensor> feeds);
  ~RpcMeasurer() override;

  tune::Task<Result<int>> load(package::Files files) override;
  void free(int model) override;
  tune::Task<Result<tune::Timing>> profile(int model, int runs,
                                           const std::vector<int>& kernels) override;
  tune::Task<Result<double>> time(int model, int runs) override;
  tune::Task<Result<>> check(int model) override;

 private:
  struct Loaded {
    package::Files files;  // for a device that is started anew; weights without bytes
    std::unique_ptr<rpc::RemoteModel> model;
  };

  RpcMeasurer(MeasureOptions options, std::vector<rpc::NamedTensor> feeds);
  Result<> start_server();
  Result<> start_device();
  Result<> connect();
  // With the bytes of weights.
  package::Files whole(package::Files files) const;
  // The device may hang, or be gone: another takes its place.
  void replace_device();
  Result<rpc::RunAnswer> run(int model, const rpc::RunOptions& options);

  const MeasureOptions options_;
  const std::vector<rpc::NamedTensor> feeds_;
  rpc::Address address_;
  std::string address_text_;
  std::optional<ChildProcess> server_, device_process_;
  int starts_ = 0;
  std::shared_ptr<rpc::RemoteDevice> device_;
  bool fresh_ = true;  // nothing was loaded by it
  std::map<int, Loaded> models_;
  std::map<std::string, std::vector<std::byte>> weights_;  // by SHA-256
  int next_ = 0;
  std::vector<rpc::NamedTensor> expected_;  // outputs
};

}  // namespace gossamer::command
