/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests and responses: what decodes can be written again, and what is written decodes to the
 * same bytes; protobuf's own reader takes it, too; what is refused says why. Memory keeps to what
 * codec.h promises.
 */
#include "core/base/err.h"
#include "proto/codec/codec.h"
#include "proto/hearsay.pb-c.h"
#include "tests/fuzz/fuzz.h"
#include "tests/lib/wire_fixture.h"

enum { HEADER = LIMIT_FRAME_HEADER_BYTES };

static bool protobuf_takes(const struct wire_side *side, const uint8_t *frame, size_t length)
{
    const ProtobufCMessageDescriptor *descriptor = side == &wire_sides[0]
                                                       ? &hearsay__v1__request__descriptor
                                                       : &hearsay__v1__response__descriptor;
    ProtobufCMessage *message = protobuf_c_message_unpack(descriptor, NULL, length, frame);

    if (message == NULL) {
        return false;
    }
    protobuf_c_message_free_unpacked(message, NULL);
    return true;
}

static void try_side(const struct wire_side *side, const uint8_t *frame, size_t length)
{
    struct msg_error error = {.code = 0};
    struct arena arena;
    struct bytes first;
    struct bytes second;

    bytes_init(&first, alloc_system());
    bytes_init(&second, alloc_system());
    arena_init(&arena, alloc_system(), side->arena_bytes);
    const int rc = side->again(frame, length, &arena, &first, &error);
    FUZZ_CHECK(arena.held_bytes <= side->arena_bytes);
    arena_reset(&arena);
    if (rc == 0) {
        FUZZ_CHECK(protobuf_takes(side, frame, length));
        FUZZ_CHECK(first.count > HEADER);
        /* Once written it is in its one form: reading and writing it changes nothing more. */
        FUZZ_CHECK(
            side->again(first.data + HEADER, first.count - HEADER, &arena, &second, &error) == 0);
        FUZZ_CHECK(first.count == second.count &&
                   memcmp(first.data, second.data, first.count) == 0);
    } else {
        FUZZ_CHECK(rc == CODEC_MALFORMED || rc == CODEC_INVALID);
        FUZZ_CHECK(error.message[0] != '\0');
        FUZZ_CHECK((error.code == HEARSAY_CODE_MALFORMED) == (rc == CODEC_MALFORMED));
        /* No frame within the limits is refused for its memory. */
        FUZZ_CHECK(!arena.refused);
    }
    arena_deinit(&arena);
    bytes_deinit(&first);
    bytes_deinit(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > LIMIT_FRAME_BYTES_DEFAULT) {
        return 0;
    }
    for (size_t i = 0; i < WIRE_SIDES; i++) {
        try_side(&wire_sides[i], data, size);
    }
    return 0;
}
