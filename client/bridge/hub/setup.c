/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/hub/hub.h"

#include "client/bridge/hub/setup_inner.h"

enum { WAIT_MS = 30 * 1000 };

static const char default_disk[] = "4G";
static const char default_age[] = "8d"; /* a day more than the default of ttl_max */
static const char default_store[] = "/var/lib/hearsay-hub";

static int read_number(const char *option, enum settings_type type, const char *text,
                       uint64_t *out_value, char *out_reason)
{
    struct settings_source source = {.name = option, .reason = out_reason};

    if (settings_parse_number(type, text, out_value) != 0 || *out_value == 0) {
        return settings_refuse(&source, "must be %s; not `%.100s`", settings_type_form(type), text);
    }
    return 0;
}

static int read_limits(const struct bridge_options *options, struct streams_limits *out_limits,
                       char *out_reason)
{
    const char *disk = options->disk != NULL ? options->disk : default_disk;
    const char *age = options->age != NULL ? options->age : default_age;
    int rc = read_number("--disk", SETTINGS_TYPE_SIZE, disk, &out_limits->disk_bytes, out_reason);

    if (rc == 0 && out_limits->disk_bytes < STREAMS_DISK_LEAST) {
        (void)reason_set(out_reason, "--disk: `%.100s` is less than 20M; write 4G for 4 GB", disk);
        return SETTINGS_REFUSED;
    }
    return rc == 0
               ? read_number("--age", SETTINGS_TYPE_DURATION, age, &out_limits->age_s, out_reason)
               : rc;
}

/* --- the servers' files ----------------------------------------------------------------------- */

static int write_files(const struct bridge_config *config, const struct bridge_options *options,
                       const struct streams_limits *limits, FILE *out, char *out_reason)
{
    struct hub_files files = {.config = config,
                              .folder = options->write,
                              .hosts = options->hosts,
                              .store = options->store != NULL ? options->store : default_store,
                              .disk_bytes = limits->disk_bytes};
    char reason[HUB_REASON_BYTES];

    if (options->hosts == NULL) {
        (void)reason_set(out_reason, "--write needs --hosts FILE, a line `host NAME HOOD` for each "
                                     "access point");
        return SETTINGS_REFUSED;
    }
    if (options->nats_server == NULL) {
        return hub_files_write_rights(&files, out, reason) == 0
                   ? 0
                   : reason_set(out_reason, "%s", reason);
    }
    if (!hub_version_parse(options->nats_server, &files.version)) {
        (void)reason_set(out_reason, "--nats: `%.100s` is no version such as 2.10.27",
                         options->nats_server);
        return SETTINGS_REFUSED;
    }
    if (hub_files_write(&files, out, reason) != 0) {
        return reason_set(out_reason, "%s", reason);
    }
    hub_version_warn(&files.version, "these servers", out);
    return 0;
}

/* --- the streams ------------------------------------------------------------------------------ */

static void look_at_servers(const struct bridge_config *config, FILE *out)
{
    char reason[GREETING_REASON_BYTES];
    struct hub_version version;

    for (size_t i = 0; i < config->nats_count; i++) {
        if (greeting_read_version(config->nats[i], &version, reason)) {
            hub_version_warn(&version, config->nats[i], out);
        } else {
            (void)fprintf(out, "warning: %s: not reached: %s\n", config->nats[i], reason);
        }
    }
}

static int make_streams(const struct bridge_config *config, const struct streams_limits *limits,
                        bool is_dry, FILE *out, char *out_reason)
{
    char reason[STREAMS_REASON_BYTES];
    natsOptions *options = NULL;
    natsConnection *nats = NULL;
    jsCtx *js = NULL;
    jsOptions js_options;
    int rc = -1;
    natsStatus status = connect_options(config, &options, reason);

    (void)jsOptions_Init(&js_options);
    js_options.Wait = WAIT_MS;
    if (status == NATS_OK) {
        status = natsConnection_Connect(&nats, options);
        status = status == NATS_OK ? natsConnection_JetStream(&js, nats, &js_options) : status;
        if (status != NATS_OK) {
            connect_explain(status, reason);
        }
    }
    if (status == NATS_OK) {
        rc = streams_make(js, limits, is_dry, out, reason);
    }
    jsCtx_Destroy(js);
    natsConnection_Destroy(nats);
    natsOptions_Destroy(options);
    return rc == 0 ? 0 : reason_set(out_reason, "%s", reason);
}

int hub_setup(const struct bridge_config *config, const struct bridge_options *options, FILE *out,
              char *out_reason)
{
    struct streams_limits limits;
    int rc = read_limits(options, &limits, out_reason);

    if (rc == 0 && options->write != NULL) {
        return write_files(config, options, &limits, out, out_reason);
    }
    if (rc == 0) {
        look_at_servers(config, out);
        rc = make_streams(config, &limits, options->is_dry, out, out_reason);
    }
    return rc;
}
