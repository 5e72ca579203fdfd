/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/admin.h"

int admin_connect(const struct cli *cli, const char *host, struct hearsay **out_server)
{
    const struct hearsay_host *found = NULL;
    int code = cli_connect(cli, out_server);
    if (code == CLI_DONE && host != NULL) {
        code = cli_find_host(cli, *out_server, host, &found);
        if (code != CLI_DONE) {
            hearsay_close(*out_server);
        }
    }
    return code;
}

int admin_ask(const struct cli *cli, struct hearsay *server, const struct hearsay_admin *admin,
              bool slow, const struct hearsay_admin_reply **out_reply)
{
    struct hearsay_error error;
    const int timeout_ms = slow && cli->timeout_ms == 0 ? ADMIN_PATIENCE_MS : cli_timeout(cli);
    if (hearsay_admin(server, admin, timeout_ms, out_reply, &error) == HEARSAY_OK) {
        return CLI_DONE;
    }
    int code = cli_report(cli, &error);
    if (error.code == HEARSAY_CODE_FORBIDDEN) {
        cli_complain(cli, "name the daemon's socket with --server, and be its user or root: "
                          "sudo hearsay --server /var/lib/hearsay/hearsayd.sock admin ...");
    }
    return code;
}

int admin_do(const struct cli *cli, const struct hearsay_admin *admin, const char *done)
{
    const struct hearsay_admin_reply *reply = NULL;
    struct hearsay *server = NULL;
    int code = admin_connect(cli, admin->host, &server);
    if (code != CLI_DONE) {
        return code;
    }
    code = admin_ask(cli, server, admin, false, &reply);
    if (code == CLI_DONE) {
        (void)fprintf(cli->out.stream, "%s\n", done);
    }
    hearsay_close(server);
    return code;
}
