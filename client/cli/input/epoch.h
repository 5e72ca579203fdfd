/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epoch: --epoch, and the keys of epochs that the user was present for, which every command that
 * asks or deposits keeps up to date.
 */
#ifndef CLIENT_CLI_INPUT_EPOCH_H
#define CLIENT_CLI_INPUT_EPOCH_H

#include "client/cli/base/cli.h"

enum { EPOCH_KNOWN_MAX = 63 }; /* besides the open one: as many as a query takes */

enum epoch_choice {
    EPOCH_AUTO,    /* asking: all whose keys are known, and the open one; depositing: the current
                      one where its key is known, else the open one */
    EPOCH_OPEN,    /* the open one */
    EPOCH_CURRENT, /* the current one */
    EPOCH_LATEST   /* no option: as EPOCH_AUTO with the current one only */
};

extern const char *const epoch_choices[]; /* the first three, ended by NULL */

/* The row of a command's table whose struct has an int called `field`. */
#define EPOCH_OPTION(type, field, text)                                                       \
    {                                                                                         \
        .name = "epoch", .letter = 'e', .kind = ARGS_CHOICE, .offset = offsetof(type, field), \
        .value = "WHICH", .choices = epoch_choices, .help = (text)                            \
    }

/* What a command works with. */
struct epochs {
    bool open;                                   /* the open one, too */
    struct hearsay_epoch known[EPOCH_KNOWN_MAX]; /* known_count of them, newest first */
    size_t known_count;
};

/*
 * Learns the keys that the server gave, and finds the epochs of a choice to ask in. CLI_DONE; or
 * CLI_USAGE after saying why EPOCH_CURRENT is not possible: its key is not known, or not certain
 * (hearsay_keyring_living). An epoch whose key is not certain comes only with `open`. A memory that
 * cannot be read or written is complained of, and the command goes on without it. A key that
 * replaced another one is complained of.
 */
int epoch_find(const struct cli *cli, const struct hearsay *server, const struct hearsay_host *host,
               enum epoch_choice choice, struct epochs *out_epochs);

/* Epochs of a host over the time of a connection, or of several. Zeroed at first. */
struct epoch_follower {
    struct epochs epochs; /* to be used */
    bool is_known;
    uint64_t number;  /* of the current one, as the server said then */
    int64_t until_ms; /* the first of them is gone, by the server's clock */
    uint8_t store_id[HEARSAY_ID_BYTES];
    uint8_t resume_token[HEARSAY_RESUME_BYTES_MAX]; /* random, so another connection has another */
    size_t resume_bytes;
    char host[256];
};

/*
 * Finds the epochs as epoch_find does, anew where an epoch has begun or ended, or host or store are
 * others than the last time, or the connection is another: keys of epochs are certain for the
 * connection that gave them. Cheap where nothing has changed; never waits.
 */
int epoch_follow(const struct cli *cli, struct hearsay *server, const struct hearsay_host *host,
                 enum epoch_choice choice, struct epoch_follower *follower);

/* The one with that number; NULL: its key is not known. */
const struct hearsay_epoch *epoch_among(const struct epochs *epochs, uint64_t number);

/*
 * The same for depositing: at most one. *out_epoch has number 0 for the open one. CLI_USAGE after
 * saying so also for EPOCH_AUTO where the key of the current epoch is not certain.
 */
int epoch_for_deposit(const struct cli *cli, const struct hearsay *server,
                      const struct hearsay_host *host, enum epoch_choice choice,
                      struct hearsay_epoch *out_epoch);

#endif
