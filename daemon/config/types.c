/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/base/label_form.h"
#include "daemon/config/inner.h"
#include "daemon/config/options.h"

/* --- listeners -------------------------------------------------------------------------------- */

/*
 * Maximum number of listeners that a configuration may name. config_finish may add one more to
 * them: the administrator's socket.
 */
enum { NAMED_LISTENERS_MAX = CONFIG_LISTENERS_MAX - 1 };

static int listener_add(const struct settings_source *source, const struct settings_key *key,
                        void *base, const char *value)
{
    struct config *config = base;
    struct config_listener listener;
    int rc = config_listener_parse(source, key->name, value, &listener);

    if (rc != 0) {
        return rc;
    }
    for (size_t i = 0; i < config->listener_count; i++) {
        const struct config_listener *other = &config->listeners[i];

        /* Two listeners with port 0 get different ports. */
        if (other->kind == listener.kind && strcmp(other->address, listener.address) == 0 &&
            strcmp(other->path, listener.path) == 0 && other->port == listener.port &&
            (listener.kind == CONFIG_LISTENER_UNIX || listener.port != 0)) {
            return settings_refuse(source, "`%s`: `%.200s` is already among them", key->name,
                                   value);
        }
    }
    if (config->listener_count >= NAMED_LISTENERS_MAX) {
        return settings_refuse(source, "`%s`: there may be at most %d", key->name,
                               NAMED_LISTENERS_MAX);
    }
    config->listeners[config->listener_count++] = listener;
    return 0;
}

static bool is_default_socket(const struct config *config, const struct config_listener *listener)
{
    size_t length = strlen(config->data);

    if (config->admin_group[0] != '\0') {
        return strcmp(listener->path, CONFIG_ADMIN_SOCKET) == 0;
    }
    return listener->kind == CONFIG_LISTENER_UNIX && length > 0 &&
           strncmp(listener->path, config->data, length) == 0 &&
           strcmp(listener->path + length, "/hearsayd.sock") == 0;
}

/*
 * Whether the listener is one that config_finish adds by default. Only the default listener
 * [::1]:7117 is `optional`, so an `optional` listener means that config_finish has added both
 * loopback addresses. A Unix socket counts as a default if it has the default path, and there are
 * other listeners, all of them TCP.
 */
static bool is_implied(const struct config *config, size_t index)
{
    const struct config_listener *all = config->listeners;
    size_t tcp_count = 0;
    bool has_pair = false;

    for (size_t i = 0; i < config->listener_count; i++) {
        tcp_count += all[i].kind == CONFIG_LISTENER_TCP ? 1 : 0;
        has_pair = has_pair || all[i].optional;
    }
    if (all[index].kind == CONFIG_LISTENER_TCP) {
        return has_pair && tcp_count == 2;
    }
    return tcp_count > 0 && config->listener_count == tcp_count + 1 &&
           is_default_socket(config, &all[index]);
}

static void listeners_print(const struct settings_key *key, const void *base, FILE *out)
{
    const struct config *config = base;
    char text[CONFIG_LISTENER_BYTES];

    for (size_t i = 0; i < config->listener_count; i++) {
        config_listener_print(&config->listeners[i], text);
        (void)fprintf(out, "%s%s = %s\n", is_implied(config, i) ? "# by default: " : "", key->name,
                      text);
    }
}

const struct settings_own config_type_listener = {
    .name = "address",
    .form = "an address and a port, such as 127.0.0.1:7117",
    .set = listener_add,
    .print = listeners_print,
};

/* --- labels ----------------------------------------------------------------------------------- */

/* Appends the labels of a value, which commas separate, to the labels of the host. */
static int labels_add(const struct settings_source *source, const struct settings_key *key,
                      void *base, const char *value)
{
    struct config_host *host = base;
    while (*value != '\0') {
        size_t piece = strcspn(value, ",");
        size_t length = piece;
        char why[LABEL_FORM_SENTENCE_BYTES];
        size_t used = strlen(host->here);

        while (length > 0 && value[length - 1] == ' ') {
            length--;
        }
        if (label_form_check(value, length, why) != 0) {
            return settings_refuse(source, "`%s`: `%.*s` is no label: %s", key->name,
                                   (int)(length > 200 ? 200 : length), value, why);
        }
        if (used + length + 1 >= sizeof(host->here)) {
            return settings_refuse(source,
                                   "`%s`: all labels together may have %zu bytes; put more "
                                   "into a `here_file`",
                                   key->name, sizeof(host->here) - 1);
        }
        memcpy(host->here + used, value, length);
        memcpy(host->here + used + length, "\n", 2);
        value += piece;
        value += strspn(value, ", ");
    }
    return 0;
}

static void labels_print(const struct settings_key *key, const void *base, FILE *out)
{
    const char *labels = ((const struct config_host *)base)->here;

    while (*labels != '\0') {
        size_t length = strcspn(labels, "\n") + 1; /* each has one behind it */
        (void)fprintf(out, "%s = ", key->name);
        (void)fwrite(labels, 1, length, out);
        labels += length;
    }
}

const struct settings_own config_type_labels = {
    .name = "labels",
    .form = "labels, such as geo:u281zd, wifi:a4:2b:8c:01:02:03",
    .set = labels_add,
    .print = labels_print,
};

/* --- schedules -------------------------------------------------------------------------------- */

static int schedule_add(const struct settings_source *source, const struct settings_key *key,
                        void *base, const char *value)
{
    struct config_host *host = base;
    struct schedule_entry entry;

    if (schedule_parse(value, &entry) != 0) {
        return settings_refuse(
            source,
            "`%s` must be two different times and open, review or closed, such as "
            "22:00-06:00 closed; not `%.200s`",
            key->name, value);
    }
    if (host->schedule_count == SCHEDULE_MAX) {
        return settings_refuse(source, "`%s`: there may be at most %d", key->name, SCHEDULE_MAX);
    }
    host->schedule[host->schedule_count++] = entry;
    return 0;
}

static void schedules_print(const struct settings_key *key, const void *base, FILE *out)
{
    const struct config_host *host = base;
    char text[SCHEDULE_BYTES];

    for (size_t i = 0; i < host->schedule_count; i++) {
        schedule_print(&host->schedule[i], text);
        (void)fprintf(out, "%s = %s\n", key->name, text);
    }
}

const struct settings_own config_type_schedule = {
    .name = "times and a mode",
    .form = "times and a mode, such as 22:00-06:00 closed",
    .set = schedule_add,
    .print = schedules_print,
};

/* --- profiles --------------------------------------------------------------------------------- */

static int profile_set(const struct settings_source *source, const struct settings_key *key,
                       void *base, const char *value)
{
    struct config_host *host = base;
    const char *reason;

    if (profile_parse(value, strlen(value), &host->profile, &reason) != 0) {
        char sentence[PROFILE_SENTENCE_MAX];

        profile_explain(value, strlen(value), sentence);
        return settings_refuse(source, "`%s`: `%.200s` is not a profile: %s", key->name, value,
                               sentence);
    }
    host->profile_line = source->line;
    return 0;
}

static void profile_put(const struct settings_key *key, const void *base, FILE *out)
{
    const struct config_host *host = base;
    char text[PROFILE_TEXT_MAX];

    profile_print(&host->profile, text);
    (void)fprintf(out, "%s = %s\n", key->name, text);
}

const struct settings_own config_type_profile = {
    .name = "profile",
    .form = "a profile, such as v2:512/4",
    .set = profile_set,
    .print = profile_put,
};
