// The inspector's page around a document, as one file.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace gossamer::inspect {

// `page`: web/inspector/dist/inspector.html, whose empty element `view` gets the document. Errors:
// the page has no such element.
Result<std::string> to_page(std::string_view page, std::string_view document);

// Whether a text is JSON of `gossamer bench --profile --json`.
bool is_profile(const std::string& text);

}  // namespace gossamer::inspect
