// What a device has compiled, by its source: packages that are loaded one after another, such as
// candidates of a search, share most of their kernels.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"

namespace gossamer::runtime {

template <class T>
class Compiled {
 public:
  using Shared = std::shared_ptr<T>;

  // `key`: all that it is made of.
  Result<Shared> get(const std::string& key, const std::function<Result<Shared>()>& make) {
    if (const auto found = all_.find(key); found != all_.end()) return found->second;
    if (all_.size() >= most)
      std::erase_if(all_, [](const auto& one) { return one.second.use_count() == 1; });
    GS_ASSIGN(Shared made, make());
    all_.emplace(key, made);
    return made;
  }

 private:
  static constexpr size_t most = 512;  // with what no package has any longer
  std::map<std::string, Shared> all_;
};

}  // namespace gossamer::runtime
