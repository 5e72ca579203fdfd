/* SPDX-License-Identifier: Apache-2.0 */
/*
 * payload: reads the payload of a message from the words of the command line, from a file, or from
 * standard input.
 */
#ifndef CLIENT_CLI_INPUT_PAYLOAD_H
#define CLIENT_CLI_INPUT_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/cli/base/cli.h"

/* No server takes a larger payload. Reading stops one byte after this number of bytes. */
enum { PAYLOAD_BYTES_MAX = 1024 * 1024 };

struct payload {
    char *bytes;         /* owned */
    size_t count;        /* bytes read, at most PAYLOAD_BYTES_MAX + 1 */
    uint64_t size_bytes; /* size of the whole input, as far as it is known; at least `count` */
    bool whole; /* true: `bytes` is the whole input. false: the input is longer than `count` bytes,
                 * and size_bytes may be too small */
    const char *type; /* media type of the payload: text/plain if the payload is UTF-8, else
                       * application/octet-stream; static storage */
};

/*
 * Reads the payload. If `file` is NULL, the payload is the words joined by spaces; without words,
 * and for the file "-", standard input is read. An empty payload is an error, and so are words
 * together with a file. Returns CLI_DONE, or an exit code after printing the error. Call
 * payload_free afterwards, also after an error.
 */
int payload_read(const struct cli *cli, const char *file, int word_count, char *const *words,
                 struct payload *out_payload);
void payload_free(struct payload *payload);

#endif
