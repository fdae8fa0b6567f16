// What a search reads and writes, as text: records, times of a device, its outcome.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "records/records.h"
#include "tune/learned_costs.h"
#include "tune/measurer.h"
#include "tune/tuner.h"

namespace gossamer::tune {

// A record a line: {"key": "...", "class": "wasm", "point": "contraction rows=4"}; other members
// are left alone. Key, class and points are those of `gossamer inspect --space`. The last one of a
// key and class counts. With a "ratio" (of its time to the default point's) of 1 or more the
// default point stays. With "structure" and "extents" (records/records.h) it is for kernels near
// it, too, which know it as "kernel". With "shipped", a class of devices, it came with the compiler
// and comes after those that did not. Lines that begin with # are comments. Lines with a "trial" in
// place of the point are a search's.
//
// Of a layout: {"key": "...", "class": "wasm", "layout": "axis=3"} or "plain"
// (records/layout_records.h); "ratio" and "shipped" as of points. With "layouts", a list of
// objects of "key" and "layout", all of one class, it is a search's.
//
// With "costs" (tune/learned_costs.h) it is what searches of such kernels begin with.
struct Recorded {
  records::Records records;
  std::vector<Trial> trials;  // of any adapter
  std::vector<LayoutTrial> layout_trials;
  std::vector<LearnedCosts> costs;
  // Of lines that are no records: which, and why. They are left out.
  std::vector<Diagnostic> left_out;
};
// `where`: what the text is, for diagnostics.
Recorded read_records(std::string_view text, std::string_view where);

// A measured point, or, with `best`, one to take.
std::string line_of(const Trial& trial, const std::string& kernel, bool best);

// Measured layouts, and one to take.
std::string line_of(const LayoutTrial& trial, const std::string& name);
std::string line_of(const PlacedLayout& layout, const LayoutTrial& trial, const std::string& name);

// {"costs": "webgpu.hardware", "adapter", "kernels", "points", "features": feature_count,
// "version", "base", "trees": [[feature, threshold, ..], ..]}: trees as BoostedTrees::Walk.
std::string line_of(const LearnedCosts& costs);

// What a device answers to a run that is benched (docs/specs/rpc.md): with a profile, or with the
// times of runs, of which this is the shortest in ms. Errors: neither is there.
Result<Timing> read_profile(std::string_view answer);
Result<double> read_time(std::string_view answer);

// An object with "adapter", "runMsBefore", "runMsAfter", "trials", "failures",
// "compileSeconds", "loadSeconds", "measureSeconds", "layoutTrials", "layoutFailures",
// "layoutsGivenUp", "layouts" that are not the rule's: "key", "class", "name", "origin", layouts
// "before" and "after"; and "kernels", those that took most first:
// "key", "class", "name", "origin", points "before" and "after", "msBefore", "msAfter", "trials".
std::string to_json(const Outcome& outcome);

// {"seconds", "layouts", "layoutGain", "trials", "gain", "kernel", "kernelGain", "share",
// "kernels": [{"name", "origin", "msBefore", "ms"}]}
std::string to_json(const Progress& progress);

}  // namespace gossamer::tune
