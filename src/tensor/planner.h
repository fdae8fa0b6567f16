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
//   weight TOKEN_AND_SPEC   a leaf that is frozen
//   OPERATION INPUTS OUTPUTS value...   a node with so many inputs (absent: -1) and outputs
//   wanted COUNT (value SPEC)...        the end
namespace word {
constexpr int64_t feed = -1, constant = -2, wanted = -3, weight = -4;

// TOKEN_AND_SPEC
constexpr int64_t specs = int64_t{1} << 24;
constexpr int64_t weight_of(int32_t token, int spec) { return token * specs + spec; }
}  // namespace word

class Recorder::Planner {
 public:
  Planner(Recorder& recorder, bool frozen) : recorder_(recorder), frozen_(frozen) {
    ++recorder.plans_;
  }

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

  // A node's inputs; the one at `y`, which a gradient is of, is in a scope.
  struct Reading {
    const Node& node;
    Place at;
    size_t y;
    int scope;
  };

  static uint64_t key(Place place) { return (static_cast<uint64_t>(place.scope) << 32) | place.id; }
  // A value's number; -1: it has none yet.
  int64_t find(Place place) const;
  void name(Place place);
  bool depends(Scope& scope, Id id) const;
  bool has_history(Id id);
  Place resolve(Place place);
  Reading reading_of(Place place);
  Place input(const Reading& reading, size_t i);
  void walk(Place start);
  void add_node(const Reading& reading);

  Recorder& recorder_;
  const bool frozen_;
  std::vector<Scope> scopes_{Scope{}};
  std::unordered_map<uint64_t, int> gradient_scopes_;  // by the node, in its scope
  std::unordered_map<Id, bool> histories_;
  std::unordered_map<uint64_t, int64_t> values_;  // in scopes; others are with their tensors
  int64_t next_ = 0;
};

}  // namespace gossamer::tensor
