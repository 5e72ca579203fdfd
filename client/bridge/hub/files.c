/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/hub/setup_inner.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum { PATH_ROOM = 4096, ADDRESS_ROOM = GREETING_ADDRESS_BYTES };

/* One file while it is written. */
struct writing {
    FILE *out;
    char path[PATH_ROOM];
    char draft[PATH_ROOM + 8];
};

static int complain_about(char *out_reason, const char *path, const char *what)
{
    (void)snprintf(out_reason, HUB_REASON_BYTES, "%.300s: %s", path, what);
    return -1;
}

static int begin_file(struct writing *file, const char *folder, const char *name, char *out_reason)
{
    (void)snprintf(file->path, sizeof(file->path), "%.3000s/%s", folder, name);
    (void)snprintf(file->draft, sizeof(file->draft), "%s.new", file->path);
    file->out = fopen(file->draft, "we");
    return file->out != NULL ? 0 : complain_about(out_reason, file->draft, strerror(errno));
}

/* Replaces the file whole, so that no server reads half of it. */
static int end_file(struct writing *file, int rc, char *out_reason)
{
    if (rc == 0 && (fflush(file->out) != 0 || fsync(fileno(file->out)) != 0 ||
                    rename(file->draft, file->path) != 0)) {
        rc = complain_about(out_reason, file->path, strerror(errno));
    }
    (void)fclose(file->out);
    if (rc != 0) {
        (void)unlink(file->draft);
    }
    return rc;
}

int hub_files_write_rights(const struct hub_files *files, FILE *out, char *out_reason)
{
    struct writing file;
    FILE *in = fopen(files->hosts, "re");

    if (in == NULL) {
        return complain_about(out_reason, files->hosts, strerror(errno));
    }
    int rc = begin_file(&file, files->folder, "rights.conf", out_reason);
    if (rc == 0) {
        rc = end_file(&file, rights_write(file.out, in, files->hosts, out_reason), out_reason);
    }
    (void)fclose(in);
    if (rc == 0) {
        (void)fprintf(out,
                      "%s/rights.conf: for each server; changed rights need `nats-server "
                      "--signal reload` there, twice\n",
                      files->folder);
    }
    return rc;
}

/* --- servers ---------------------------------------------------------------------------------- */

/* False: no route has a place above this port. */
static bool split_url(const char *url, char *out_address, unsigned *out_port)
{
    return greeting_split_url(url, out_address, out_port) && *out_port + HUB_ROUTE_OFFSET <= 65535;
}

static void write_tls(FILE *out, const struct hub_files *files, size_t number, const char *indent)
{
    (void)fprintf(
        out,
        "%stls {\n"
        "%s    cert_file: \"%s/n%zu.pem\", key_file: \"%s/n%zu.key\", ca_file: \"%s/ca.pem\"\n"
        "%s    verify_and_map: true, timeout: 10\n"
        "%s}\n",
        indent, indent, files->folder, number, files->folder, number, files->folder, indent,
        indent);
}

/* Only a certificate of a server, `hearsay-hub-certificate FOLDER server`, may open a route. */
static void write_cluster(FILE *out, const struct hub_files *files, size_t number)
{
    char address[ADDRESS_ROOM];
    unsigned port = 0;

    (void)split_url(files->config->nats[number - 1], address, &port);
    (void)fprintf(out,
                  "cluster {\n    name: hearsay, listen: \"%s:%u\"\n"
                  "    authorization { user: \"CN=hub,OU=server\" }\n",
                  address, port + HUB_ROUTE_OFFSET);
    write_tls(out, files, number, "    ");
    (void)fprintf(out, "    routes: [\n");
    for (size_t i = 0; i < files->config->nats_count; i++) {
        (void)split_url(files->config->nats[i], address, &port);
        (void)fprintf(out, "        \"nats://%s:%u\"\n", address, port + HUB_ROUTE_OFFSET);
    }
    (void)fprintf(out, "    ]\n}\n");
}

static int write_server(const struct hub_files *files, size_t number, char *out_reason)
{
    char address[ADDRESS_ROOM];
    char name[32];
    unsigned port = 0;
    struct writing file;

    (void)snprintf(name, sizeof(name), "n%zu.conf", number);
    if (begin_file(&file, files->folder, name, out_reason) != 0) {
        return -1;
    }
    (void)split_url(files->config->nats[number - 1], address, &port);
    (void)fprintf(file.out,
                  "# %s: a server of the hub. Written by hearsay-bridge setup-hub.\n"
                  "server_name: n%zu\nlisten: \"%s:%u\"\n"
                  "jetstream {\n    store_dir: \"%s/n%zu\"\n    max_memory_store: 64MB\n"
                  "    max_file_store: %" PRIu64 "\n%s}\n",
                  name, number, address, port, files->store, number, files->disk_bytes,
                  hub_version_syncs(&files->version) ? "    sync_interval: always\n" : "");
    write_tls(file.out, files, number, "");
    write_cluster(file.out, files, number);
    (void)fprintf(file.out, "include \"rights.conf\"\n");
    return end_file(&file, 0, out_reason);
}

static int check_servers(const struct hub_files *files, char *out_reason)
{
    char address[ADDRESS_ROOM];
    unsigned port = 0;

    if (files->config->nats_count != 3) {
        (void)snprintf(out_reason, HUB_REASON_BYTES,
                       "a hub is three servers, on separate power: give three lines `nats = "
                       "tls://ADDRESS:4222`, not %zu",
                       files->config->nats_count);
        return -1;
    }
    for (size_t i = 0; i < files->config->nats_count; i++) {
        if (!split_url(files->config->nats[i], address, &port)) {
            (void)snprintf(out_reason, HUB_REASON_BYTES,
                           "nats = %.200s: setup-hub needs tls://ADDRESS:PORT, such as "
                           "tls://10.0.0.1:4222; routes take the port %d above it",
                           files->config->nats[i], HUB_ROUTE_OFFSET);
            return -1;
        }
    }
    return 0;
}

int hub_files_write(const struct hub_files *files, FILE *out, char *out_reason)
{
    int rc = check_servers(files, out_reason);

    rc = rc == 0 ? hub_files_write_rights(files, out, out_reason) : rc;
    for (size_t i = 1; rc == 0 && i <= files->config->nats_count; i++) {
        rc = write_server(files, i, out_reason);
        if (rc == 0) {
            (void)fprintf(out, "%s/n%zu.conf: for %s\n", files->folder, i,
                          files->config->nats[i - 1]);
        }
    }
    return rc;
}
