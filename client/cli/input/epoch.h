/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epoch: the option --epoch, and the file of the epoch keys that the user was given on site. Every
 * command that queries or deposits updates the file.
 */
#ifndef CLIENT_CLI_INPUT_EPOCH_H
#define CLIENT_CLI_INPUT_EPOCH_H

#include "client/cli/base/cli.h"

enum { EPOCH_KNOWN_MAX = 63 }; /* without the open epoch: the parts of one query, less 1 */

enum epoch_choice {
    EPOCH_AUTO, /* a query asks in epoch 0 and in every epoch whose key is known. A deposit goes to
                   the current epoch if its key is known, else to epoch 0 */
    EPOCH_OPEN, /* epoch 0, which has no key */
    EPOCH_CURRENT, /* the current epoch */
    EPOCH_LATEST   /* no option of the user: the open epoch and the current one */
};

extern const char *const epoch_choices[]; /* the first three, ended by NULL */

/* The row of a command's table whose struct has an int called `field`. */
#define EPOCH_OPTION(type, field, text) \
    ARGS_NAMES("epoch", 'e', type, field, "WHICH", epoch_choices, text)

/* The epochs that a command uses. */
struct epochs {
    bool open;                                   /* also the open one */
    struct hearsay_epoch known[EPOCH_KNOWN_MAX]; /* known_count of them, newest first */
    size_t known_count;
};

/*
 * Stores the keys that the server gave, and finds the epochs to search. CLI_DONE; CLI_USAGE after
 * saying why EPOCH_CURRENT is impossible: its key is not known, or not certain
 * (hearsay_keyring_living). Epochs whose key is not certain are used only together with the open
 * one. Warns when the file cannot be read or written, and goes on without it. Warns when a key
 * replaced another one.
 */
int epoch_find(const struct cli *cli, const struct hearsay *server, const struct hearsay_host *host,
               enum epoch_choice choice, struct epochs *out_epochs);

/* The epochs of a host, kept over requests and connections. Starts as zeros. */
struct epoch_follower {
    struct epochs epochs; /* to be used */
    bool is_known;
    uint64_t number;  /* of the current epoch when they were found */
    int64_t until_ms; /* when the first of them ends, on the server's clock */
    uint8_t store_id[HEARSAY_ID_BYTES];
    uint8_t
        resume_token[HEARSAY_RESUME_BYTES_MAX]; /* identifies the connection: each has another */
    size_t resume_bytes;
    char host[256];
};

/*
 * As epoch_find, but only when something changed since the last call: an epoch began or ended, or
 * host, store or connection is another one (keys are certain on the connection that gave them).
 * O(1) otherwise. Never waits.
 */
int epoch_follow(const struct cli *cli, struct hearsay *server, const struct hearsay_host *host,
                 enum epoch_choice choice, struct epoch_follower *follower);

/* The epoch of that number; NULL: its key is not known. */
const struct hearsay_epoch *epoch_among(const struct epochs *epochs, uint64_t number);

/*
 * Finds the one epoch to deposit in; its number is 0 for the open one. As epoch_find; also
 * CLI_USAGE for EPOCH_AUTO when the key of the current epoch is not certain.
 */
int epoch_for_deposit(const struct cli *cli, const struct hearsay *server,
                      const struct hearsay_host *host, enum epoch_choice choice,
                      struct hearsay_epoch *out_epoch);

#endif
