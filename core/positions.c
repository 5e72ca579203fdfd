/* SPDX-License-Identifier: Apache-2.0 */
#include "core/positions.h"

#include <assert.h>

#include "core/bloom.h"
#include "core/hash.h"

static void values_seeded(const void *context, const void *element, size_t length, uint32_t count,
                          uint64_t *out_values)
{
    const uint64_t *seed = context;
    struct hash128 hash = hash128_seeded(element, length, *seed);

    for (uint32_t i = 0; i < count; i++) {
        out_values[i] = bloom_value(hash, i);
    }
}

struct positions positions_seeded(const uint64_t *seed)
{
    return (struct positions){.values = values_seeded, .context = seed};
}

void positions_of(struct positions positions, const void *element, size_t length, uint32_t count,
                  uint32_t bits, uint32_t *out_positions)
{
    uint64_t values[POSITIONS_MAX];

    assert(count <= POSITIONS_MAX && bits >= 1);
    positions.values(positions.context, element, length, count, values);
    for (uint32_t i = 0; i < count; i++) {
        out_positions[i] = (uint32_t)(values[i] % bits);
    }
}

void positions_of_pair(struct positions positions, const void *first, size_t first_length,
                       const void *second, size_t second_length, uint32_t count, uint32_t bits,
                       uint32_t *out_positions)
{
    uint64_t values[POSITIONS_MAX];
    uint64_t others[POSITIONS_MAX];

    assert(count <= POSITIONS_MAX && bits >= 1);
    positions.values(positions.context, first, first_length, count, values);
    positions.values(positions.context, second, second_length, count, others);
    for (uint32_t i = 0; i < count; i++) {
        out_positions[i] = (uint32_t)((values[i] ^ others[i]) % bits);
    }
}

void positions_set(uint64_t *filter, const uint32_t *positions, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        bloom_set(filter, positions[i]);
    }
}

bool positions_test(const uint64_t *filter, const uint32_t *positions, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!bloom_test(filter, positions[i])) {
            return false;
        }
    }
    return true;
}
