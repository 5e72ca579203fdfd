/* SPDX-License-Identifier: Apache-2.0 */
/* Letters between bridges: what decodes can be written again, and then decodes to the same bytes;
 * what is refused says why. */
#include "core/base/err.h"
#include "proto/codec/letter.h"
#include "tests/fuzz/fuzz.h"

/* Decodes and encodes what came out. Outcomes of decoding. */
static int write_again(const uint8_t *bytes, size_t length, struct arena *arena, struct bytes *out,
                       struct msg_error *error)
{
    struct msg_letter letter;
    int rc = letter_decode(bytes, length, arena, &letter, error);

    if (rc == 0 && letter.kind != MSG_LETTER_UNKNOWN) {
        rc = letter_encode(&letter, out);
        FUZZ_CHECK(rc == 0 || rc == CODEC_TOO_LARGE);
        rc = 0;
    }
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct msg_error error = {.code = 0};
    struct arena arena;
    struct bytes first;
    struct bytes second;

    bytes_init(&first, alloc_system());
    bytes_init(&second, alloc_system());
    arena_init(&arena, alloc_system(), size + CODEC_RESPONSE_ARENA_BYTES);
    const int rc = write_again(data, size, &arena, &first, &error);
    arena_reset(&arena);
    if (rc == 0 && first.count > 0) {
        FUZZ_CHECK(write_again(first.data, first.count, &arena, &second, &error) == 0);
        FUZZ_CHECK(first.count == second.count &&
                   memcmp(first.data, second.data, first.count) == 0);
    } else if (rc != 0) {
        FUZZ_CHECK(rc == CODEC_MALFORMED || rc == CODEC_INVALID);
        FUZZ_CHECK(error.message[0] != '\0');
    }
    arena_deinit(&arena);
    bytes_deinit(&first);
    bytes_deinit(&second);
    return 0;
}
