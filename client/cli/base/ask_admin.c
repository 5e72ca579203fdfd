/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/base/cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/*
 * The usual paths of the daemon's admin socket. SHARED_SOCKET is the path if the configuration of
 * the daemon has the key admin_group. PACKAGE_SOCKET is the path if the daemon was installed from a
 * package and has no admin_group.
 */
#define SHARED_SOCKET  "/run/hearsay/admin.sock"
#define PACKAGE_SOCKET "/var/lib/hearsay/hearsayd.sock"

static bool is_socket(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISSOCK(status.st_mode);
}

/*
 * Finds the path of the daemon's socket. Returns CLI_DONE with the path in `out`, or CLI_CONNECTION
 * after printing which paths were tried.
 */
static int find_socket(const struct cli *cli, char out[PLACE_PATH_BYTES])
{
    static const char *const named[] = {"HEARSAY_ADMIN", "HEARSAY_SERVER"};
    char own[PLACE_PATH_BYTES] = "";
    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
        const char *value = getenv(named[i]);
        bool is_usable = value != NULL && (i == 0 ? value[0] != '\0' : strchr(value, '/') != NULL);
        if (is_usable && snprintf(out, PLACE_PATH_BYTES, "%s", value) < PLACE_PATH_BYTES) {
            return CLI_DONE;
        }
    }
    /* the socket of a daemon that this user has started */
    bool has_own = place_path(PLACE_STATE, "hearsayd/hearsayd.sock", own) == 0;
    const char *const usual[] = {SHARED_SOCKET, PACKAGE_SOCKET, has_own ? own : NULL};
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
        if (usual[i] != NULL && is_socket(usual[i])) {
            (void)snprintf(out, PLACE_PATH_BYTES, "%s", usual[i]);
            return CLI_DONE;
        }
    }
    cli_complain(
        cli,
        "no daemon's socket is found: " SHARED_SOCKET ", " PACKAGE_SOCKET " and %s are not "
        "there, or not for you to see. Is hearsayd running, and are you its user, root (`sudo "
        "hearsay ...`), or in its admin_group? Name another socket with --server or HEARSAY_ADMIN",
        own[0] != '\0' ? own : "one in your state directory");
    return CLI_CONNECTION;
}

int admin_connect(struct cli *cli, const char *host)
{
    const struct hearsay_host *found = NULL;
    struct cli local = *cli;
    char path[PLACE_PATH_BYTES];
    int code = CLI_DONE;
    if (!cli->server_is_said) {
        code = find_socket(cli, path);
        local.server = path;
    }
    if (code == CLI_DONE) {
        code = connect_server(&local);
        cli->connection = local.connection;
    }
    if (code == CLI_DONE && host != NULL) {
        code = cli_find_host(cli, cli->connection, host, &found);
    }
    return code;
}

int admin_connect_one(struct cli *cli, const char *host)
{
    int code = admin_connect(cli, host);
    if (code == CLI_DONE && host == NULL) {
        const struct hearsay_welcome *welcome = hearsay_welcome(cli->connection);
        char others[CLI_HOSTS_BYTES];
        cli_name_hosts(welcome, 1, others);
        if (others[0] != '\0') {
            cli_complain(cli, "at host %s; there is also: %s (--host)", welcome->hosts[0].name,
                         others);
        }
    }
    return code;
}

int admin_ask(const struct cli *cli, const struct hearsay_request *request,
              const struct hearsay_response **out_response)
{
    struct hearsay_error error;
    bool is_slow =
        request->kind == HEARSAY_REQUEST_CHECK || request->kind == HEARSAY_REQUEST_BACKUP ||
        request->kind == HEARSAY_REQUEST_COMPACT || request->kind == HEARSAY_REQUEST_SIMILAR;
    int timeout_ms = is_slow && cli->timeout_ms == 0 ? ADMIN_PATIENCE_MS : cli_timeout(cli);
    if (hearsay_ask(cli->connection, request, timeout_ms, out_response, &error) == HEARSAY_OK) {
        return CLI_DONE;
    }
    int code = cli_report(cli, &error);
    if (error.code == HEARSAY_CODE_FORBIDDEN) {
        cli_complain(cli,
                     "this needs the daemon's Unix socket, which is found without --server, and "
                     "its user, root or a member of its admin_group: sudo hearsay admin ...");
    }
    return code;
}

int admin_call(struct cli *cli, const char *host, const struct hearsay_request *request,
               const struct hearsay_response **out_response)
{
    int code = admin_connect(cli, host);
    return code == CLI_DONE ? admin_ask(cli, request, out_response) : code;
}

int admin_call_one(struct cli *cli, const char *host, const struct hearsay_request *request,
                   const struct hearsay_response **out_response)
{
    int code = admin_connect_one(cli, host);
    return code == CLI_DONE ? admin_ask(cli, request, out_response) : code;
}
