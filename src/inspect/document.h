// The document that the inspector's page shows: one JSON text with the graph, the weights'
// histograms and what each target makes of the model. web/inspector/src/document.ts has its types.
#pragma once

#include <span>
#include <string>

#include "inspect/examined.h"

namespace gossamer::inspect {

// `profiles`: JSON of `gossamer bench --profile --json`, whose `device` says which view they
// belong to.
std::string to_document(const Examined& examined, std::span<const View> views,
                        std::span<const std::string> profiles = {});

}  // namespace gossamer::inspect
