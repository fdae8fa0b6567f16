// Tokens of those who connect.
#pragma once

#include <string_view>

namespace gossamer::net {

// Takes as long wherever the texts differ.
bool equal_secrets(std::string_view a, std::string_view b);

}  // namespace gossamer::net
