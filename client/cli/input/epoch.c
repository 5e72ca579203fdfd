/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/input/input.h"

#include <string.h>

const char *const epoch_choices[] = {"auto", "open", "current", NULL};

/*
 * Returns whether the Welcome contains the key of an epoch. Without such a key, the file of epoch
 * keys is not written.
 */
static bool gave_keys(const struct hearsay *server)
{
    const struct hearsay_welcome *welcome = hearsay_welcome(server);
    for (size_t i = 0; i < welcome->host_count; i++) {
        if (welcome->hosts[i].epoch.has_key) {
            return true;
        }
    }
    return false;
}

/* A server never changes the key of an epoch. */
static void complain_of_replaced(const struct cli *cli, const struct hearsay *server, size_t count)
{
    cli_complain(cli,
                 "WARNING: this server gives another key than before for %zu epoch%s, and its key "
                 "is used from now on: somebody imitates the server now or did so before, or its "
                 "operator has set it up anew%s",
                 count, count == 1 ? "" : "s",
                 hearsay_tls_info(server) == NULL ? "; without --tls nobody can tell servers apart"
                                                  : "");
}

/*
 * Updates the file of epoch keys, and fills *out with the epochs of the host that
 * hearsay_keyring_living finds in the file. If there are none, fills *out with the current epoch,
 * provided that the server gave the key of this epoch.
 */
static void read_known(const struct cli *cli, const struct hearsay *server,
                       const struct hearsay_host *host, struct epochs *out)
{
    char path[PLACE_PATH_BYTES];
    struct hearsay_error error;
    struct hearsay_keyring *keyring = NULL;
    bool gave = gave_keys(server);
    size_t replaced = 0;
    out->known_count = 0;
    if (place_file(cli, PLACE_STATE, "keys", gave, path) == CLI_DONE) {
        int status = hearsay_keyring_open(path, &keyring, &error);
        if (status == HEARSAY_OK) {
            status = hearsay_keyring_learn(keyring, server, &replaced, &error);
        }
        if (status == HEARSAY_OK) {
            out->known_count =
                hearsay_keyring_living(keyring, server, host, out->known, EPOCH_KNOWN_MAX);
            status = gave ? hearsay_keyring_save(keyring, &error) : HEARSAY_OK;
        }
        if (status != HEARSAY_OK) {
            cli_complain(cli, "%s; epochs of before may not be asked in", error.sentence);
        }
    }
    hearsay_keyring_close(keyring);
    if (replaced > 0) {
        complain_of_replaced(cli, server, replaced);
    }
    if (out->known_count == 0 && host->epoch.has_key) {
        out->known[out->known_count++] = host->epoch;
    }
}

/* Removes all epochs except the current one. */
static void keep_current(const struct hearsay_host *host, struct epochs *epochs)
{
    size_t kept = 0;
    for (size_t i = 0; i < epochs->known_count; i++) {
        if (host->epoch.number != 0 && epochs->known[i].number == host->epoch.number) {
            epochs->known[kept++] = epochs->known[i];
        }
    }
    epochs->known_count = kept;
}

/*
 * Returns CLI_DONE when the key of the epoch is certain. Otherwise prints that another server may
 * have given the key, and returns CLI_USAGE.
 */
static int check_certain(const struct cli *cli, const struct hearsay_host *host,
                         const struct hearsay_epoch *epoch, const char *what)
{
    if (epoch->is_certain) {
        return CLI_DONE;
    }
    cli_complain(cli,
                 "%s: the key of host %s's current epoch was stored on a connection without "
                 "--tls, so another server may have given it. Connect on site, use --tls in both "
                 "places, or say --epoch open",
                 what, host->name);
    return CLI_USAGE;
}

int epoch_find(const struct cli *cli, const struct hearsay *server, const struct hearsay_host *host,
               enum epoch_choice choice, struct epochs *out_epochs)
{
    memset(out_epochs, 0, sizeof(*out_epochs));
    read_known(cli, server, host, out_epochs);
    out_epochs->open = choice != EPOCH_CURRENT;
    if (choice == EPOCH_OPEN) {
        out_epochs->known_count = 0;
    } else if (choice != EPOCH_AUTO) {
        keep_current(host, out_epochs);
    }
    if (choice == EPOCH_CURRENT && out_epochs->known_count > 0) {
        return check_certain(cli, host, &out_epochs->known[0], "--epoch current");
    }
    if (choice == EPOCH_CURRENT) {
        cli_complain(cli,
                     host->epoch.number == 0
                         ? "--epoch current: host %s has no epochs"
                         : "--epoch current: host %s gives the key of its epoch only to those who "
                           "are on site, and it is not known from before",
                     host->name);
        return CLI_USAGE;
    }
    return CLI_DONE;
}

int epoch_for_deposit(const struct cli *cli, const struct hearsay_host *host,
                      enum epoch_choice choice, struct hearsay_epoch *out_epoch)
{
    struct epochs epochs;
    int code = epoch_find(cli, cli->connection, host, choice == EPOCH_AUTO ? EPOCH_LATEST : choice,
                          &epochs);
    memset(out_epoch, 0, sizeof(*out_epoch));
    if (code != CLI_DONE || epochs.known_count == 0) {
        return code;
    }
    code = check_certain(cli, host, &epochs.known[0], "deposit");
    if (code == CLI_DONE) {
        *out_epoch = epochs.known[0];
    }
    return code;
}

static bool is_as_before(const struct hearsay *server, const struct hearsay_host *host,
                         const struct epoch_follower *follower)
{
    const struct hearsay_welcome *welcome = hearsay_welcome(server);
    return follower->is_known && follower->number == host->epoch.number &&
           hearsay_now_ms(server) < follower->until_ms && strcmp(follower->host, host->name) == 0 &&
           memcmp(follower->store_id, welcome->store_id, HEARSAY_ID_BYTES) == 0 &&
           follower->resume_bytes == welcome->resume_bytes &&
           memcmp(follower->resume_token, welcome->resume_token, welcome->resume_bytes) == 0;
}

int epoch_follow(const struct cli *cli, const struct hearsay_host *host, enum epoch_choice choice,
                 struct epoch_follower *follower)
{
    struct hearsay *server = cli->connection;
    struct hearsay_epoch now;
    /*
     * If requests are in flight, the caller reads their replies, and with them the pushes of the
     * server. Otherwise pushes are read here. An error is ignored: the next request reports a lost
     * connection.
     */
    if (hearsay_in_flight(server) == 0) {
        (void)hearsay_current_epoch(server, host->name, &now, NULL);
    }
    if (is_as_before(server, host, follower)) {
        return CLI_DONE;
    }
    follower->is_known = false;
    int code = epoch_find(cli, server, host, choice, &follower->epochs);
    if (code != CLI_DONE) {
        return code;
    }
    follower->is_known = strlen(host->name) < sizeof(follower->host);
    follower->number = host->epoch.number;
    follower->until_ms = INT64_MAX;
    for (size_t i = 0; i < follower->epochs.known_count; i++) {
        int64_t kept_ms = follower->epochs.known[i].kept_ms;
        follower->until_ms = kept_ms < follower->until_ms ? kept_ms : follower->until_ms;
    }
    const struct hearsay_welcome *welcome = hearsay_welcome(server);
    memcpy(follower->store_id, welcome->store_id, HEARSAY_ID_BYTES);
    memcpy(follower->resume_token, welcome->resume_token, sizeof(follower->resume_token));
    follower->resume_bytes = welcome->resume_bytes;
    (void)snprintf(follower->host, sizeof(follower->host), "%s", host->name);
    return CLI_DONE;
}

const struct hearsay_epoch *epoch_among(const struct epochs *epochs, uint64_t number)
{
    for (size_t i = 0; i < epochs->known_count; i++) {
        if (epochs->known[i].number == number) {
            return &epochs->known[i];
        }
    }
    return NULL;
}
