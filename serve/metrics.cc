#include "serve/metrics.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/result.h"

namespace gossamer::serve {
namespace {

const std::vector<double> seconds_bounds = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                            0.1,    0.25,  0.5,    1,     2.5,  5,     10};
const std::vector<double> request_bounds = {1, 2, 4, 8, 16, 32, 64, 128};

std::string number(double value) {
  std::array<char, 32> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

std::string label(std::string_view value) {
  std::string text;
  for (const char letter : value) {
    if (letter == '\\' || letter == '"') text += '\\';
    if (letter == '\n')
      text += "\\n";
    else
      text += letter;
  }
  return text;
}

void head(std::string& text, std::string_view name, std::string_view help, std::string_view type) {
  text += cat("# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
}

}  // namespace

void Metrics::observe(Histogram& histogram, const std::vector<double>& bounds, double value) {
  histogram.counts.resize(bounds.size() + 1);
  ++histogram.counts[static_cast<size_t>(std::ranges::lower_bound(bounds, value) - bounds.begin())];
  histogram.sum += value;
}

void Metrics::answered(const std::string& model, int status, double seconds) {
  const std::lock_guard lock(mutex_);
  ++answers_[{model, status}];
  observe(requests_[model], seconds_bounds, seconds);
}

void Metrics::waited(const std::string& model, double seconds) {
  const std::lock_guard lock(mutex_);
  observe(waits_[model], seconds_bounds, seconds);
}

void Metrics::ran(const std::string& model, size_t requests, double seconds) {
  const std::lock_guard lock(mutex_);
  observe(runs_[model], seconds_bounds, seconds);
  observe(sizes_[model], request_bounds, static_cast<double>(requests));
}

std::string Metrics::text(const std::vector<Gauge>& gauges) const {
  const std::lock_guard lock(mutex_);
  std::string text;
  head(text, "gossamer_requests_total", "Inference requests answered, by status.", "counter");
  for (const auto& [key, count] : answers_)
    text += cat("gossamer_requests_total{model=\"", label(key.first), "\",status=\"", key.second,
                "\"} ", count, "\n");
  const auto histograms = [&](std::string_view name, std::string_view help, const Histograms& all,
                              const std::vector<double>& bounds) {
    head(text, name, help, "histogram");
    for (const auto& [model, histogram] : all) {
      const std::string of = cat("model=\"", label(model), "\"");
      uint64_t count = 0;
      for (size_t at = 0; at <= bounds.size(); ++at) {
        count += histogram.counts[at];
        const std::string bound = at < bounds.size() ? number(bounds[at]) : "+Inf";
        text += cat(name, "_bucket{", of, ",le=\"", bound, "\"} ", count, "\n");
      }
      text += cat(name, "_sum{", of, "} ", number(histogram.sum), "\n");
      text += cat(name, "_count{", of, "} ", count, "\n");
    }
  };
  histograms("gossamer_request_seconds", "Time of an inference request in the server.", requests_,
             seconds_bounds);
  histograms("gossamer_queue_seconds", "Time that a request waited for its model.", waits_,
             seconds_bounds);
  histograms("gossamer_run_seconds", "Time of one run of the model.", runs_, seconds_bounds);
  histograms("gossamer_run_requests", "Requests that one run answered.", sizes_, request_bounds);
  for (size_t at = 0; at < gauges.size(); ++at) {
    const Gauge& gauge = gauges[at];
    if (at == 0 || gauges[at - 1].name != gauge.name) head(text, gauge.name, gauge.help, "gauge");
    text += gauge.name;
    if (!gauge.model.empty()) text += cat("{model=\"", label(gauge.model), "\"}");
    text += cat(" ", number(gauge.value), "\n");
  }
  return text;
}

}  // namespace gossamer::serve
