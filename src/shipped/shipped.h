// Records that come with the compiler, for classes of devices: CLASS.jsonl in this folder. Which of
// them count follows from the target and what is known of the device.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compiler/compile.h"
#include "tune/text.h"

namespace gossamer::shipped {

// The class of a device, by the name that its driver gives: "nvidia" of "opencl, NVIDIA H200,
// driver 580.159.04". "": none that is known.
std::string_view device_class_of(std::string_view adapter);

// Those that there are, with records or without.
std::span<const std::string_view> device_classes();

// "": what follows from the target alone; "none": no records come with it.
constexpr std::string_view no_class = "none";

// The classes whose records code for this device takes: of the processor (options.cpu) or the
// engine of wasm, of what acts as a GPU where there is none, and the one that is given. Errors: an
// unknown class.
Result<std::vector<std::string_view>> classes_for(const compiler::Options& options,
                                                  std::string_view device_class);

// The lines of a class, "" where it has none: nothing was found that is faster there.
std::string_view lines_of(std::string_view device_class);

// How a device calls itself; "": not known. Opening one to ask it takes time.
using Adapter = std::function<std::string()>;

// Adds the records of classes_for() to the user's own. Without a class (""), `adapter`, if any,
// says it, and is asked only where a class of GPUs has records for the target. Errors: as there.
Result<> add_to(records::Records& records, const compiler::Options& options,
                std::string_view device_class, const Adapter& adapter = {});
// With what was learned of such devices, which searches begin with.
Result<> add_to(tune::Recorded& recorded, const compiler::Options& options,
                std::string_view device_class, const Adapter& adapter = {});

}  // namespace gossamer::shipped
