// CRC-32 as gzip has it.
#pragma once

#include <cstdint>
#include <string_view>

namespace tony {

uint32_t Crc32(std::string_view bytes);

}  // namespace tony
