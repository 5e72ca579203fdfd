/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/bridge/setup/config.h"
#include "client/bridge/setup/inner.h"

enum { HEAD_MS = 30 * 1000 };

uint64_t bridge_head_ms(void)
{
    const char *text = getenv("HEARSAY_BRIDGE_HEAD_MS");
    uint64_t value = text != NULL ? strtoull(text, NULL, 10) : 0;

    return value >= 10 ? value : HEAD_MS;
}

uint64_t bridge_trouble_ms(void)
{
    return 20 * bridge_head_ms();
}

bool bridge_is_overdue(int64_t since_s)
{
    return since_s != 0 && (int64_t)time(NULL) - since_s > (int64_t)(bridge_trouble_ms() / 1000);
}

/* --- servers of the hub ----------------------------------------------------------------------- */

static bool url_is_right(const char *url)
{
    static const char *const schemes[] = {"nats://", "tls://"};

    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        size_t length = strlen(schemes[i]);

        if (strncmp(url, schemes[i], length) == 0) {
            return url[length] != '\0' && strpbrk(url + length, "/@ ,") == NULL;
        }
    }
    return false;
}

static int nats_add(const struct settings_source *source, const struct settings_key *key,
                    void *base, const char *value)
{
    struct bridge_config *config = base;

    if (config->nats_count == BRIDGE_NATS_MAX) {
        return settings_refuse(source, "`%s`: there may be at most %d", key->name, BRIDGE_NATS_MAX);
    }
    if (!url_is_right(value) || strlen(value) >= BRIDGE_URL_BYTES) {
        return settings_refuse(source,
                               "`%s` must be the address of one NATS server, such as "
                               "tls://hub1.example:4222, without a password; not `%.160s`",
                               key->name, value);
    }
    memcpy(config->nats[config->nats_count++], value, strlen(value) + 1);
    return 0;
}

static void nats_print(const struct settings_key *key, const void *base, FILE *out)
{
    const struct bridge_config *config = base;

    for (size_t i = 0; i < config->nats_count; i++) {
        (void)fprintf(out, "%s = %s\n", key->name, config->nats[i]);
    }
}

const struct settings_own bridge_type_nats = {
    .name = "address",
    .form = "the address of a NATS server, such as tls://hub1.example:4222",
    .set = nats_add,
    .print = nats_print,
};

/* --- hosts that a reader follows -------------------------------------------------------------- */

static int hosts_add(const struct settings_source *source, const struct settings_key *key,
                     void *base, const char *value)
{
    struct bridge_config *config = base;

    while (*value != '\0') {
        size_t length = strcspn(value, " \t");

        if (config->reader_count == BRIDGE_HOSTS_MAX) {
            return settings_refuse(source, "`%s`: there may be at most %d", key->name,
                                   BRIDGE_HOSTS_MAX);
        }
        if (!settings_is_name(value, length)) {
            return settings_refuse(source,
                                   "`%s` needs names of at most %d letters a-z, digits and inner "
                                   "hyphens, such as lobby; not `%.*s`",
                                   key->name, SETTINGS_NAME_BYTES - 1, (int)length, value);
        }
        memset(config->reader_hosts[config->reader_count], 0, BRIDGE_NAME_BYTES);
        memcpy(config->reader_hosts[config->reader_count++], value, length);
        value += length;
        value += strspn(value, " \t");
    }
    return 0;
}

static void hosts_print(const struct settings_key *key, const void *base, FILE *out)
{
    const struct bridge_config *config = base;

    for (size_t i = 0; i < config->reader_count; i++) {
        (void)fprintf(out, "%s = %s\n", key->name, config->reader_hosts[i]);
    }
}

const struct settings_own bridge_type_hosts = {
    .name = "names",
    .form = "names of hosts with blanks between them, such as lobby library",
    .set = hosts_add,
    .print = hosts_print,
};
