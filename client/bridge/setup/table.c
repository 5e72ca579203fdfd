/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/setup/inner.h"

#include "client/bridge/setup/config.h"

static const char *const yes_words[] = {"no", "yes", NULL};
static const char *const log_level_words[] = {"error", "warning", "info", "debug", NULL};

static const struct settings_section sections[] = {
    {.name = "bridge", .help = "The hub, and the hearsayd here."},
    {.name = "host",
     .label = "NAME",
     .example = "lobby",
     .help = "A host of the hearsayd here. There may be up to 64."},
    {.name = "reader", .help = "For a reader: a hearsayd with copies of other hosts."},
    {.name = "hood",
     .label = "NAME",
     .example = "campus",
     .help = "A neighbourhood to which hosts of this file belong. The section may be left out."},
};

/* The first columns of a row: section, name, and offset and width of the field. */
#define KEY_OF(section, Struct, name, member) \
    section, name, offsetof(struct Struct, member), sizeof(((struct Struct *)0)->member)
#define BRIDGE_KEY(name, member) KEY_OF(BRIDGE_SECTION_BRIDGE, bridge_config, name, member)
#define HOST_KEY(name, member)   KEY_OF(BRIDGE_SECTION_HOST, bridge_host, name, member)
#define READER_KEY(name, member) KEY_OF(BRIDGE_SECTION_READER, bridge_config, name, member)
#define HOOD_KEY(name, member)   KEY_OF(BRIDGE_SECTION_HOOD, bridge_hood, name, member)

/* In the order in which they are printed. */
static const struct settings_key keys[] = {
    {BRIDGE_KEY("server", server), SETTINGS_TYPE_PATH,
     .standard_note = "/run/hearsay-bridge/bridge.sock",
     .example = "/run/hearsay-bridge/bridge.sock",
     .help = "The Unix socket of hearsayd whose `listen` line has the word bridge."},
    {BRIDGE_KEY("nats", nats), SETTINGS_TYPE_OWN, .own = &bridge_type_nats, .repeatable = true,
     .standard_note = "none; one is needed", .example = "tls://hub1.example:4222",
     .help = "The address of a NATS server of the hub. Up to 8 lines; one that can be reached is "
             "enough. tls:// or nats://; without `ca` nothing is encrypted, and only an address "
             "of this machine is taken."},
    {BRIDGE_KEY("name", name), SETTINGS_TYPE_NAME, .standard_note = "the first [host]",
     .example = "lobby",
     .help = "The name of this access point at the hub: the common name of its certificate. "
             "Answers come to subjects below _INBOX_NAME, which nobody else may read."},
    {BRIDGE_KEY("cert", cert), SETTINGS_TYPE_PATH, .standard_note = "none",
     .example = "/etc/hearsay/bridge.crt",
     .help = "The certificate of this access point, a PEM file."},
    {BRIDGE_KEY("key", key), SETTINGS_TYPE_PATH, .standard_note = "none",
     .example = "/etc/hearsay/bridge.key", .help = "The key of the certificate, a PEM file."},
    {BRIDGE_KEY("ca", ca), SETTINGS_TYPE_PATH, .standard_note = "none",
     .example = "/etc/hearsay/hub-ca.crt",
     .help = "Who signs the certificates of the hub's servers, a PEM file."},
    {BRIDGE_KEY("state", state), SETTINGS_TYPE_PATH, .standard_note = "/var/lib/hearsay-bridge",
     .example = "/var/lib/hearsay-bridge",
     .help = "The directory that keeps how far each host is published. Losing it costs nothing "
             "but publishing all again."},
    {BRIDGE_KEY("user", user), SETTINGS_TYPE_USER, .standard_note = "who started the program",
     .example = "hearsay-bridge",
     .help = "The user that the program becomes when root starts it: the `bridge_user` of "
             "hearsayd."},
    {BRIDGE_KEY("log_level", log_level), SETTINGS_TYPE_CHOICE, .words = log_level_words,
     .standard = "info", .help = "The least important lines that are logged."},

    {HOST_KEY("publish", publishes), SETTINGS_TYPE_CHOICE, .words = yes_words, .standard = "yes",
     .help = "yes: this access point is the owner of the host, and all its messages go to the "
             "hub. no: they stay here."},
    {HOST_KEY("hood", hood), SETTINGS_TYPE_NAME, .standard_note = "none", .example = "campus",
     .help = "The neighbourhood in which this host asks others and answers them; the same name as "
             "the `hood` of the host in hearsayd.conf."},

    {READER_KEY("hosts", reader_hosts), SETTINGS_TYPE_OWN, .own = &bridge_type_hosts,
     .repeatable = true, .standard_note = "none", .example = "lobby library",
     .help = "The hosts that hearsayd here has copies of. Up to 64; the key may stand several "
             "times."},

    {HOOD_KEY("asks_per_minute", asks_per_minute), SETTINGS_TYPE_COUNT, 1, 100000,
     .unit = "questions", .standard = "600",
     .help = "How many questions a minute of each other access point are answered. A question that "
             "costs hearsayd more counts as several: docs/many.md says how many."},
};

_Static_assert(sizeof(keys) / sizeof(keys[0]) <= SETTINGS_KEYS_MAX,
               "struct bridge_config has a line number for each key");

const struct settings_table bridge_table = {
    .sections = sections,
    .section_count = sizeof(sections) / sizeof(sections[0]),
    .keys = keys,
    .key_count = sizeof(keys) / sizeof(keys[0]),
};
