/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_check: derives defaults from other keys, checks rules about several keys, and checks
 * reloads.
 */
#include <string.h>

#include "core/filter/bloom.h"
#include "core/profile/encode.h"
#include "daemon/config/inner.h"

/* The file name of the administrator's socket in the data directory. */
#define SOCKET_NAME "/hearsayd.sock"

static struct settings_source source_of(const struct config *config, char *reason)
{
    return (struct settings_source){.name = config->common.file[0] != '\0' ? config->common.file
                                                                           : "configuration",
                                    .reason = reason};
}

/* Returns a copy of the source, with a line. */
static struct settings_source at_line(const struct settings_source *source, unsigned line)
{
    struct settings_source place = *source;

    place.line = line;
    return place;
}

static unsigned line_of(const struct config *config, const struct settings_key *key)
{
    return config->common.key_lines[key - config_table.keys];
}

/* --- what follows from the rest --------------------------------------------------------------- */

static void add_tcp(struct config *config, const char *address, bool optional)
{
    struct config_listener *listener = &config->listeners[config->listener_count++];

    memset(listener, 0, sizeof(*listener));
    listener->kind = CONFIG_LISTENER_TCP;
    listener->port = LIMIT_PORT;
    listener->optional = optional;
    listener->local = true; /* only programs of this machine reach it */
    memcpy(listener->address, address, strlen(address));
}

/* Whether a Unix socket is named at which an administrator may connect. */
static bool names_unix_socket(const struct config *config)
{
    for (size_t i = 0; i < config->listener_count; i++) {
        const struct config_listener *listener = &config->listeners[i];

        if (listener->kind == CONFIG_LISTENER_UNIX && !listener->gateway && !listener->bridge) {
            return true;
        }
    }
    return false;
}

static void add_unix(struct config *config, const char *directory, const char *name)
{
    struct config_listener *listener = &config->listeners[config->listener_count];

    /* A data directory whose path is too long for sun_path gets no socket. */
    if (config->listener_count == CONFIG_LISTENERS_MAX ||
        strlen(directory) + strlen(name) >= sizeof(listener->path)) {
        return;
    }
    memset(listener, 0, sizeof(*listener));
    listener->kind = CONFIG_LISTENER_UNIX;
    memcpy(listener->path, directory, strlen(directory));
    memcpy(listener->path + strlen(directory), name, strlen(name) + 1);
    config->listener_count++;
}

/*
 * Adds the default listeners: both loopback addresses if the configuration names no listener, and
 * an administrator's socket if it names none.
 */
static void add_default_listeners(struct config *config)
{
    if (config->listener_count == 0) {
        add_tcp(config, "127.0.0.1", false);
        add_tcp(config, "::1", true);
    }
    if (names_unix_socket(config)) {
        return;
    }
    if (config->admin_group[0] != '\0') {
        add_unix(config, "", CONFIG_ADMIN_SOCKET);
    } else if (config->data[0] != '\0') {
        add_unix(config, config->data, SOCKET_NAME);
    }
}

/* Adds the host `default` if there is no host. Sets `messages` and `bytes` of each host that does
 * not set them to the values of [limits]. */
static void fill_hosts(struct config *config)
{
    if (config->host_count == 0) {
        config_add_host(config, "default");
    }
    for (size_t i = 0; i < config->host_count; i++) {
        struct config_host *host = &config->hosts[i];

        if (host->messages_max == 0) {
            host->messages_max = config->limits.messages;
        }
        if (host->bytes_max == 0) {
            host->bytes_max = config->limits.bytes;
        }
    }
}

uint64_t config_log_bytes(const struct config *config)
{
    uint64_t least = UINT64_C(1) << 20;
    uint64_t most = UINT64_C(8) << 20;
    uint64_t share = config->limits.bytes / 32;

    if (config->log_bytes != 0) {
        return config->log_bytes;
    }
    return share < least ? least : share > most ? most : share;
}

bool config_doubts_distance(const struct config_host *host, char *out_sentence)
{
    enum { PPM = 1000000, LEAST = 600000, MOST = 850000, BEFORE = 800000 };
    uint32_t distance = host->suggested_max_distance_ppm;
    const struct settings_key *key =
        settings_find(&config_table, CONFIG_SECTION_HOST, "suggested_max_distance");
    char text[SETTINGS_NUMBER_BYTES];

    if ((distance >= LEAST && distance <= MOST && distance != BEFORE) || distance == PPM) {
        return false;
    }
    settings_print_number(SETTINGS_TYPE_DISTANCE, distance, text);
    snprintf(out_sentence, CONFIG_REASON_BYTES,
             "host %s: `suggested_max_distance` is %s; it is a distance by phi now (see "
             "hearsayd.conf(5)), of which %s; the default is %s",
             host->name, text,
             distance < LEAST    ? "less than 0.6 leaves out messages of the same place"
             : distance > BEFORE ? "more than 0.85 lets unrelated messages in"
                                 : "0.8, the default until 0.2.0, lets unrelated messages in",
             key->standard);
    return true;
}

/*
 * Adds the here labels that clients add to everything. Those of access points are
 * none of these, because clients leave out the ones that have no room.
 */
static void encode_here(const struct config_host *host, uint64_t out_filter[PROFILE_WORDS_MAX])
{
    static const char of_wifi[] = "wifi:";
    struct encoder encoder;
    size_t length = 0;

    encoder_begin(&encoder, &host->profile);
    for (const char *label = host->here; *label != '\0'; label += length + 1) {
        length = strcspn(label, "\n");
        if (strncmp(label, of_wifi, strlen(of_wifi)) != 0) {
            /* Clients leave out labels without a section, too. */
            (void)encoder_add(&encoder, label, length);
        }
    }
    encoder_end(&encoder, out_filter);
}

bool config_doubts_epochs(const struct config *config, size_t index, char *out_sentence)
{
    const struct config_host *host = &config->hosts[index];

    for (size_t i = 0; i < config->listener_count; i++) {
        if (config->listeners[i].local) {
            return false;
        }
    }
    (void)snprintf(
        out_sentence, CONFIG_REASON_BYTES,
        "host %s has epochs, but no listener is marked local: nobody is given their keys",
        host->name);
    return host->epoch_length_s > 0;
}

bool config_doubts_here(const struct config *config, size_t index, char *out_sentence)
{
    enum { PPM = 1000000 };
    const struct config_host *host = &config->hosts[index];
    uint32_t most_ppm = config->limits.deposit_fill_max_ppm;
    uint64_t filter[PROFILE_WORDS_MAX];
    char name[PROFILE_TEXT_MAX];

    encode_here(host, filter);
    for (uint32_t s = 0; s < host->profile.section_count; s++) {
        const struct profile_section *section = &host->profile.sections[s];
        uint32_t set = bloom_union_count_range(filter, filter, section->first_bit, section->bits);

        if (set > section->hashes && (uint64_t)set * PPM > (uint64_t)most_ppm * section->bits) {
            profile_print_name(section, name);
            snprintf(out_sentence, CONFIG_REASON_BYTES,
                     "host %s: the labels of `here` set %u of %u bits%s%s, and a deposit with more "
                     "than %.1f %% is refused; clients add them to every deposit, so name fewer",
                     host->name, (unsigned)set, (unsigned)section->bits,
                     name[0] != '\0' ? " of the section " : "", name, (double)most_ppm / 10000);
            return true;
        }
    }
    return false;
}

bool config_doubts_place(const struct config_host *host, char *out_sentence)
{
    static const char place[] = "place:";

    if (!host->replicate || host->here[0] != '\0' || host->here_file[0] != '\0' ||
        host->here_map[0] != '\0' ||
        profile_section_of(&host->profile, place, strlen(place)) == NULL) {
        return false;
    }
    snprintf(
        out_sentence, CONFIG_REASON_BYTES,
        "host %s: `replicate = yes` without `here`: its label `place:` has digits of the store, "
        "and a store that was wiped and filled again from the hub has others, so that people "
        "here no longer see what was left before; set `here = place:%s`",
        host->name, host->name);
    return true;
}

bool config_doubts_quota(const struct config *config, size_t index, char *out_sentence)
{
    static const char *const names[] = {"messages", "bytes"};
    const struct config_host *host = &config->hosts[index];
    const uint64_t own[] = {host->messages_max, host->bytes_max};
    const uint64_t all[] = {config->limits.messages, config->limits.bytes};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct settings_key *key =
            settings_find(&config_table, CONFIG_SECTION_LIMITS, names[i]);
        char own_text[SETTINGS_NUMBER_BYTES];
        char all_text[SETTINGS_NUMBER_BYTES];

        if (own[i] > all[i]) {
            settings_print_value(key, own[i], own_text);
            settings_print_value(key, all[i], all_text);
            snprintf(out_sentence, CONFIG_REASON_BYTES,
                     "host %s: `%s` is %s, and [limits] allows all hosts together only %s",
                     host->name, names[i], own_text, all_text);
            return true;
        }
    }
    return false;
}

void config_tell_doubts(const struct config *config,
                        void (*tell)(void *context, const char *sentence), void *context)
{
    char sentence[CONFIG_REASON_BYTES];

    for (size_t i = 0; i < config->host_count; i++) {
        if (config_doubts_distance(&config->hosts[i], sentence)) {
            tell(context, sentence);
        }
        if (config_doubts_here(config, i, sentence)) {
            tell(context, sentence);
        }
        if (config_doubts_epochs(config, i, sentence)) {
            tell(context, sentence);
        }
        if (config_doubts_place(&config->hosts[i], sentence)) {
            tell(context, sentence);
        }
        if (config_doubts_quota(config, i, sentence)) {
            tell(context, sentence);
        }
    }
}

/* --- several keys at once --------------------------------------------------------------------- */

/*
 * A rule about two keys of [limits]: the value of `greater` must be at least the value of `lesser`
 * times `factor` plus `more`. A refusal names the line of the key that was set last.
 */
struct relation {
    const char *greater;
    const char *lesser;
    uint64_t factor;
    uint64_t more;
    const char *rule; /* for people */
};

static const struct relation relations[] = {
    {"frame", "payload", 1, CONFIG_FRAME_REST_BYTES, "a frame holds a payload and 2K more"},
    {"ttl_max", "ttl_default", 1, 0, "the default may not exceed the maximum"},
    {"deposit_fill_max", "deposit_fill_min", 1, 1, "the maximum is above the minimum"},
    {"session_output", "frame", 2, 0, "it holds at least two frames"},
    {"output", "session_output", 1, 0, "it holds what one session may have"},
};

static int check_relation(const struct config *config, const struct relation *relation,
                          const struct settings_source *source)
{
    const struct settings_key *greater =
        settings_find(&config_table, CONFIG_SECTION_LIMITS, relation->greater);
    const struct settings_key *lesser =
        settings_find(&config_table, CONFIG_SECTION_LIMITS, relation->lesser);
    uint64_t greater_value = settings_get(greater, config);
    uint64_t lesser_value = settings_get(lesser, config);
    unsigned greater_line = line_of(config, greater);
    unsigned lesser_line = line_of(config, lesser);
    struct settings_source place =
        at_line(source, greater_line > lesser_line ? greater_line : lesser_line);
    char greater_text[SETTINGS_NUMBER_BYTES];
    char lesser_text[SETTINGS_NUMBER_BYTES];

    if (greater_value >= lesser_value * relation->factor + relation->more) {
        return 0;
    }
    settings_print_value(greater, greater_value, greater_text);
    settings_print_value(lesser, lesser_value, lesser_text);
    return settings_refuse(&place, "`%s` is %s, too little for `%s` of %s: %s", greater->name,
                           greater_text, lesser->name, lesser_text, relation->rule);
}

/* Checks that one frame holds the Welcome message, which lists all hosts. */
static int check_hosts_fit(const struct config *config, const struct settings_source *source)
{
    enum { HOST_BYTES = 160, WELCOME_BYTES = 1024 }; /* upper bounds for numbers and tags */
    size_t bytes = WELCOME_BYTES;
    char text[PROFILE_TEXT_MAX];
    char frame[SETTINGS_NUMBER_BYTES];

    for (size_t i = 0; i < config->host_count; i++) {
        profile_print(&config->hosts[i].profile, text);
        bytes += HOST_BYTES + strlen(config->hosts[i].name) + strlen(config->hosts[i].hood) +
                 strlen(text);
    }
    if (bytes <= config->limits.frame_bytes) {
        return 0;
    }
    settings_print_number(SETTINGS_TYPE_SIZE, config->limits.frame_bytes, frame);
    struct settings_source place = at_line(
        source, line_of(config, settings_find(&config_table, CONFIG_SECTION_LIMITS, "frame")));
    return settings_refuse(&place,
                           "`frame` is %s, but to tell a client of %zu hosts takes up to "
                           "%zu bytes: raise it, or have fewer hosts",
                           frame, config->host_count, bytes);
}

/*
 * If a listener has tls or mutual-tls, checks that this program was built with OpenSSL, and that
 * the configuration names a certificate, a key and, for mutual-tls, the clients' CA.
 */
static int check_tls(const struct config *config, const struct settings_source *source)
{
    enum config_security most = CONFIG_PLAIN;
    const char *lacking = NULL;

    for (size_t i = 0; i < config->listener_count; i++) {
        enum config_security one = config_security(&config->listeners[i]);
        most = one > most ? one : most;
    }
    if (most == CONFIG_PLAIN) {
        return 0;
    }
    if (!HEARSAY_TLS) {
        return settings_refuse(source,
                               "a `listen` asks for tls, but this hearsayd was built without "
                               "it: leave tls out, or build with OpenSSL");
    }
    if (config->tls_certificate[0] == '\0') {
        lacking = "tls_certificate";
    } else if (config->tls_key[0] == '\0') {
        lacking = "tls_key";
    } else if (most == CONFIG_MUTUAL_TLS && config->tls_client_ca[0] == '\0') {
        lacking = "tls_client_ca";
    }
    return lacking == NULL
               ? 0
               : settings_refuse(source, "a `listen` with %s needs `%s`, the path of a PEM file",
                                 most == CONFIG_TLS ? "tls" : "mutual-tls", lacking);
}

/* Checks the keys of a host about copies. */
static int check_host_copies(const struct config *config, const struct config_host *host,
                             const struct settings_source *source)
{
    struct settings_source place = at_line(source, host->line);

    if (host->is_replica && host->acknowledge_replicated) {
        return settings_refuse(&place,
                               "[host %s]: `acknowledge` is replicated, but with `role = replica` "
                               "nothing is deposited here: it is for the owner",
                               host->name);
    }
    if (host->acknowledge_replicated && config->relaxed) {
        return settings_refuse(&place,
                               "[host %s]: `acknowledge` is replicated, and `durability` is "
                               "relaxed: what may be lost here is not acknowledged as safe",
                               host->name);
    }
    if (host->acknowledge_replicated && !host->replicate) {
        return settings_refuse(&place,
                               "[host %s]: `acknowledge` is replicated, which needs "
                               "`replicate = yes`: without it there is no copy to wait for",
                               host->name);
    }
    return 0;
}

/*
 * Checks the keys of a host about epochs. A host may keep at most CONFIG_EPOCHS_KEPT old epochs,
 * because one query may search all epochs.
 */
static int check_host_epochs(const struct config_host *host, const struct settings_source *source)
{
    uint64_t most_s = (uint64_t)CONFIG_EPOCHS_KEPT * host->epoch_length_s;
    struct settings_source place = at_line(source, host->line);
    char length[SETTINGS_NUMBER_BYTES];
    char keep[SETTINGS_NUMBER_BYTES];

    if (host->epoch_length_s > 0 && host->epoch_keep_s > most_s) {
        settings_print_number(SETTINGS_TYPE_DURATION, host->epoch_length_s, length);
        settings_print_number(SETTINGS_TYPE_DURATION, host->epoch_keep_s, keep);
        return settings_refuse(&place,
                               "[host %s]: `epoch_keep` is %s, which is more than %d times "
                               "`epoch_length`, %s: make epochs longer, or keep them shorter",
                               host->name, keep, CONFIG_EPOCHS_KEPT, length);
    }
    if (host->epoch_length_s == 0 && host->refuses_open) {
        return settings_refuse(&place,
                               "[host %s]: `epoch_open` is refuse, and without `epoch_length` "
                               "there is no other epoch: nothing could be deposited",
                               host->name);
    }
    return 0;
}

int config_finish(struct config *config, char *out_reason)
{
    struct settings_source source = source_of(config, out_reason);
    bool is_right = true;

    source.collects = true;
    out_reason[0] = '\0';
    fill_hosts(config);
    add_default_listeners(config);
    for (size_t i = 0; i < sizeof(relations) / sizeof(relations[0]); i++) {
        is_right = check_relation(config, &relations[i], &source) == 0 && is_right;
    }
    is_right = check_tls(config, &source) == 0 && is_right;
    is_right = config_check_guests(config, &source) == 0 && is_right;
    for (size_t i = 0; i < config->host_count; i++) {
        is_right = check_host_epochs(&config->hosts[i], &source) == 0 && is_right;
        is_right = check_host_copies(config, &config->hosts[i], &source) == 0 && is_right;
    }
    is_right = check_hosts_fit(config, &source) == 0 && is_right;
    return is_right ? 0 : CONFIG_REFUSED;
}

/* --- reload ----------------------------------------------------------------------------------- */

/* Checks the keys of a host that are numbers or words. */
static int check_host_keys(const struct settings_source *place, const struct config_host *before,
                           const struct config_host *after)
{
    int rc = 0;

    for (size_t i = 0; i < config_table.key_count && rc == 0; i++) {
        const struct settings_key *key = &config_table.keys[i];

        if (key->section == CONFIG_SECTION_HOST && !key->reloadable &&
            key->type != SETTINGS_TYPE_OWN) {
            rc = settings_check_unchanged(place, key, before, after);
        }
    }
    return rc;
}

/*
 * Checks that the fresh configuration begins with the hosts of the running one, in the same order,
 * because the daemon uses the position of a host as an index, and with the same profiles. New hosts
 * follow.
 */
static int check_hosts(const struct settings_source *source, const struct config *running,
                       const struct config *fresh)
{
    struct settings_source place;
    char old[PROFILE_TEXT_MAX];
    char new[PROFILE_TEXT_MAX];

    for (size_t i = 0; i < running->host_count; i++) {
        const struct config_host *before = &running->hosts[i];
        const struct config_host *after = &fresh->hosts[i];

        if (i >= fresh->host_count) {
            place = at_line(source, 0);
            return settings_refuse(
                &place, "[host %s] is not there any more; to remove a host needs a restart",
                before->name);
        }
        if (strcmp(before->name, after->name) != 0) {
            place = at_line(source, after->line);
            return settings_refuse(&place,
                                   "[host %s] stands where [host %s] was: put hosts that are added "
                                   "behind the others; to remove or reorder hosts needs a restart",
                                   after->name, before->name);
        }
        if (!profile_equal(&before->profile, &after->profile)) {
            profile_print(&before->profile, old);
            profile_print(&after->profile, new);
            place = at_line(source, after->profile_line != 0 ? after->profile_line : after->line);
            return settings_refuse(
                &place, "[host %s]: `profile` changed from %s to %s, which needs a restart",
                after->name, old, new);
        }
        place = at_line(source, after->line);
        int rc = check_host_keys(&place, before, after);
        if (rc != 0) {
            return rc;
        }
    }
    return 0;
}

int config_check_reload(const struct config *running, const struct config *fresh, char *out_reason)
{
    struct settings_source source = source_of(fresh, out_reason);
    int rc = settings_config_check_reload(&config_table, CONFIG_SECTION_DAEMON, running, fresh,
                                          out_reason);

    if (rc == 0) {
        rc = settings_config_check_reload(&config_table, CONFIG_SECTION_LIMITS, running, fresh,
                                          out_reason);
    }
    return rc == 0 ? check_hosts(&source, running, fresh) : rc;
}
