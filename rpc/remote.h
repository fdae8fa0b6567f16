// A device that has joined, and models on it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "package/package.h"
#include "rpc/connection.h"
#include "runtime/tensor.h"

namespace gossamer::rpc {

struct DeviceInfo {
  uint32_t number = 0;
  std::string name, about;
  std::vector<std::string> targets;
};

struct NamedTensor {
  std::string name;
  runtime::HostTensor tensor;
};

struct RunOptions {
  int runs = 1;                   // `milliseconds` is the fastest one's
  std::string bench;              // "runs", "profile": times in place of outputs
  std::vector<int> kernels = {};  // of a profile: in a page, only these of the package are timed
  double min_ms = 0;              // and repeated for so long; 0: as long as it sees fit
  double seconds = 0;             // that it may take; 0: as long as it takes
};

struct RunAnswer {
  std::vector<NamedTensor> outputs;
  double milliseconds = 0;
  std::string json;  // all that the device says: "report", "bench"
};

class RemoteModel;

class RemoteDevice : public std::enable_shared_from_this<RemoteDevice> {
 public:
  // Waits so long for a device of the address's name, or for any, to join. Errors: also those of
  // Connection::open.
  static Result<std::shared_ptr<RemoteDevice>> connect(const Address& address, double seconds = 30);
  // All that have joined.
  static Result<std::vector<DeviceInfo>> list(const Address& address);

  DeviceInfo info() const;
  // Bytes of a package that are there, of all; called by load() before the first piece and after
  // each.
  using OnSent = std::function<void(uint64_t done, uint64_t all)>;
  // Sends the files that the device lacks, and loads them. One without bytes is that of its SHA-256
  // in the package before, or in one that is still there. Errors: there is none; what the device's
  // run time says.
  Result<std::unique_ptr<RemoteModel>> load(package::Files files, const std::string& target,
                                            int threads = 0, const OnSent& on_sent = {});
  // What each load from here on may take when its files are there; 0: as long as it takes.
  void limit_loads(double seconds);
  // Bytes of files that were sent, of all that were asked for.
  struct Sent {
    uint64_t sent = 0, all = 0;
  };
  Sent sent() const;

 private:
  friend class RemoteModel;
  using Bytes = std::vector<std::byte>;
  struct StoredFile {
    std::string name, hash;
    std::shared_ptr<const Bytes> bytes;
  };
  using Stored = std::vector<StoredFile>;

  RemoteDevice() = default;
  Result<> find(double seconds);
  Result<Stored> store(package::Files files);
  // Of the device: where it has left meanwhile, of the one that joins by its name.
  Result<Connection::Answer> ask(std::string_view json, std::span<const std::byte> payload,
                                 uint64_t generation, double seconds = 0);
  Result<> send_files(const Stored& stored, uint64_t generation, const OnSent& on_sent);
  Result<int> load_stored(const Stored& stored, const std::string& target, int threads,
                          uint64_t generation, const OnSent& on_sent = {});
  void free(int model, uint64_t generation);
  // The times that a device of this name was found: a model of another generation is gone.
  Result<uint64_t> present();

  std::unique_ptr<Connection> connection_;
  double seconds_ = 30;
  std::string wanted_;
  mutable std::mutex mutex_;
  DeviceInfo info_;
  bool left_ = false;
  uint64_t generation_ = 0;
  Sent sent_;
  double load_seconds_ = 0;
  std::map<std::string, std::weak_ptr<const Bytes>> known_;  // by hash
  Stored latest_;
};

// Outlives a device that leaves and joins again: it is loaded there once more by the next run.
class RemoteModel {
 public:
  ~RemoteModel();
  // Errors: what the run time there says; the device left while the run was under way.
  Result<RunAnswer> run(const std::vector<NamedTensor>& inputs, const RunOptions& options = {});

 private:
  friend class RemoteDevice;
  RemoteModel() = default;

  std::shared_ptr<RemoteDevice> device_;
  RemoteDevice::Stored stored_;
  std::string target_;
  int threads_ = 0;
  std::mutex mutex_;
  int number_ = 0;
  uint64_t generation_ = 0;
};

}  // namespace gossamer::rpc
