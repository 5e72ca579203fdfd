/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/hash.h"

#include <xxhash.h>

struct hash128 hash_label(const void *bytes, size_t length)
{
    XXH128_hash_t hash = XXH3_128bits(bytes, length);

    return (struct hash128){.low64 = hash.low64, .high64 = hash.high64};
}

struct hash128 hash128_seeded(const void *bytes, size_t length, uint64_t seed)
{
    XXH128_hash_t hash = XXH3_128bits_withSeed(bytes, length, seed);

    return (struct hash128){.low64 = hash.low64, .high64 = hash.high64};
}

uint64_t hash_seeded(const void *bytes, size_t length, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes, length, seed);
}
