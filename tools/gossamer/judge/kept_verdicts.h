// Verdicts kept from run to run (docs/commands.md, "test"): a case that passed does not run on a
// device again until something that decides its verdict changes.
#pragma once

#include <cstdio>
#include <memory>

#include "gossamer/judge/case_key.h"
#include "gossamer/judge/verdict_store.h"

namespace gossamer::command {

// Everything outside of a case that decides its verdict.
struct TestSetting {
  std::string device;   // its name in identity.json: "cpu", "native_webgpu", "chromium"
  std::string place;    // the name of the files that keep its verdicts
  std::string run;      // options that a run or the judge depends on
  std::string compile;  // options that the package alone depends on
};

// A pass is found by either of two keys. The first one is of this program and the files of the
// case; it saves the compilation too. The second one is of the package that was compiled, so that
// it outlives changes of the compiler that leave this package as it was.
class KeptVerdicts {
 public:
  // `folder` has identity.json, which tools/check/verdicts.mjs writes. Errors: there is none, or it
  // does not describe this program, the device, or the files and the environment as they are now;
  // the file $GOSSAMER_VERDICTS_SEEN cannot be written.
  static Result<std::unique_ptr<KeptVerdicts>> open(const std::filesystem::path& folder,
                                                    TestSetting setting);

  // "" where the files cannot be read, which their case will report.
  std::string files_key(const TestCase& test) const;
  // Whether packages of this device are known by LLVM's input, which is made in much less time than
  // machine code: `files` of package_key() are then of compiler::CodeForm::bitcode.
  bool takes_bitcode() const { return takes_bitcode_; }

  // Arguments as of add_run.
  std::string package_key(const package::Files& files, std::span<const ops::TensorData> feeds,
                          const CaseContent& content, const ModelTraits& traits) const;

  // `kept` and `package_key` of the verdict are set.
  std::optional<Verdict> find(const std::string& key, const std::string& name) const;
  // Keeps a pass under the key of its files and verdict.package_key, which becomes a line of the
  // file $GOSSAMER_VERDICTS_SEEN too, if there is that variable.
  void keep(const std::string& files_key, const Verdict& verdict);

 private:
  KeptVerdicts(std::string by_files, std::string by_package, bool takes_bitcode, VerdictStore store)
      : by_files_(std::move(by_files)),
        by_package_(std::move(by_package)),
        takes_bitcode_(takes_bitcode),
        store_(std::move(store)) {}

  std::string by_files_, by_package_;  // what keys of either kind begin with
  bool takes_bitcode_;
  VerdictStore store_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> seen_{nullptr, std::fclose};
};

}  // namespace gossamer::command
