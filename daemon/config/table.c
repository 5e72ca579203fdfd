/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config/table.h"

#include <stddef.h>

#include "daemon/config/types.h"

#define KIB   UINT64_C(1024)
#define MIB   (1024 * KIB)
#define GIB   (1024 * MIB)
#define DAY   UINT64_C(86400)
#define YEARS (365 * DAY)
#define PPM   UINT64_C(1000000)

static const char *const durability_words[] = {"storage", "relaxed", NULL};
static const char *const call_filter_words[] = {"yes", "no", NULL};
static const char *const accept_words[] = {"open", "review", "closed", NULL};
static const char *const evict_words[] = {"reject", "oldest", "soonest-expiring", NULL};
static const char *const epoch_open_words[] = {"accept", "refuse", NULL};
static const char *const log_level_words[] = {"error", "warning", "info", "debug", NULL};

static const struct settings_section sections[CONFIG_SECTIONS] = {
    [CONFIG_SECTION_DAEMON] = {.name = "daemon",
                               .help = "Where the daemon keeps its data and where it listens."},
    [CONFIG_SECTION_LIMITS] = {.name = "limits",
                               .help =
                                   "What clients may ask for, and how much of the machine they may "
                                   "use."},
    [CONFIG_SECTION_HOST] = {.name = "host",
                             .label = "NAME",
                             .example = "default",
                             .help =
                                 "One message store. The section may stand up to 64 times, with "
                                 "different names of at most 63 letters a-z, digits and inner "
                                 "hyphens. Without any there is one host, default."},
};

/* What each row says about its place: section, name, offset and width of the field. */
#define DAEMON_KEY(name, member)                                  \
    CONFIG_SECTION_DAEMON, name, offsetof(struct config, member), \
        sizeof(((struct config *)0)->member)
#define LIMITS_KEY(name, member)                                         \
    CONFIG_SECTION_LIMITS, name, offsetof(struct config, limits.member), \
        sizeof(((struct config *)0)->limits.member)
#define HOST_KEY(name, member)                                       \
    CONFIG_SECTION_HOST, name, offsetof(struct config_host, member), \
        sizeof(((struct config_host *)0)->member)

/* In the order in which they are printed. */
static const struct settings_key keys[] = {
    {DAEMON_KEY("data", data), SETTINGS_TYPE_PATH,
     .standard_note = "the service's state directory; without one /var/lib/hearsay for root, "
                      "$XDG_STATE_HOME/hearsayd for others",
     .example = "/var/lib/hearsay",
     .help = "Directory of the database, made if it is not there. One daemon to a directory."},
    {DAEMON_KEY("user", user), SETTINGS_TYPE_USER, .example = "hearsay",
     .standard_note = "who started the daemon",
     .help =
         "Whom the daemon becomes when root starts it, after it has bound its TCP addresses and "
         "before it opens its data. A data directory that is not there is made for this user."},
    {DAEMON_KEY("admin_group", admin_group), SETTINGS_TYPE_GROUP, .example = "hearsay",
     .standard_note = "none",
     .help = "A group whose members may administer the daemon, as its user and root may: its Unix "
             "sockets then belong to that group, with mode 0660, and the default one is "
             "/run/hearsay/admin.sock instead of hearsayd.sock in the data directory. The daemon's "
             "user must be a member, unless root starts the daemon and `user` is set."},
    {DAEMON_KEY("call_filter", no_call_filter), SETTINGS_TYPE_CHOICE, .words = call_filter_words,
     .standard = "yes",
     .help = "Whether the kernel is asked to refuse the daemon what it never needs: to run other "
             "programs, to trace them, to mount, to change users."},
    {DAEMON_KEY("listen", listeners), SETTINGS_TYPE_OWN, .own = &config_type_listener,
     .repeatable = true, .reloadable = true,
     .standard_note = "127.0.0.1:7117, [::1]:7117 and the Unix socket hearsayd.sock in the data "
                      "directory, or /run/hearsay/admin.sock with admin_group",
     .example = "127.0.0.1:7117\n[::1]:7117",
     .help =
         "Where to listen: a numeric address and a port (0: any free one), or the path of a "
         "Unix socket, for the administrator. Up to 15 lines. Any line takes the place of the "
         "default addresses; the default Unix socket stays until a line names another. Words may "
         "follow: tls (its connections are encrypted), mutual-tls (and clients must show a "
         "certificate), limited (the limits of an address then hold for clients of this "
         "machine, too, all of one Unix socket counting as one; otherwise they are exempt), local "
         "(only people on site can reach it: they are given the keys of epochs), freebind (the "
         "address is listened on although this machine does not have it yet). A reload opens and "
         "closes listeners; connections stay."},
    {DAEMON_KEY("tls_certificate", tls_certificate), SETTINGS_TYPE_PATH, .reloadable = true,
     .standard_note = "none", .example = "/etc/hearsay/certificate.pem",
     .help = "PEM file with the certificate of the listeners with `tls`, and those between it and "
             "its root. Read again at a reload."},
    {DAEMON_KEY("tls_key", tls_key), SETTINGS_TYPE_PATH, .reloadable = true,
     .standard_note = "none", .example = "/etc/hearsay/key.pem",
     .help = "PEM file with its key, without a passphrase, which others may not read."},
    {DAEMON_KEY("tls_client_ca", tls_client_ca), SETTINGS_TYPE_PATH, .reloadable = true,
     .standard_note = "none", .example = "/etc/hearsay/clients.pem",
     .help = "PEM file with the certificates of whom to believe about clients, for `mutual-tls`."},
    {DAEMON_KEY("durability", relaxed), SETTINGS_TYPE_CHOICE, .words = durability_words,
     .standard = "storage",
     .help = "storage: a deposit is acknowledged when it is on storage. relaxed: it survives a "
             "crash of the daemon, but the last ones may be lost when the power fails; needed "
             "where the data directory is in memory."},
    {DAEMON_KEY("commit_delay", commit_delay_ms), SETTINGS_TYPE_MILLISECONDS, 0, 10000,
     .standard = "0",
     .help = "A commit waits so long for more deposits, which are then written and acknowledged "
             "together. Fewer commits wear out less flash. 50ms to 200ms is what a user hardly "
             "notices. 0: a commit begins at once."},
    {DAEMON_KEY("log_level", log_level), SETTINGS_TYPE_CHOICE, .words = log_level_words,
     .standard = "info", .reloadable = true, .help = "The least important lines that are logged."},
    {DAEMON_KEY("clock_patience", clock_patience_s), SETTINGS_TYPE_DURATION, 0, YEARS,
     .standard = "1h", .reloadable = true,
     .help = "How long the system's clock must have run without a step to be believed, when it is "
             "more than a day ahead and the system does not say that it is synchronised; nothing "
             "expires by it before. 0: at once."},

    {LIMITS_KEY("frame", frame_bytes), SETTINGS_TYPE_SIZE, LIMIT_FRAME_BYTES_MIN,
     LIMIT_FRAME_BYTES_MAX, .standard = "64K", .help = "Largest frame in either direction."},
    {LIMITS_KEY("payload", payload_bytes), SETTINGS_TYPE_SIZE, 0,
     LIMIT_FRAME_BYTES_MAX - CONFIG_FRAME_REST_BYTES, .standard = "4K", .reloadable = true,
     .help = "Largest payload of a message; at least 2K less than a frame."},
    {LIMITS_KEY("deposit_fill_min", deposit_fill_min_ppm), SETTINGS_TYPE_PERCENT, 0, PPM,
     .standard = "0.5%", .reloadable = true,
     .help = "Share of bits that a deposited filter must have set: emptier ones are near to "
             "nothing."},
    {LIMITS_KEY("deposit_fill_max", deposit_fill_max_ppm), SETTINGS_TYPE_PERCENT, 0, PPM,
     .standard = "90%", .reloadable = true,
     .help = "Share of bits that a deposited filter may have set: fuller ones match everything."},
    {LIMITS_KEY("query_fill_max", query_fill_max_ppm), SETTINGS_TYPE_PERCENT, 0, PPM,
     .standard = "90%", .reloadable = true,
     .help = "Share of bits that a query's filter may have set."},
    {LIMITS_KEY("k", k_max), SETTINGS_TYPE_COUNT, 1, LIMIT_RESULTS, .unit = "messages",
     .standard = "100", .reloadable = true, .help = "Most messages that a query may ask for."},
    {LIMITS_KEY("sender_share", sender_share_ppm), SETTINGS_TYPE_PERCENT, 1, PPM, .standard = "30%",
     .reloadable = true,
     .help = "Share of the k messages of an answer, at least one message, that may come from one "
             "address, as far as others have any; 100%: all. Messages of exempt clients, and "
             "those that were there before the daemon started, are never left out."},
    {LIMITS_KEY("parts", parts_max), SETTINGS_TYPE_COUNT, 1, LIMIT_PARTS, .unit = "filters",
     .standard = "64", .reloadable = true, .help = "Most filters that one query may combine."},
    {LIMITS_KEY("ttl_default", ttl_default_s), SETTINGS_TYPE_DURATION, 1, 10 * YEARS,
     .standard = "24h", .reloadable = true,
     .help = "How long a message is kept when its deposit does not say."},
    {LIMITS_KEY("ttl_max", ttl_max_s), SETTINGS_TYPE_DURATION, 1, 10 * YEARS, .standard = "7d",
     .reloadable = true, .help = "How long a deposit may ask for."},
    {LIMITS_KEY("messages", messages_max), SETTINGS_TYPE_COUNT, 1, 16000000, .unit = "messages",
     .standard = "100000", .reloadable = true, .help = "Most messages stored, all hosts together."},
    {LIMITS_KEY("bytes", bytes_max), SETTINGS_TYPE_SIZE, 4 * KIB, 16 * GIB, .standard = "64M",
     .reloadable = true,
     .help = "Most bytes of payloads, media types and filters stored, all hosts together."},
    {LIMITS_KEY("log_bytes", log_bytes), SETTINGS_TYPE_SIZE, 256 * KIB, 256 * MIB,
     .standard_note = "a 32nd of bytes, from 1M to 8M", .example = "2M",
     .help = "Size at which the write-ahead log beside the database is checkpointed: its pages are "
             "copied into the database, and the log is written from its beginning again. A smaller "
             "log takes less storage. A larger log writes less, since a page that changes often is "
             "copied once. Deposits leave so much storage free, and 2M more."},
    {LIMITS_KEY("sessions", sessions_max), SETTINGS_TYPE_COUNT, 1, 65536, .unit = "sessions",
     .standard = "256", .reloadable = true,
     .help =
         "Most clients connected at a time. When one more comes, the oldest idle session of the "
         "address that has most is dropped and told why."},
    {LIMITS_KEY("sessions_per_address", sessions_per_address), SETTINGS_TYPE_COUNT, 1, 65536,
     .unit = "sessions", .standard = "16", .reloadable = true,
     .help = "Most clients of one address connected at a time, and never more than an eighth of "
             "sessions. For this and the next four: clients of this machine are exempt, unless "
             "their listener is limited; an IPv6 address on link counts by itself, and its /64 has "
             "16 times the rates; one from further away counts by its /64."},
    {LIMITS_KEY("deposits_per_minute", deposits_per_minute), SETTINGS_TYPE_COUNT, 0, 1000000,
     .unit = "deposits", .standard = "60", .reloadable = true,
     .help = "How many deposits and withdrawals one address may send in the long run; 0: any "
             "number."},
    {LIMITS_KEY("deposit_burst", deposit_burst), SETTINGS_TYPE_COUNT, 1, 1000000,
     .unit = "deposits", .standard = "60", .reloadable = true,
     .help = "How many of them at once, after a while without any."},
    {LIMITS_KEY("queries_per_minute", queries_per_minute), SETTINGS_TYPE_COUNT, 0, 1000000,
     .unit = "queries", .standard = "1200", .reloadable = true,
     .help = "How many queries, and other requests that read, one address may send in the long "
             "run; 0: any number. A query counts once for each of its filters, and once for each "
             "3 slices and hashes of the ids that it leaves out; a watch also for each 64 "
             "messages that it catches up with."},
    {LIMITS_KEY("query_burst", query_burst), SETTINGS_TYPE_COUNT, 1, 1000000, .unit = "queries",
     .standard = "300", .reloadable = true,
     .help = "How many of them at once, after a while without any."},
    {LIMITS_KEY("work_bits", work_bits), SETTINGS_TYPE_COUNT, 0, LIMIT_WORK_BITS, .unit = "bits",
     .standard = "0", .reloadable = true,
     .help = "Proof of work that each deposit and report has to bring: so many zero bits, which "
             "take 2^bits "
             "tries to find, about a second for 21 on a laptop, and a multiple of that on a phone. "
             "0: none. Clients that are exempt from the limits of an address need none."},
    {LIMITS_KEY("addresses", addresses), SETTINGS_TYPE_COUNT, 16, 1000000, .unit = "addresses",
     .standard = "4096",
     .help = "How many addresses (as salted hashes, in memory only) are told apart: those that "
             "are connected, or have not regained all that they may do at once. Further ones "
             "share 16 times the limits of one address. About 120 bytes each."},
    {LIMITS_KEY("tls_handshakes", tls_handshakes_max), SETTINGS_TYPE_COUNT, 1, 65536,
     .unit = "handshakes", .standard = "64", .reloadable = true,
     .help = "Most TLS handshakes under way at a time, an eighth of them by one address. For one "
             "more, the oldest of the address that has most is closed; a handshake may take 2 s "
             "while more than half of them are under way."},
    {LIMITS_KEY("requests_in_flight", requests_in_flight), SETTINGS_TYPE_COUNT, 1, 65536,
     .unit = "requests", .standard = "4096", .reloadable = true,
     .help = "Most requests of one session that wait for their answer; then it is read no "
             "further."},
    {LIMITS_KEY("watches_per_session", watches_per_session), SETTINGS_TYPE_COUNT, 0, 65536,
     .unit = "filters", .standard = "16", .reloadable = true,
     .help = "Most filters that stand in the watches of one session; one of several parts counts "
             "as so many. 0: nobody can watch."},
    {LIMITS_KEY("watches", watches), SETTINGS_TYPE_COUNT, 0, 1000000, .unit = "filters",
     .standard = "10000", .reloadable = true,
     .help = "The same for all sessions together; about 0.7 to 1.5 KiB each, with 512 bits."},
    {LIMITS_KEY("session_output", session_output_bytes), SETTINGS_TYPE_SIZE,
     2 * LIMIT_FRAME_BYTES_MIN, 256 * MIB, .standard = "1M", .reloadable = true,
     .help = "Most bytes that wait to be sent to one session, at least two frames; a client that "
             "does not read them is dropped."},
    {LIMITS_KEY("output", output_bytes), SETTINGS_TYPE_SIZE, 2 * LIMIT_FRAME_BYTES_MIN, 1 * GIB,
     .standard = "16M", .reloadable = true,
     .help = "The same for all sessions together; at least session_output."},
    {LIMITS_KEY("cache", cache_bytes), SETTINGS_TYPE_SIZE, 0, 1 * GIB, .standard = "8M",
     .reloadable = true,
     .help = "Most bytes of payloads kept in memory; 0: each is read from storage."},
    {LIMITS_KEY("hello_timeout", hello_timeout_s), SETTINGS_TYPE_DURATION, 1, 300,
     .standard = "10s", .reloadable = true,
     .help = "How long a client may take to introduce itself."},
    {LIMITS_KEY("idle_timeout", idle_timeout_s), SETTINGS_TYPE_DURATION, 0, 7 * DAY,
     .standard = "10m", .reloadable = true,
     .help = "After how long without a request a session is closed; 0: never."},

    {HOST_KEY("profile", profile), SETTINGS_TYPE_OWN, .own = &config_type_profile,
     .standard = "v1:512/4",
     .help =
         "How contexts become filters: v1, bits, hashes a label; or sections by attribute, as in "
         "v1:wifi=288/2,time=32/1,topic=96/2,any=96/2. It cannot be changed once the host has "
         "messages."},
    {HOST_KEY("suggested_max_distance", suggested_max_distance_ppm), SETTINGS_TYPE_DISTANCE, 0, PPM,
     .standard = "0.8", .reloadable = true,
     .help = "Distance beyond which clients should take a message for unrelated; they apply it "
             "unless told otherwise."},
    {HOST_KEY("here", here), SETTINGS_TYPE_OWN, .own = &config_type_labels, .standard_note = "none",
     .example = "geo:u281zd, wifi:a4:2b:8c:01:02:03", .repeatable = true, .reloadable = true,
     .help = "Labels of what is around the access point, such as geo:u281zd, for clients that "
             "cannot look themselves. Several with commas between them, on any number of lines, "
             "2,000 bytes together; more, and labels with commas, go into here_file."},
    {HOST_KEY("here_file", here_file), SETTINGS_TYPE_PATH, .standard_note = "none",
     .example = "/run/hearsay/here", .reloadable = true,
     .help = "A file with more of them, one a line, at most 64K; # begins a comment. It is looked "
             "at every second, so that a program that scans may write it. Wrong content is logged "
             "and changes nothing."},
    {HOST_KEY("accept", accept), SETTINGS_TYPE_CHOICE, .words = accept_words, .standard = "open",
     .reloadable = true,
     .help =
         "Which deposits are taken. review: they are stored, and nobody sees them until the "
         "operator has looked at them. closed: none. `hearsay admin accept` stands above this."},
    {HOST_KEY("accept_schedule", schedule), SETTINGS_TYPE_OWN, .own = &config_type_schedule,
     .standard_note = "none", .example = "22:00-06:00 closed", .repeatable = true,
     .reloadable = true,
     .help = "The same for a part of each day, local time, such as 22:00-06:00 closed. Up to 8 "
             "lines; the first that covers the time stands above accept."},
    {HOST_KEY("hide_after", hide_after), SETTINGS_TYPE_COUNT, 0, 65536, .unit = "reports",
     .standard = "5", .reloadable = true,
     .help =
         "After reports by so many different senders a message is hidden until the operator has "
         "looked at it; 0: never."},
    {HOST_KEY("hide_per_hour", hide_per_hour), SETTINGS_TYPE_COUNT, 1, 1000, .unit = "messages",
     .standard = "6", .reloadable = true,
     .help = "How many messages the reports of one network may hide in an hour: of an IPv6 /64, or "
             "of an IPv4 address. What it reports beyond that stays shown, goes to the operator's "
             "list (hearsay admin list) and does not count for hide_after; the log has one "
             "warning an hour."},
    {HOST_KEY("messages", messages_max), SETTINGS_TYPE_COUNT, 1, 16000000, .unit = "messages",
     .standard_note = "messages of [limits]", .example = "100000", .reloadable = true,
     .help = "Most messages that this host stores; a 16th of them of one address, and half of them "
             "of one IPv6 /64 on link."},
    {HOST_KEY("bytes", bytes_max), SETTINGS_TYPE_SIZE, 4 * KIB, 16 * GIB,
     .standard_note = "bytes of [limits]", .example = "64M", .reloadable = true,
     .help = "Most bytes of payloads, media types and filters that this host stores, with the same "
             "shares; one message of an address is always taken."},
    {HOST_KEY("evict", evict), SETTINGS_TYPE_CHOICE, .words = evict_words, .standard = "reject",
     .reloadable = true,
     .help =
         "What happens to a deposit when the host, or all hosts together, are full, or when its "
         "sender is over its share. reject: it gets QUOTA. oldest, soonest-expiring: messages of "
         "this host, at most 64, make room for it. A sender over its share loses its own oldest "
         "first; then go those deposited first, or those with the least time left."},
    {HOST_KEY("epoch_length", epoch_length_s), SETTINGS_TYPE_DURATION, 0, 365 * DAY,
     .standard = "0", .reloadable = true,
     .help = "How long an epoch lasts; its end is a multiple of this since 1970. Each has a random "
             "key, which only clients of listeners marked local are given. 0: there are none."},
    {HOST_KEY("epoch_keep", epoch_keep_s), SETTINGS_TYPE_DURATION, 0, 10 * YEARS, .standard = "24h",
     .reloadable = true,
     .help = "How long an epoch is kept after its end; then it is destroyed, with its key and all "
             "its messages. At most 60 times epoch_length. Holds for epochs that begin later."},
    {HOST_KEY("epoch_open", refuses_open), SETTINGS_TYPE_CHOICE, .words = epoch_open_words,
     .standard = "accept", .reloadable = true,
     .help = "Whether messages may be deposited in the open, in epoch 0, which has no key."},
};

_Static_assert(sizeof(keys) / sizeof(keys[0]) <= CONFIG_KEYS_MAX,
               "struct config has a line number for each key");

const struct settings_table config_table = {
    .sections = sections,
    .section_count = CONFIG_SECTIONS,
    .keys = keys,
    .key_count = sizeof(keys) / sizeof(keys[0]),
};
