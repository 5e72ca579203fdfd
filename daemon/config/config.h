/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config: the configuration of hearsayd. The table of keys (table.c) describes all keys. By this
 * table, daemon/settings parses, checks and prints configurations, and prints the reference.
 *
 * settings_config_read turns a file into a struct. If a line is wrong, it refuses the whole file,
 * and reports the wrong lines. config_finish then sets what is left open, and checks the rules
 * about several keys.
 */
#pragma once

#include <stdio.h>

#include "core/profile/profile.h"
#include "daemon/config/schedule.h"
#include "daemon/settings/value.h"
#include "daemon/system/log.h"
#include "proto/msg.h"

enum {
    CONFIG_LISTENERS_MAX = 16,
    CONFIG_EPOCHS_KEPT = 60, /* maximum number of old epochs of a host: neither the current one
                                nor epoch 0 */
    CONFIG_PATH_BYTES = 4096,
    CONFIG_ADDRESS_BYTES = 64,
    CONFIG_HERE_BYTES =
        2048, /* maximum bytes of one host's labels, with one separator for each label and a NUL */
    CONFIG_HERE_FILE_BYTES = 192, /* longer than a line of a configuration may be */
    CONFIG_USER_BYTES = 33,       /* as long as useradd takes them, with the NUL */
    CONFIG_REASON_BYTES = SETTINGS_REASON_BYTES
};

/*
 * The default path of the administrator's socket if `admin_group` is set. The group cannot use a
 * socket in the data directory, which the daemon makes with the mode 0700.
 */
#define CONFIG_ADMIN_SOCKET "/run/hearsay/admin.sock"

/* How a listener's connections are protected. */
enum config_security {
    CONFIG_PLAIN,
    CONFIG_TLS,
    CONFIG_MUTUAL_TLS, /* clients must show a certificate, too */
    CONFIG_SECURITIES
};

enum config_listener_kind { CONFIG_LISTENER_TCP, CONFIG_LISTENER_UNIX };

struct config_listener {
    enum config_listener_kind kind;
    char address[CONFIG_ADDRESS_BYTES]; /* TCP: numeric IPv4 or IPv6, without brackets */
    uint16_t port;                      /* TCP; 0: any free one */
    char path[108];                     /* Unix, as long as sun_path may be, with its NUL */
    bool optional;   /* a default listener that may fail to be bound without an error, such as
                        ::1 without IPv6 */
    bool tls;        /* TCP: its connections are encrypted */
    bool mutual_tls; /* TCP: and clients must show a certificate */
    bool freebind;   /* TCP: bind the address although this machine does not have the address yet */
    bool local;   /* clients of this listener are on site: they get the keys of epochs and the here
                     labels */
    bool limited; /* limits of an address also hold for clients on this machine */
    bool gateway; /* a Unix socket for the user `gateway_user` only; a session may speak for another
                     client's address */
    bool bridge;  /* a Unix socket for the user `bridge_user` only; a session may carry changes */
    bool by_address; /* limits count addresses, not the devices behind them */
};

enum config_security config_security(const struct config_listener *listener);

/* What happens to a deposit if there is no space for the message: the host or the daemon is full,
 * or the sender is over its share. */
enum config_evict {
    CONFIG_EVICT_REJECT, /* the deposit is refused */
    CONFIG_EVICT_OLDEST, /* messages of the host are evicted, the oldest ones first */
    CONFIG_EVICT_SOONEST /* messages of the host are evicted, those that expire first */
};

struct config_host {
    char name[LIMIT_HOST_BYTES + 1];
    unsigned line; /* line of the heading; 0: the host `default` without a section */
    struct profile profile;
    unsigned profile_line; /* line of the key `profile`; 0: the default */
    uint32_t suggested_max_distance_ppm;
    uint64_t messages_max;
    uint64_t bytes_max; /* of payloads, media types and filters */
    enum config_evict evict;
    uint32_t epoch_length_s;                /* 0: no epochs */
    uint32_t epoch_keep_s;                  /* after its end */
    bool refuses_open;                      /* deposits into epoch 0 are refused */
    char here[CONFIG_HERE_BYTES];           /* labels, each with a line feed behind it */
    char here_file[CONFIG_HERE_FILE_BYTES]; /* "": none */
    char here_map[CONFIG_HERE_FILE_BYTES];  /* "": none */
    enum accept accept;
    struct schedule_entry schedule[SCHEDULE_MAX]; /* schedule_count of them */
    size_t schedule_count;
    uint32_t hide_after;             /* reports by different senders; 0: never */
    uint32_t hide_per_hour;          /* messages that reports of one network may hide in an hour */
    uint32_t remove_after_s;         /* time from a removal to the destruction of the message */
    char hood[LIMIT_HOST_BYTES + 1]; /* "": the host belongs to no hood */
    bool is_replica;                 /* role = replica: a copy; another server is the owner */
    bool replicate;                  /* an owner keeps changes for copies */
    bool acknowledge_replicated;     /* acknowledge = replicated */
    uint32_t replicate_wait_ms;      /* how long a deposit's answer waits for copies */
    uint32_t summary_groups;         /* 0: none */
};

/*
 * Returns how many sessions one address may have at a time: sessions_per_address, but at most an
 * eighth of sessions, or 1 if the eighth is less than 1.
 */
uint32_t config_sessions_of_address(const struct hearsay_limits *limits);

struct config {
    struct settings_config common;        /* first */
    char data[CONFIG_PATH_BYTES];         /* "": the caller has not set the default yet */
    char user[CONFIG_USER_BYTES];         /* the user to become; "": stay the same user */
    char admin_group[CONFIG_USER_BYTES];  /* the group of administrators; "": none */
    bool no_call_filter;                  /* call_filter = no */
    char gateway_user[CONFIG_USER_BYTES]; /* the user of the gateway listeners; "": none */
    char bridge_user[CONFIG_USER_BYTES];  /* the user of the bridge listeners; "": none */
    struct config_listener listeners[CONFIG_LISTENERS_MAX];
    char tls_certificate[CONFIG_PATH_BYTES]; /* these three "": not named */
    char tls_key[CONFIG_PATH_BYTES];
    char tls_client_ca[CONFIG_PATH_BYTES];
    size_t listener_count; /* 0: the configuration names no listener, config_finish adds the
                              defaults */
    bool relaxed;          /* durability = relaxed */
    uint32_t commit_delay_ms;
    enum log_level log_level;
    uint32_t clock_patience_s;
    uint32_t moderation_log_keep_s;
    struct hearsay_limits limits; /* the keys of [limits] of which clients are told */
    uint64_t log_bytes; /* the store's log is checkpointed at this size; 0: config_log_bytes derives
                           the size */
    uint32_t addresses; /* senders remembered */
    uint32_t tls_handshakes_max; /* under way at a time */
    uint64_t output_bytes;       /* unsent, all sessions together */
    uint64_t cache_bytes;        /* payloads kept in memory */
    uint32_t hello_timeout_s;
    uint32_t idle_timeout_s; /* 0: none */
    struct config_host hosts[LIMIT_HOSTS];
    size_t host_count; /* after config_finish at least 1: the host `default` if the file names no
                          host */
};

/* Sets the default of each number and each choice of [daemon] and [limits]. All other bytes are 0:
 * there is no host and no listener yet. `out_config` is a struct config, as that of config_print.
 */
void config_defaults(void *out_config);

/*
 * Adds a host with the defaults of [host NAME]. The caller has checked the name, and that there are
 * fewer than LIMIT_HOSTS hosts.
 */
void config_add_host(struct config *config, const char *name);

enum { CONFIG_REFUSED = SETTINGS_REFUSED };

/*
 * Sets one key, for an option of the command line. Example: section "daemon", key "listen", value
 * "127.0.0.1:0". `name` is the option for sentences, such as "--listen". Returns 0, or
 * CONFIG_REFUSED with a sentence in out_reason (CONFIG_REASON_BYTES).
 */
int config_set(struct config *config, const char *name, const char *section, const char *key,
               const char *value, char *out_reason);

/*
 * Completes and checks a configuration after all keys are set. Sets what the configuration leaves
 * open:
 * - the host `default` if no host is named;
 * - the limits `messages` and `bytes` of hosts;
 * - the listeners 127.0.0.1:7117 and [::1]:7117, marked local, if no listener is named;
 * - a Unix socket for administrators if none is named (those of gateways and bridges do not count):
 *   CONFIG_ADMIN_SOCKET with `admin_group`, otherwise DATA/hearsayd.sock if this path is short
 *   enough.
 *
 * Then checks the rules about several keys, such as ttl_default <= ttl_max. Returns 0; or
 * CONFIG_REFUSED with a line for each error in out_reason (CONFIG_REASON_BYTES).
 */
int config_finish(struct config *config, char *out_reason);

/*
 * Returns the size in bytes at which the store's log is checkpointed: the key `log_bytes`, or if
 * the key is not set a 32nd of `bytes`, but at least 1 MiB and at most 8 MiB.
 */
uint64_t config_log_bytes(const struct config *config);

/*
 * Whether the suggested distance of a host is probably one of bits, from before distances were by
 * phi: below 0.6, or above 0.85 without being 1, which means no bound. If so, writes a sentence for
 * the operator to out_sentence (CONFIG_REASON_BYTES).
 */
bool config_doubts_distance(const struct config_host *host, char *out_sentence);

/*
 * Whether the labels of `here` of the host at `index` alone fill a section of its profile further
 * than `deposit_fill_max` lets a deposit, so that clients at the access point cannot deposit
 * anything. Labels of access points do not count, because clients leave out those that have no
 * room. The labels of here_file and here_map are not looked at. If so, writes a sentence for the
 * operator to out_sentence (CONFIG_REASON_BYTES).
 */
bool config_doubts_here(const struct config *config, size_t index, char *out_sentence);

/*
 * Whether the host at `index` has epochs, whose keys nobody is given because no listener is marked
 * `local`. out_sentence (CONFIG_REASON_BYTES) is a sentence for the operator then, and may be
 * overwritten otherwise.
 */
bool config_doubts_epochs(const struct config *config, size_t index, char *out_sentence);

/*
 * Whether a host that a hub keeps a copy of has no here label but that of its store, which another
 * store does not have. If so, writes a sentence for the operator to out_sentence
 * (CONFIG_REASON_BYTES).
 */
bool config_doubts_place(const struct config_host *host, char *out_sentence);

/*
 * Whether the host at `index` may have more messages or bytes than [limits] allows all hosts
 * together, so that its limit is never reached. If so, writes a sentence for the operator to
 * out_sentence (CONFIG_REASON_BYTES).
 */
bool config_doubts_quota(const struct config *config, size_t index, char *out_sentence);

/* Calls `tell` with a sentence for each of the five doubts about each host. */
void config_tell_doubts(const struct config *config,
                        void (*tell)(void *context, const char *sentence), void *context);

/* Whether a bridge is to connect: there is a `listen` line with the word bridge. */
bool config_has_bridge(const struct config *config);

/*
 * Whether two listeners have the same address and port, or the same path. Words after the address
 * are ignored.
 */
bool config_listener_same_place(const struct config_listener *a, const struct config_listener *b);

/*
 * Whether a reload may replace the configuration `running` with `fresh`. Returns 0; or
 * CONFIG_REFUSED with a sentence in out_reason (CONFIG_REASON_BYTES) about a change that needs a
 * restart.
 */
int config_check_reload(const struct config *running, const struct config *fresh, char *out_reason);

/*
 * Writes the configuration in the form of a file. Parsing the file and calling config_finish gives
 * the same values, except for a path that is too long for a line of a file: such a path is written
 * as a comment. Default listeners may be comments, because config_finish adds them again.
 */
void config_print(const void *config, FILE *out);
