/* SPDX-License-Identifier: Apache-2.0 */
/* payload: what a message says: words of the command line, a file, or standard input. */
#ifndef CLIENT_CLI_INPUT_PAYLOAD_H
#define CLIENT_CLI_INPUT_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/cli/base/cli.h"

/* No server takes more in a frame; reading stops there. */
enum { PAYLOAD_BYTES_MAX = 1024 * 1024 };

struct payload {
    char *bytes;         /* owned */
    size_t count;        /* read: PAYLOAD_BYTES_MAX + 1 at most */
    uint64_t size_bytes; /* of all of it, as far as known; at least count */
    bool whole;          /* false: there was more than count, and size_bytes may be too small */
    const char *type;    /* text/plain where it is UTF-8, else application/octet-stream; static */
};

/*
 * file NULL: the words, with spaces between; without words standard input. CLI_DONE, or an exit
 * code after saying why; payload_free is due in any case.
 */
int payload_read(const struct cli *cli, const char *file, int word_count, char *const *words,
                 struct payload *out_payload);
void payload_free(struct payload *payload);

#endif
