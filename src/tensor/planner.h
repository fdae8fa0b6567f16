// Which program computes tensors: a walk from what is wanted to what the caller has.
#pragma once

#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tensor/recorder.h"

namespace gossamer::tensor {

// A program's structure in words. Its values are numbered in the order in which they appear:
//
//   feed SPEC           an input
//   constant NUMBER
//   OPERATION INPUTS OUTPUTS value...   a node with so many inputs (absent: -1) and outputs
//   wanted COUNT (value SPEC)...        the end
namespace word {
constexpr int64_t feed = -1, constant = -2, wanted = -3;
}

class Recorder::Planner {
 public:
  explicit Planner(const Recorder& recorder) : recorder_(recorder) {}

  void plan(std::span<const Id> wanted);

  Words words;
  std::vector<Id> feeds;

 private:
  // Within what a gradient is of, tensors that the caller has are made anew from the tensors that
  // it is by, where a gradient goes through them: a scope, inside of the one around the gradient.
  struct Scope {
    int around = 0;
    std::unordered_set<Id> xs = {};
    std::unordered_map<Id, bool> depends = {};
  };
  struct Place {
    int scope;
    Id id;
  };

  static uint64_t key(Place place) { return (static_cast<uint64_t>(place.scope) << 32) | place.id; }
  const int64_t* find(Place place) const {
    const auto found = values_.find(key(place));
    return found == values_.end() ? nullptr : &found->second;
  }
  void name(Place place) { values_.emplace(key(place), next_++); }
  bool depends(Scope& scope, Id id) const;
  bool has_history(Id id);
  Place resolve(Place place);
  std::vector<Place> inputs_of(Place place);
  void walk(Place start);
  void add_node(Place place, const std::vector<Place>& inputs);

  const Recorder& recorder_;
  std::vector<Scope> scopes_{Scope{}};
  std::unordered_map<uint64_t, int> gradient_scopes_;  // by the node, in its scope
  std::unordered_map<Id, bool> histories_;
  std::unordered_map<uint64_t, int64_t> values_;
  int64_t next_ = 0;
};

}  // namespace gossamer::tensor
