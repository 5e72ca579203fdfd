/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/base/cli.h"

#include <errno.h>
#include <grp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns whether the options ask for TLS. */
static bool is_wanted(const struct cli *cli)
{
    return cli->tls || cli->tls_ca != NULL || cli->tls_pins.count > 0 ||
           cli->tls_certificate != NULL;
}

/* Tells the user that nobody has verified the certificate of this server. */
static void tell_of_first_use(const struct cli *cli, const struct hearsay_tls_info *info)
{
    char pin[2 * sizeof(info->pin) + 1];

    number_print_hex(info->pin, sizeof(info->pin), pin);
    cli_complain(cli, "met %s for the first time, and believed it; its pin is %s", cli->server,
                 pin);
}

/* Fills the options of TLS. `known` is a buffer for the path of the file of known servers. */
static void fill_tls(const struct cli *cli, char known[PLACE_PATH_BYTES], struct hearsay_tls *tls)
{
    memset(tls, 0, sizeof(*tls));
    tls->pins = cli->tls_pins.items;
    tls->pin_count = cli->tls_pins.count;
    tls->ca = cli->tls_ca;
    tls->certificate = cli->tls_certificate;
    tls->key = cli->tls_key;
    if (tls->pin_count == 0 && tls->ca == NULL &&
        place_file(cli, PLACE_STATE, CONNECT_KNOWN_SERVERS, true, known) == CLI_DONE) {
        tls->known_servers = known;
    }
}

static int connect_within(const struct cli *cli, int timeout_ms, const uint8_t *token,
                          size_t token_bytes, struct hearsay **out_server,
                          struct hearsay_error *out_error)
{
    char known[PLACE_PATH_BYTES];
    struct hearsay_tls tls;
    struct hearsay_connect options;
    hearsay_connect_init(&options);
    options.server = cli->server;
    options.agent = "hearsay/" HEARSAY_VERSION;
    options.resume_token = token;
    options.resume_bytes = token_bytes;
    options.timeout_ms = timeout_ms;
    if (is_wanted(cli)) {
        fill_tls(cli, known, &tls);
        options.tls = &tls;
    }
    int status = hearsay_connect(&options, out_server, out_error);
    if (status == HEARSAY_OK) {
        const struct hearsay_tls_info *info = hearsay_tls_info(*out_server);
        if (info != NULL && info->believed_by == HEARSAY_BELIEVED_FIRST_USE) {
            tell_of_first_use(cli, info);
        }
    }
    return status;
}

int connect_resuming(const struct cli *cli, const uint8_t *token, size_t token_bytes,
                     struct hearsay **out_server, struct hearsay_error *out_error)
{
    return connect_within(cli, cli_timeout(cli), token, token_bytes, out_server, out_error);
}

/* --- the server `auto` ------------------------------------------------------------------------ */

enum {
    TRY_MS = 700,    /* for each place */
    SEARCH_MS = 3000 /* for all places, however many a name server announces */
};

static int smaller_of(int a, int b)
{
    return a < b ? a : b;
}

/* Tries one place until end_us. Returns CLI_DONE, or CLI_CONNECTION without a message. */
static int try_place(struct cli *cli, const struct discover_place *place, int64_t end_us)
{
    int rest_ms = (int)((end_us - clock_monotonic_us()) / 1000);
    struct hearsay_error error;
    bool had_tls = cli->tls;

    if (rest_ms <= 0) {
        return CLI_CONNECTION;
    }
    memcpy(cli->found, place->server, sizeof(cli->found));
    cli->server = cli->found;
    cli->tls = had_tls || place->tls;
    int timeout_ms = smaller_of(smaller_of(cli_timeout(cli), TRY_MS), rest_ms);
    int status = connect_within(cli, timeout_ms, NULL, 0, &cli->connection, &error);
    if (status == HEARSAY_OK) {
        cli_complain(cli, "found %s (%s)", cli->server, place->how);
        return CLI_DONE;
    }
    cli->tls = had_tls;
    if (status != HEARSAY_ERR_CONNECT && status != HEARSAY_ERR_TIMEOUT) {
        cli_complain(cli, "%s (%s): %s", place->server, place->how, error.sentence);
    }
    return CLI_CONNECTION;
}

/* Connects to the first place that answers. Returns an exit code. */
static int connect_found(struct cli *cli)
{
    struct discover_place places[DISCOVER_PLACES_MAX];
    int64_t end_us = clock_monotonic_us() + SEARCH_MS * INT64_C(1000);

    for (int step = 0; step < DISCOVER_STEPS; step++) {
        size_t count = discover_places((enum discover_step)step, end_us, places);

        for (size_t i = 0; i < count && step == DISCOVER_DNS && count > 1; i++) {
            cli_complain(cli, "%s is %s", places[i].server, places[i].how);
        }
        for (size_t i = 0; i < count; i++) {
            if (try_place(cli, &places[i], end_us) == CLI_DONE) {
                return CLI_DONE;
            }
        }
    }
    cli_complain(cli,
                 "no hearsayd answered within 3 seconds on this machine, by an announcement in "
                 "DNS, or at the default gateway; --server ADDRESS names one");
    return CLI_CONNECTION;
}

/* Whether the server is a Unix socket that this user may not use; if so, tells who may. */
static bool tell_of_rights(const struct cli *cli)
{
    struct stat info;

    if (stat(cli->server, &info) != 0 || !S_ISSOCK(info.st_mode) ||
        access(cli->server, W_OK) == 0 || errno != EACCES) {
        return false;
    }
    const struct group *group = (info.st_mode & S_IWGRP) != 0 ? getgrgid(info.st_gid) : NULL;
    if (group != NULL) {
        cli_complain(cli,
                     "%s is for its user, root and the group %s: `sudo usermod -aG %s $USER` and "
                     "a new login, or `sudo hearsay ...`",
                     cli->server, group->gr_name, group->gr_name);
    } else {
        cli_complain(cli, "%s is for its user and root: `sudo hearsay ...`", cli->server);
    }
    return true;
}

int connect_server(struct cli *cli)
{
    struct hearsay_error error;
    if (cli->tls_key != NULL && cli->tls_certificate == NULL) {
        return cli_misuse(cli, "--key needs --cert, the certificate that it belongs to");
    }
    if (strcmp(cli->server, "auto") == 0) {
        return connect_found(cli);
    }
    int status = connect_resuming(cli, NULL, 0, &cli->connection, &error);
    if (status == HEARSAY_OK) {
        return CLI_DONE;
    }
    if (status == HEARSAY_ERR_CONNECT && tell_of_rights(cli)) {
        return CLI_CONNECTION;
    }
    if (status == HEARSAY_ERR_CONNECT) {
        cli_complain(cli, "%s (is hearsayd running there? --server says where to look)",
                     error.sentence);
        return CLI_CONNECTION;
    }
    return cli_report(cli, &error);
}

int connect_host(struct cli *cli, const char *name, const struct hearsay_host **out_host)
{
    int code = connect_server(cli);
    return code == CLI_DONE ? cli_find_host(cli, cli->connection, name, out_host) : code;
}
