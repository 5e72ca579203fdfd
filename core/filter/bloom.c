/* SPDX-License-Identifier: Apache-2.0 */
#include "core/filter/bloom.h"

#include "core/base/popcount.h"

enum { WORD_BITS = 64, WORD_BYTES = 8 };

size_t bloom_words(uint32_t m)
{
    return (size_t)(m / WORD_BITS) + (m % WORD_BITS != 0);
}

size_t bloom_bytes(uint32_t m)
{
    return (size_t)(m / 8) + (m % 8 != 0);
}

uint32_t bloom_position(struct hash128 hash, uint32_t i, uint32_t bits)
{
    return (uint32_t)(bloom_value(hash, i) % bits);
}

void bloom_set(uint64_t *filter, uint32_t p)
{
    filter[p / WORD_BITS] |= UINT64_C(1) << (p % WORD_BITS);
}

bool bloom_test(const uint64_t *filter, uint32_t p)
{
    return (filter[p / WORD_BITS] >> (p % WORD_BITS) & 1) != 0;
}

/* Reads a word from 8 bytes, the lowest byte first. Compilers make one load of the expression. */
static uint64_t whole_word(const uint8_t *b)
{
    return (uint64_t)b[0] | (uint64_t)b[1] << 8 | (uint64_t)b[2] << 16 | (uint64_t)b[3] << 24 |
           (uint64_t)b[4] << 32 | (uint64_t)b[5] << 40 | (uint64_t)b[6] << 48 |
           (uint64_t)b[7] << 56;
}

int bloom_load(uint64_t *out_filter, uint32_t m, const uint8_t *bytes, size_t length)
{
    if (length != bloom_bytes(m)) {
        return BLOOM_MALFORMED;
    }
    if (m % 8 != 0 && bytes[length - 1] >> (m % 8) != 0) {
        return BLOOM_MALFORMED;
    }
    size_t whole = length / WORD_BYTES;
    for (size_t w = 0; w < whole; w++) {
        out_filter[w] = whole_word(bytes + w * WORD_BYTES);
    }
    if (length % WORD_BYTES != 0) {
        out_filter[whole] = 0;
    }
    for (size_t i = whole * WORD_BYTES; i < length; i++) {
        out_filter[whole] |= (uint64_t)bytes[i] << (i % WORD_BYTES * 8);
    }
    return 0;
}

void bloom_store(const uint64_t *filter, uint32_t m, uint8_t *out_bytes)
{
    for (size_t i = 0; i < bloom_bytes(m); i++) {
        out_bytes[i] = (uint8_t)(filter[i / WORD_BYTES] >> (i % WORD_BYTES * 8) & 0xff);
    }
}

uint32_t bloom_cardinality(const uint64_t *filter, size_t words)
{
    uint32_t count = 0;

    for (size_t w = 0; w < words; w++) {
        count += popcount_word(filter[w]);
    }
    return count;
}

uint32_t bloom_union_count_range(const uint64_t *a, const uint64_t *b, uint32_t first,
                                 uint32_t count)
{
    if (count == 0) {
        return 0;
    }
    size_t w = first / WORD_BITS;
    size_t last = ((size_t)first + count - 1) / WORD_BITS;
    uint64_t head = UINT64_MAX << first % WORD_BITS;
    uint64_t tail = UINT64_MAX >> (WORD_BITS - 1 - (first + count - 1) % WORD_BITS);

    if (w == last) {
        return popcount_word((a[w] | b[w]) & head & tail);
    }
    uint32_t set = popcount_word((a[w] | b[w]) & head);
    while (++w < last) {
        set += popcount_word(a[w] | b[w]);
    }
    return set + popcount_word((a[w] | b[w]) & tail);
}

uint32_t bloom_intersection_count(const uint64_t *a, const uint64_t *b, size_t words)
{
    uint32_t count = 0;

    for (size_t w = 0; w < words; w++) {
        count += popcount_word(a[w] & b[w]);
    }
    return count;
}

uint32_t bloom_union_count(const uint64_t *a, const uint64_t *b, size_t words)
{
    uint32_t count = 0;

    for (size_t w = 0; w < words; w++) {
        count += popcount_word(a[w] | b[w]);
    }
    return count;
}

void bloom_union(uint64_t *out, const uint64_t *a, const uint64_t *b, size_t words)
{
    for (size_t w = 0; w < words; w++) {
        out[w] = a[w] | b[w];
    }
}

void bloom_intersection(uint64_t *out, const uint64_t *a, const uint64_t *b, size_t words)
{
    for (size_t w = 0; w < words; w++) {
        out[w] = a[w] & b[w];
    }
}

bool bloom_is_subset(const uint64_t *a, const uint64_t *b, size_t words)
{
    for (size_t w = 0; w < words; w++) {
        if ((a[w] & ~b[w]) != 0) {
            return false;
        }
    }
    return true;
}
