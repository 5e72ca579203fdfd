/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "daemon/config/inner.h"

/* Returns a copy of the source, with the line of a key of [daemon]. */
static struct settings_source at_key(const struct config *config, const char *name,
                                     const struct settings_source *source)
{
    const struct settings_key *key = settings_find(&config_table, CONFIG_SECTION_DAEMON, name);
    struct settings_source place = *source;

    place.line = config->common.key_lines[key - config_table.keys];
    return place;
}

static bool same_folder(const char *path, const char *other)
{
    size_t length = (size_t)(strrchr(path, '/') - path);

    return (size_t)(strrchr(other, '/') - other) == length && memcmp(path, other, length) == 0;
}

/* A kind of program that has a Unix socket of its own, for one user. */
struct guest {
    const char *name; /* the word of `listen` */
    const char *key;  /* names the user */
    const char *example_user;
    const char *example_socket;
    size_t word;  /* offset in struct config_listener */
    size_t other; /* offset of the word of the other kind */
    size_t user;  /* offset in struct config */
};

static const struct guest guests[] = {
    {"gateway", "gateway_user", "hearsay-web", "/run/hearsay-web/gateway.sock",
     offsetof(struct config_listener, gateway), offsetof(struct config_listener, bridge),
     offsetof(struct config, gateway_user)},
    {"bridge", "bridge_user", "hearsay-bridge", "/run/hearsay-bridge/bridge.sock",
     offsetof(struct config_listener, bridge), offsetof(struct config_listener, gateway),
     offsetof(struct config, bridge_user)},
};

static bool has_word(const struct config_listener *listener, size_t word)
{
    return *(const bool *)((const char *)listener + word);
}

/*
 * Checks that the folder of a gateway's or bridge's socket has no other socket. With two folders,
 * the mode of a folder decides who can reach its sockets.
 */
static int check_guest_folder(const struct config *config, const struct guest *guest,
                              const struct config_listener *listener,
                              const struct settings_source *source)
{
    for (size_t i = 0; i < config->listener_count; i++) {
        const struct config_listener *other = &config->listeners[i];

        if (other->kind == CONFIG_LISTENER_UNIX && !has_word(other, guest->word) &&
            same_folder(listener->path, other->path)) {
            return settings_refuse(source,
                                   "the %s's socket %s stands beside %s, where %s connect: give it "
                                   "a folder of its own, such as %s",
                                   guest->name, listener->path, other->path,
                                   has_word(other, guest->other) ? "others" : "administrators",
                                   guest->example_socket);
        }
    }
    return 0;
}

/*
 * Checks that the user of gateways or bridges is not `user`, that the user is set if there is such
 * a listener, and the folders of these listeners.
 */
static int check_guest(const struct config *config, const struct guest *guest,
                       const struct settings_source *source)
{
    const char *user = (const char *)config + guest->user;
    struct settings_source place = at_key(config, guest->key, source);

    if (user[0] != '\0' && strcmp(user, config->user) == 0) {
        return settings_refuse(&place,
                               "`%s` is %s, as `user` is: the daemon's own user is an "
                               "administrator, so the %s needs a user of its own",
                               guest->key, config->user, guest->name);
    }
    for (size_t i = 0; i < config->listener_count; i++) {
        const struct config_listener *listener = &config->listeners[i];
        int rc = 0;

        if (has_word(listener, guest->word) && user[0] == '\0') {
            return settings_refuse(source,
                                   "`listen = %s %s` needs `%s`, the user that the %s runs as, "
                                   "such as %s",
                                   listener->path, guest->name, guest->key, guest->name,
                                   guest->example_user);
        }
        if (has_word(listener, guest->word) &&
            (rc = check_guest_folder(config, guest, listener, source)) != 0) {
            return rc;
        }
    }
    return 0;
}

int config_check_guests(const struct config *config, const struct settings_source *source)
{
    struct settings_source place = at_key(config, "bridge_user", source);
    int rc = check_guest(config, &guests[0], source);

    rc = rc == 0 ? check_guest(config, &guests[1], source) : rc;
    if (rc == 0 && config->bridge_user[0] != '\0' &&
        strcmp(config->bridge_user, config->gateway_user) == 0) {
        rc = settings_refuse(&place,
                             "`bridge_user` is %s, as `gateway_user` is: a bridge may bring in "
                             "messages and decisions, so it needs a user of its own",
                             config->bridge_user);
    }
    return rc;
}
