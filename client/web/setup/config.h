/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config: the configuration of hearsay-web. The table of keys (table.c) describes all keys. By this
 * table, daemon/settings parses, checks and prints configurations. These functions turn text into a
 * struct. They open no socket and start nothing.
 */
#pragma once

#include "client/web/http.h"
#include "client/web/lang.h"
#include "client/web/topics.h"
#include "daemon/settings/listener.h"
#include "daemon/settings/value.h"
#include "daemon/system/log.h"

enum {
    WEB_CONFIG_NAMES_MAX = 8,
    WEB_CONFIG_NAME_BYTES = 128,
    WEB_CONFIG_TEXT_BYTES = 160,
    WEB_CONFIG_RULES_BYTES = 2048,
    WEB_CONFIG_RULES_FILE_BYTES = 1024,
    WEB_CONFIG_LANGUAGES_MAX = 6, /* of the rules; of the pages at most as many */
    WEB_CONFIG_TAG_BYTES = 8,
    WEB_CONFIG_PATH_BYTES = SETTINGS_SOCKET_BYTES,
    WEB_CONFIG_USER_BYTES = 33,
    WEB_CONFIG_HOST_BYTES = 64,
    WEB_CONFIG_LISTENER_BYTES = SETTINGS_LISTENER_BYTES,
    WEB_CONFIG_SSID_BYTES = 33,
    WEB_CONFIG_PASSWORD_BYTES = 65,
    WEB_CONFIG_PREFIXES_MAX = 8,
    WEB_CONFIG_HASH_BYTES = 128, /* crypto_pwhash_STRBYTES */
    /* What one check of a password takes: a router has 64 MB. */
    WEB_CONFIG_HASH_PASSES = 3,
    WEB_CONFIG_HASH_MEMORY = 16 * 1024 * 1024
};

/* The section of a file, which says for which page it is. */
enum web_section { WEB_SECTION_WEB, WEB_SECTION_MODERATE };

struct web_config_listener {
    bool is_unix;
    bool is_proxied;     /* a proxy on this machine tells the addresses of the clients */
    bool is_metrics;     /* for /metrics and nothing else; no phone comes here */
    bool by_address;     /* limits count addresses, not the devices behind them */
    bool is_freebind;    /* bind the address although this machine does not have it yet */
    uint8_t family;      /* 4 or 6; 0: a Unix socket */
    uint8_t address[16]; /* of IPv4 the first 4 */
    uint16_t port;       /* 0: any free one */
    char path[WEB_CONFIG_PATH_BYTES];
};

/* All addresses whose first `bits` are the same. */
struct web_config_prefix {
    uint8_t family; /* 4 or 6 */
    uint8_t address[16];
    uint8_t bits; /* at least 1 */
};

enum web_portal { WEB_PORTAL_OFF, WEB_PORTAL_OFFLINE };

struct web_config {
    struct settings_config common; /* first */
    enum web_section section;
    struct web_config_listener listeners[HTTP_LISTENERS_MAX];
    size_t listener_count; /* after web_config_finish at least 1 */
    char names[WEB_CONFIG_NAMES_MAX][WEB_CONFIG_NAME_BYTES];
    size_t name_count;                            /* after web_config_finish at least 1 */
    char server[WEB_CONFIG_PATH_BYTES];           /* the gateway's socket of hearsayd */
    char host[WEB_CONFIG_HOST_BYTES];             /* "": the first */
    char title[WEB_CONFIG_TEXT_BYTES];            /* of the place */
    char subtitle[WEB_CONFIG_TEXT_BYTES];         /* the line below it; "": ours */
    char operator_name[WEB_CONFIG_TEXT_BYTES];    /* "": not said */
    char contact[WEB_CONFIG_TEXT_BYTES];          /* "": not said */
    char rules[WEB_CONFIG_RULES_BYTES];           /* lines, a line feed behind each; "": none */
    char rules_file[WEB_CONFIG_RULES_FILE_BYTES]; /* where they came from; "": from `rules` */
    const struct lang *rules_lang;                /* as the name of the file says; NULL: not said */
    /* The same rules in other languages, by lang_at; "": none. */
    char rules_in[WEB_CONFIG_LANGUAGES_MAX][WEB_CONFIG_RULES_BYTES];
    char user[WEB_CONFIG_USER_BYTES]; /* the user to become; "": stay the same user */
    bool no_call_filter;              /* call_filter = no */
    enum web_portal portal;
    struct topics topics;                  /* offered to read and to leave with */
    char wifi_ssid[WEB_CONFIG_SSID_BYTES]; /* "": not said */
    char wifi_password[WEB_CONFIG_PASSWORD_BYTES];
    char language[8]; /* "auto": what the browser asks for */
    uint32_t per_page;
    uint32_t cache_ms;
    uint32_t connections;
    uint32_t connections_per_address;
    uint32_t events;
    uint32_t events_per_address;
    uint32_t views;
    uint32_t upstreams;
    enum log_level log_level;
    /* Of [moderate] only. */
    struct web_config_prefix allow[WEB_CONFIG_PREFIXES_MAX]; /* who may connect */
    size_t allow_count;                       /* after web_moderate_finish 1 or more */
    char guests[WEB_CONFIG_RULES_FILE_BYTES]; /* the file of the guests' page */
    char password[WEB_CONFIG_HASH_BYTES];     /* its Argon2id hash */
    uint32_t session_s;                       /* after which a login ends */
};

/* Sets all defaults but those that web_config_finish sets. */
void web_config_defaults(enum web_section section, struct web_config *out_config);

struct settings_heading;

/* Begins a section of a file, as settings_target.enter: `config` is a struct web_config. */
int web_config_enter(void *config, const struct settings_source *source,
                     const struct settings_heading *heading, void **out_base);

/* Sets the default listener and name, and checks the rules about several keys. 0, or
 * SETTINGS_REFUSED with a line for each error. */
int web_config_finish(struct web_config *config, char *out_reason);

/* Reads the file of the place's rules, if `rules` names one. If its name ends in the tag of a
 * language of the pages and a suffix, such as rules.en.txt, the files beside it with the tags of
 * other languages are read, too. Guests may read what stands in these files, so only the user of
 * the program may open them, and not root. 0, or SETTINGS_REFUSED with a sentence. */
int web_config_read_rules(struct web_config *config, char *out_reason);

/* The rules for a reader of a language, else those that `rules` names; "": none. *out_lang: the
 * language that they are in; NULL: not known. Borrowed. */
const char *web_config_rules(const struct web_config *config, const struct lang *lang,
                             const struct lang **out_lang);

/*
 * A sentence about what should be said and is not: who runs a page that others than this machine
 * can open. NULL: nothing.
 */
const char *web_config_warning(const struct web_config *config);

/* Writes a listener in the form of a file (WEB_CONFIG_LISTENER_BYTES). */
void web_listener_print(const struct web_config_listener *listener, char *out);

/* Whether an address, of the family 4 or 6, is of this machine only; or is no single address. */
bool web_address_is_loopback(uint8_t family, const uint8_t *address);
bool web_address_is_any(uint8_t family, const uint8_t *address);

/* Whether an address is one of those. */
bool web_prefix_has(const struct web_config_prefix *prefix, uint8_t family, const uint8_t *address);
