// Counts and times of a server, as the text that Prometheus reads.
// https://prometheus.io/docs/instrumenting/exposition_formats/
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace gossamer::serve {

class Metrics {
 public:
  // Each names its model; every call may come from any thread. Times in seconds.
  void answered(const std::string& model, int status, double seconds);
  void waited(const std::string& model, double seconds);
  void ran(const std::string& model, size_t requests, double seconds);

  struct Gauge {
    std::string name, help, model;  // model: "" for the server's own
    double value = 0;
  };
  // With the gauges that the caller has just read. Gauges of one name follow each other.
  std::string text(const std::vector<Gauge>& gauges) const;

 private:
  struct Histogram {
    std::vector<uint64_t> counts;  // one a bound, and one for what is greater
    double sum = 0;
  };
  using Histograms = std::map<std::string, Histogram>;  // by model
  static void observe(Histogram& histogram, const std::vector<double>& bounds, double value);

  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, uint64_t> answers_;
  Histograms requests_, waits_, runs_, sizes_;
};

}  // namespace gossamer::serve
