/* SPDX-License-Identifier: Apache-2.0 */
/*
 * msg_base: the types of bytes and texts in the plain structs. Include proto/msg.h.
 */
#ifndef PROTO_MSG_BASE_H
#define PROTO_MSG_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/limits.h"

/*
 * A field of bytes. `data` is NULL if the field is absent. If the field is present, `data` is not
 * NULL, also where `count` is 0.
 */
struct msg_bytes {
    const uint8_t *data;
    size_t count;
};

/*
 * A field with a text in UTF-8. `text` is NULL if the field is absent. A decoded text ends with a
 * NUL, which `length` does not count, and has no other NUL. A text to be encoded needs no NUL at
 * its end.
 */
struct msg_text {
    const char *text;
    size_t length;
};

#endif
