/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/epoch.h"

#include <string.h>

#include "client/cli/place.h"

const char *const epoch_choices[] = {"auto", "open", "current", NULL};

/* Whether the server gave a key with its Welcome: only then there is something to be saved. */
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

/* The epochs of the memory, those of now included. Without a memory: what the server gave. */
static void read_known(const struct cli *cli, const struct hearsay *server,
                       const struct hearsay_host *host, struct epochs *out)
{
    char path[PLACE_PATH_BYTES];
    struct hearsay_error error;
    struct hearsay_keyring *keyring = NULL;
    const bool gave = gave_keys(server);
    int status = HEARSAY_ERR_FILE;
    out->known_count = 0;
    if (place_file(cli, PLACE_STATE, "keys", gave, path) == CLI_DONE) {
        status = hearsay_keyring_open(path, &keyring, &error);
        if (status == HEARSAY_OK) {
            status = hearsay_keyring_learn(keyring, server, &error);
        }
        if (status == HEARSAY_OK && gave) {
            out->known_count =
                hearsay_keyring_living(keyring, server, host, out->known, EPOCH_KNOWN_MAX);
            status = hearsay_keyring_save(keyring, &error);
        } else if (status == HEARSAY_OK) {
            out->known_count =
                hearsay_keyring_living(keyring, server, host, out->known, EPOCH_KNOWN_MAX);
        }
        if (status != HEARSAY_OK) {
            cli_complain(cli, "%s; epochs of before may not be asked in", error.sentence);
        }
    }
    hearsay_keyring_close(keyring);
    if (out->known_count == 0 && host->epoch.has_key) {
        out->known[out->known_count++] = host->epoch;
    }
}

/* Only the current one, if it is among them. */
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
    if (choice == EPOCH_CURRENT && out_epochs->known_count == 0) {
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

int epoch_for_deposit(const struct cli *cli, const struct hearsay *server,
                      const struct hearsay_host *host, enum epoch_choice choice,
                      struct hearsay_epoch *out_epoch)
{
    struct epochs epochs;
    int code = epoch_find(cli, server, host, choice == EPOCH_AUTO ? EPOCH_LATEST : choice, &epochs);
    memset(out_epoch, 0, sizeof(*out_epoch));
    if (code == CLI_DONE && epochs.known_count > 0) {
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
           memcmp(follower->store_id, welcome->store_id, HEARSAY_ID_BYTES) == 0;
}

int epoch_follow(const struct cli *cli, struct hearsay *server, const struct hearsay_host *host,
                 enum epoch_choice choice, struct epoch_follower *follower)
{
    struct hearsay_epoch now;
    /* While answers are under way they are read, and what is told unasked with them. A connection
     * that is lost shows at what is sent next. */
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
        const int64_t kept_ms = follower->epochs.known[i].kept_ms;
        follower->until_ms = kept_ms < follower->until_ms ? kept_ms : follower->until_ms;
    }
    memcpy(follower->store_id, hearsay_welcome(server)->store_id, HEARSAY_ID_BYTES);
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
