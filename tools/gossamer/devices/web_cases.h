// Test cases on a web target: compiled here, run by the Node harness in web/tests, judged here.
#pragma once

#include <functional>

#include "gossamer/devices/web_harness.h"
#include "gossamer/judge/judge.h"

namespace gossamer::command {

struct WebTestOptions {
  std::string target;
  BrowserOptions browser;
  std::string adapters = "any";                   // compiler::Options::adapters
  const records::PointSource* records = nullptr;  // compiler::Options::records
  bool f16 = false;                               // compiler::Options::f16
  bool relaxed_simd = true;                       // compiler::Options::relaxed_simd
  int jobs = 1;
  double timeout = 0;
  int threads = 0;
  bool open = false;  // JudgeOptions::open
  const KeptVerdicts* kept = nullptr;
};

// Called with a case's place and its verdict.
using Done = std::function<void(size_t at, const Verdict&)>;

// Calls `done` for each case; those that are compiled again come later than others.
// Errors: Node or the built run time is missing, the harness ended. With `kept`, a browser is
// started for the first case that has to run.
Result<> run_web_cases(const std::vector<TestCase>& cases, const WebTestOptions& options,
                       const JudgeOptions& judging, const Done& done);

}  // namespace gossamer::command
