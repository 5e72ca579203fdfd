/* SPDX-License-Identifier: Apache-2.0 */
/* files: whole files, read and written. Failures fail the test. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { FILES_BYTES_MAX = 8 * 1024 * 1024 };

struct files_bytes {
    uint8_t *data; /* the caller's to free; never NULL */
    size_t count;
};

/* The bytes of a file of less than FILES_BYTES_MAX; none when it is not there. */
struct files_bytes files_read(const char *path);

/* Makes a file with these bytes, in place of one that is there. */
void files_write(const char *path, const void *data, size_t count);
