/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz: what fuzz targets share. A target is one file with LLVMFuzzerTestOneInput, the entry that
 * libFuzzer and AFL++ both know; it is linked with their main for `make fuzz`, and with replay.c
 * for the ordinary tests, which run every input of the corpus.
 *
 * A target proves a property of each input and stops the program where it does not hold. The same
 * input must always do the same: no clock, no random numbers, nothing left over from the last one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A finding. */
static inline void fuzz_fail(const char *file, int line, const char *property)
{
    (void)fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, property);
    abort();
}

/* The property: what is false is a finding. */
#define FUZZ_CHECK(property) ((property) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #property))

/* An input that is taken piece by piece; what is missing at its end is zero. */
struct fuzz_input {
    const uint8_t *data;
    size_t left;
};

static inline uint8_t fuzz_byte(struct fuzz_input *input)
{
    if (input->left == 0) {
        return 0;
    }
    input->left--;
    return *input->data++;
}

static inline uint32_t fuzz_u16(struct fuzz_input *input)
{
    const uint32_t high = fuzz_byte(input);

    return high << 8 | fuzz_byte(input);
}

/* At most `most` of the bytes that are left; they lie in the input. */
static inline const uint8_t *fuzz_bytes(struct fuzz_input *input, size_t most, size_t *out_count)
{
    const uint8_t *bytes = input->data;

    *out_count = most < input->left ? most : input->left;
    input->data += *out_count;
    input->left -= *out_count;
    return bytes;
}

/* A copy of its own, so that a sanitizer sees a read beyond it; to be freed. Never NULL. */
static inline uint8_t *fuzz_copy(const uint8_t *data, size_t count)
{
    uint8_t *copy = malloc(count + 1);

    FUZZ_CHECK(copy != NULL);
    if (count > 0) {
        memcpy(copy, data, count);
    }
    copy[count] = 0;
    return copy;
}
