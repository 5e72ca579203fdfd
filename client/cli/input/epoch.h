/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epoch: the option --epoch, and the file of epoch keys. A server gives the key of its current
 * epoch to clients on site. The commands that query, watch or deposit store the key in the file.
 */
#ifndef CLIENT_CLI_INPUT_EPOCH_H
#define CLIENT_CLI_INPUT_EPOCH_H

#include "client/cli/base/cli.h"

enum { EPOCH_KNOWN_MAX = 63 }; /* without the open epoch: the parts of one query, less 1 */

enum epoch_choice {
    /* without the option: a query searches epoch 0 and the epochs whose keys are known; a deposit
     * goes to the current epoch if its key is known, else to epoch 0 */
    EPOCH_AUTO,
    EPOCH_OPEN,    /* epoch 0, which has no key */
    EPOCH_CURRENT, /* the current epoch */
    EPOCH_LATEST   /* no option of the user: the open epoch and the current one */
};

extern const char *const epoch_choices[]; /* the first three, ended by NULL */

/*
 * A row of a command's table of options, for the option --epoch. `type` is the struct of options;
 * its int called `field` gets the choice.
 */
#define EPOCH_OPTION(type, field, text) ARGS_NAMES("epoch", 'e', type, field, epoch_choices, text)

/* The epochs that a command uses. */
struct epochs {
    bool open;                                   /* also the open one */
    struct hearsay_epoch known[EPOCH_KNOWN_MAX]; /* known_count of them, newest first */
    size_t known_count;
};

/*
 * Stores the keys that the server gave, and finds the epochs to search. Returns CLI_DONE; or, for
 * EPOCH_CURRENT, CLI_USAGE after printing that the host has no epochs, or that the key of the
 * current epoch is not known or not certain (see hearsay_keyring_living). An epoch whose key is not
 * certain is searched only together with the open epoch. Prints a warning and continues when the
 * file cannot be read or written. Prints a warning when a key has replaced another key.
 */
int epoch_find(const struct cli *cli, const struct hearsay *server, const struct hearsay_host *host,
               enum epoch_choice choice, struct epochs *out_epochs);

/*
 * The epochs of a host, stored from one request to the next and from one connection to the next.
 * Initially zeros.
 */
struct epoch_follower {
    struct epochs epochs; /* to be used */
    bool is_known;
    uint64_t number;  /* of the current epoch when the epochs were found */
    int64_t until_ms; /* when the server deletes the first of the epochs, on the server's clock */
    uint8_t store_id[HEARSAY_ID_BYTES];
    uint8_t
        resume_token[HEARSAY_RESUME_BYTES_MAX]; /* identifies the connection: each has another */
    size_t resume_bytes;
    char host[256];
};

/*
 * Updates follower->epochs with epoch_find, but only if something has changed since the last call:
 * an epoch has begun, the server has deleted one of the epochs, or `host`, the store or the
 * connection is another one. A new connection counts as a change because a key may be certain on
 * one connection and not on another. Returns what epoch_find returns. O(1) if nothing has changed.
 * Does not wait for the server.
 */
int epoch_follow(const struct cli *cli, const struct hearsay_host *host, enum epoch_choice choice,
                 struct epoch_follower *follower);

/* Returns the epoch with this number, or NULL when *epochs does not have it. */
const struct hearsay_epoch *epoch_among(const struct epochs *epochs, uint64_t number);

/*
 * Finds the epoch to deposit in. out_epoch->number is 0 for the open epoch. Returns what epoch_find
 * returns. Also returns CLI_USAGE for EPOCH_AUTO when the key of the current epoch is not certain.
 */
int epoch_for_deposit(const struct cli *cli, const struct hearsay_host *host,
                      enum epoch_choice choice, struct hearsay_epoch *out_epoch);

#endif
