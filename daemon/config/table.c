/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config/inner.h"

#define KIB   UINT64_C(1024)
#define MIB   (1024 * KIB)
#define GIB   (1024 * MIB)
#define DAY   UINT64_C(86400)
#define YEARS (365 * DAY)
#define PPM   UINT64_C(1000000)

static const char *const durability_words[] = {"storage", "relaxed", NULL};
static const char *const call_filter_words[] = {"yes", "no", NULL};
static const char *const role_words[] = {"owner", "replica", NULL};
static const char *const replicate_words[] = {"no", "yes", NULL};
static const char *const acknowledge_words[] = {"storage", "replicated", NULL};
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

/* The first columns of a row: section, name, and offset and width of the field in the struct. */
#define DAEMON_KEY(name, member)                                  \
    CONFIG_SECTION_DAEMON, name, offsetof(struct config, member), \
        sizeof(((struct config *)0)->member)
#define LIMITS_KEY(name, member)                                  \
    CONFIG_SECTION_LIMITS, name, offsetof(struct config, member), \
        sizeof(((struct config *)0)->member)
#define HOST_KEY(name, member)                                       \
    CONFIG_SECTION_HOST, name, offsetof(struct config_host, member), \
        sizeof(((struct config_host *)0)->member)

/* In the order in which they are printed. */
static const struct settings_key keys[] = {
    {DAEMON_KEY("data", data), SETTINGS_TYPE_PATH,
     .standard_note = "the service's state directory; without one /var/lib/hearsay for root, "
                      "$XDG_STATE_HOME/hearsayd or ~/.local/state/hearsayd for others",
     .example = "/var/lib/hearsay",
     .help = "Directory of the database. The daemon makes it if it is not there. One daemon for "
             "each directory."},
    {DAEMON_KEY("user", user), SETTINGS_TYPE_USER, .example = "hearsay",
     .standard_note = "who started the daemon",
     .help = "The user that the daemon becomes when root starts it, after it has bound its TCP "
             "addresses and before it opens its data. A data directory that is not there is made "
             "for this user."},
    {DAEMON_KEY("admin_group", admin_group), SETTINGS_TYPE_GROUP, .example = "hearsay",
     .standard_note = "none",
     .help =
         "A group whose members may administer the daemon, as its user and root may. Its Unix "
         "sockets, except for those with `gateway` or `bridge`, then belong to that group, with "
         "mode 0660, "
         "and the default socket is "
         "/run/hearsay/admin.sock instead of hearsayd.sock in the data directory. The daemon's "
         "user must be a member, unless root starts the daemon and `user` is set."},
    {DAEMON_KEY("gateway_user", gateway_user), SETTINGS_TYPE_USER, .example = "hearsay-web",
     .standard_note = "none",
     .help = "The only user that may connect to the listeners with `gateway`: the user of "
             "hearsay-web, neither root nor nobody. There this user is no administrator."},
    {DAEMON_KEY("bridge_user", bridge_user), SETTINGS_TYPE_USER, .example = "hearsay-bridge",
     .standard_note = "none",
     .help = "The only user that may connect to the listeners with `bridge`: the user of "
             "hearsay-bridge, neither root nor nobody. There this user is no administrator."},
    {DAEMON_KEY("call_filter", no_call_filter), SETTINGS_TYPE_CHOICE, .words = call_filter_words,
     .standard = "yes",
     .help = "Whether the kernel refuses the daemon system calls that it never needs, such as "
             "those to run or trace other programs, to mount, and to change users."},
    {DAEMON_KEY("listen", listeners), SETTINGS_TYPE_OWN, .own = &config_type_listener,
     .repeatable = true, .reloadable = true,
     .standard_note = "127.0.0.1:7117 local, [::1]:7117 local and the Unix socket hearsayd.sock in "
                      "the data directory, or /run/hearsay/admin.sock with admin_group",
     .example = "127.0.0.1:7117 local\n[::1]:7117 local",
     .help =
         "Where to listen: a numeric address and a port (0: any free one), or the path of a "
         "Unix socket, for the administrator. Up to 15 lines. Any line replaces the default "
         "addresses; the default Unix socket stays until a line names another one. Words may "
         "follow. tls: connections are encrypted. mutual-tls: clients must show a certificate, "
         "too. limited: the limits of an address also hold for clients of this machine, which "
         "are exempt otherwise; all clients of one Unix socket count as one. local: only "
         "people on site can reach this address; they are given the keys of epochs, and the labels "
         "of "
         "`here`, which would be wrong for people elsewhere. freebind: "
         "listen although this machine does not have the address yet. gateway: only `gateway_user` "
         "may "
         "connect to this Unix socket, and names the address of each client for whom it speaks; "
         "the socket's folder may hold no other socket. bridge: only `bridge_user` may connect to "
         "this Unix socket, which carries changes to and from copies of a host; the socket's "
         "folder may hold no other socket. senders=address: limits count each address, where they "
         "otherwise count the device behind it, as the kernel's table of neighbours tells; for a "
         "network behind a repeater or a tunnel, which shows all phones as one device. "
         "A reload opens and "
         "closes listeners; connections stay."},
    {DAEMON_KEY("tls_certificate", tls_certificate), SETTINGS_TYPE_PATH, .reloadable = true,
     .standard_note = "none", .example = "/etc/hearsay/certificate.pem",
     .help = "PEM file with the certificate of the listeners with `tls`, followed by the "
             "certificates between it and its root. A reload reads it again."},
    {DAEMON_KEY("tls_key", tls_key), SETTINGS_TYPE_PATH, .reloadable = true,
     .standard_note = "none", .example = "/etc/hearsay/key.pem",
     .help = "PEM file with the key of the certificate in tls_certificate, without a passphrase. "
             "Others may not read "
             "the file."},
    {DAEMON_KEY("tls_client_ca", tls_client_ca), SETTINGS_TYPE_PATH, .reloadable = true,
     .standard_note = "none", .example = "/etc/hearsay/clients.pem",
     .help = "PEM file with the certificates of the authorities that sign the certificates of "
             "clients, for `mutual-tls`."},
    {DAEMON_KEY("durability", relaxed), SETTINGS_TYPE_CHOICE, .words = durability_words,
     .standard = "storage",
     .help = "storage: the daemon acknowledges a deposit when it is on storage. relaxed: an "
             "acknowledged deposit survives a crash of the daemon, but the last ones may be lost "
             "when the power fails; needed where the data directory is in memory."},
    {DAEMON_KEY("commit_delay", commit_delay_ms), SETTINGS_TYPE_MILLISECONDS, 0, 10000,
     .standard = "0",
     .help = "How long a commit waits for more deposits, which are then written and acknowledged "
             "together. Fewer commits wear out less flash. Users hardly notice 50ms to 200ms. 0: a "
             "commit begins at once. After a commit of many deposits, the next one waits for more "
             "of them in any case, at most 1ms."},
    {DAEMON_KEY("log_level", log_level), SETTINGS_TYPE_CHOICE, .words = log_level_words,
     .standard = "info", .reloadable = true, .help = "The least important lines that are logged."},
    {DAEMON_KEY("clock_patience", clock_patience_s), SETTINGS_TYPE_DURATION, 0, YEARS,
     .standard = "1h", .reloadable = true,
     .help = "If the system's clock is more than a day ahead of the store's, and the system does "
             "not say that it is synchronised: how long the system's clock must run without a step "
             "before the daemon believes it. Until then nothing expires by the system's clock. 0: "
             "at once."},
    {DAEMON_KEY("moderation_log_keep", moderation_log_keep_s), SETTINGS_TYPE_DURATION, 0,
     10 * YEARS, .standard = "180d", .reloadable = true,
     .help = "How long a decision of an operator stays in the list of decisions (hearsay admin "
             "log). The list has at most 10,000 decisions of each host."},

    {LIMITS_KEY("frame", limits.frame_bytes), SETTINGS_TYPE_SIZE, LIMIT_FRAME_BYTES_MIN,
     LIMIT_FRAME_BYTES_MAX, .standard = "64K", .help = "Largest frame in either direction."},
    {LIMITS_KEY("payload", limits.payload_bytes), SETTINGS_TYPE_SIZE, 0,
     LIMIT_FRAME_BYTES_MAX - CONFIG_FRAME_REST_BYTES, .standard = "4K", .reloadable = true,
     .help = "Largest payload of a message; at least 2K less than a frame."},
    {LIMITS_KEY("deposit_fill_min", limits.deposit_fill_min_ppm), SETTINGS_TYPE_PERCENT, 0, PPM,
     .standard = "0.02%", .reloadable = true,
     .help = "Smallest share of bits that may be set in a deposited filter, counted over all "
             "sections. Emptier filters are near to hardly any query. With the default, one bit "
             "is enough in every profile."},
    {LIMITS_KEY("deposit_fill_max", limits.deposit_fill_max_ppm), SETTINGS_TYPE_PERCENT, 0, PPM,
     .standard = "50%", .reloadable = true,
     .help =
         "Largest share of bits that may be set in each section of a deposited filter. One label "
         "is always taken, however small its section. With fuller sections, the search by phi "
         "can rule out less."},
    {LIMITS_KEY("query_fill_max", limits.query_fill_max_ppm), SETTINGS_TYPE_PERCENT, 0, PPM,
     .standard = "50%", .reloadable = true,
     .help =
         "Largest share of bits that may be set in each section of a query's filters, those of "
         "`contains` included; the rule is the same. Above 50%, a part of a query with a "
         "section that is more than half full counts four times for queries_per_minute, because "
         "it is compared with all messages."},
    {LIMITS_KEY("k", limits.k_max), SETTINGS_TYPE_COUNT, 1, LIMIT_RESULTS, .unit = "messages",
     .standard = "100", .reloadable = true, .help = "Most messages that a query may ask for."},
    {LIMITS_KEY("sender_share", limits.sender_share_ppm), SETTINGS_TYPE_PERCENT, 1, PPM,
     .standard = "30%", .reloadable = true,
     .help = "Largest share of the k messages of an answer that may come from one address, rounded "
             "down; one message always may. 100%: all. Messages of exempt clients, and messages "
             "from before the start of the daemon, are not limited."},
    {LIMITS_KEY("parts", limits.parts_max), SETTINGS_TYPE_COUNT, 1, LIMIT_PARTS, .unit = "filters",
     .standard = "64", .reloadable = true,
     .help = "Most parts that one query may have, each with a filter."},
    {LIMITS_KEY("ttl_default", limits.ttl_default_s), SETTINGS_TYPE_DURATION, 1, 10 * YEARS,
     .standard = "24h", .reloadable = true,
     .help = "Lifetime of a message whose deposit names none."},
    {LIMITS_KEY("ttl_max", limits.ttl_max_s), SETTINGS_TYPE_DURATION, 1, 10 * YEARS,
     .standard = "7d", .reloadable = true, .help = "Longest lifetime that a deposit may ask for."},
    {LIMITS_KEY("messages", limits.messages), SETTINGS_TYPE_COUNT, 1, 16000000, .unit = "messages",
     .standard = "100000", .reloadable = true, .help = "Most messages stored, all hosts together."},
    {LIMITS_KEY("bytes", limits.bytes), SETTINGS_TYPE_SIZE, 4 * KIB, 16 * GIB, .standard = "64M",
     .reloadable = true,
     .help = "Most bytes of payloads, media types and filters stored, all hosts together."},
    {LIMITS_KEY("log_bytes", log_bytes), SETTINGS_TYPE_SIZE, 256 * KIB, 256 * MIB,
     .standard_note = "a 32nd of bytes, from 1M to 8M", .example = "2M",
     .help = "Size at which the write-ahead log beside the database is checkpointed: its pages are "
             "copied into the database, and the log is written from its beginning again. A smaller "
             "log takes less storage. A larger log writes less, because a page that changes often "
             "is copied once. Deposits keep this much storage free, and 2M more."},
    {LIMITS_KEY("sessions", limits.sessions), SETTINGS_TYPE_COUNT, 1, 65536, .unit = "sessions",
     .standard = "256", .reloadable = true,
     .help =
         "Most clients connected at a time. When one more comes, the daemon drops a session of the "
         "address that has most, an idle one first, and tells its client why. An address that has "
         "fewer sessions than the new client's loses none."},
    {LIMITS_KEY("sessions_per_address", limits.sessions_per_address), SETTINGS_TYPE_COUNT, 1, 65536,
     .unit = "sessions", .standard = "16", .reloadable = true,
     .help = "Most clients of one address connected at a time, but at most an eighth of sessions, "
             "or 1. One more takes the place of an idle one that does not watch. For this key and "
             "the next four: "
             "clients of this machine are exempt, unless "
             "their listener is limited; all addresses of a device on link count as one, if the "
             "kernel's table of neighbours tells the device; otherwise an IPv6 address on link "
             "counts by itself, and its /64 has 16 times the rates; an IPv6 address from further "
             "away counts by its /64."},
    {LIMITS_KEY("deposits_per_minute", limits.deposits_per_minute), SETTINGS_TYPE_COUNT, 0, 1000000,
     .unit = "deposits", .standard = "60", .reloadable = true,
     .help = "How many deposits, withdrawals and reports a minute one address may send on average; "
             "0: any number."},
    {LIMITS_KEY("deposit_burst", limits.deposit_burst), SETTINGS_TYPE_COUNT, 1, 1000000,
     .unit = "deposits", .standard = "60", .reloadable = true,
     .help = "How many deposits, withdrawals and reports one address may send at once, after a "
             "while without any."},
    {LIMITS_KEY("queries_per_minute", limits.queries_per_minute), SETTINGS_TYPE_COUNT, 0, 1000000,
     .unit = "queries", .standard = "1200", .reloadable = true,
     .help = "How many queries, and other requests that read, one address may send a minute on "
             "average; 0: any number. A query counts once for each of its parts, and once for each "
             "3 slices and hashes of the ids that it leaves out, four times all this if it is of a "
             "hood; a watch also counts once for each page of at most 64 messages with which it "
             "catches up."},
    {LIMITS_KEY("query_burst", limits.query_burst), SETTINGS_TYPE_COUNT, 1, 1000000,
     .unit = "queries", .standard = "300", .reloadable = true,
     .help = "How many queries, counted as for queries_per_minute, one address may send at once, "
             "after a while without any."},
    {LIMITS_KEY("addresses", addresses), SETTINGS_TYPE_COUNT, 16, 1000000, .unit = "addresses",
     .standard = "4096",
     .help =
         "How many addresses the daemon tells apart (as salted hashes, in memory only). It forgets "
         "an address that is not connected and has regained all its tokens. Further addresses "
         "share 16 times the limits of one address. An address takes about 120 bytes."},
    {LIMITS_KEY("tls_handshakes", tls_handshakes_max), SETTINGS_TYPE_COUNT, 1, 65536,
     .unit = "handshakes", .standard = "64", .reloadable = true,
     .help = "Most TLS handshakes under way at a time, an eighth of them by one address. For one "
             "more, the daemon closes the oldest one of the address that has most, or of the new "
             "client's address if this address has its eighth. A handshake may "
             "take 2 s while more than half of them are under way."},
    {LIMITS_KEY("requests_in_flight", limits.requests_in_flight), SETTINGS_TYPE_COUNT, 1, 65536,
     .unit = "requests", .standard = "4096", .reloadable = true,
     .help = "Most requests of one session that wait for their answer. At this number the daemon "
             "stops reading the session."},
    {LIMITS_KEY("watches_per_session", limits.watches_per_session), SETTINGS_TYPE_COUNT, 0, 65536,
     .unit = "filters", .standard = "16", .reloadable = true,
     .help = "Most filters in the watches of one session; a watch of several parts counts once for "
             "each part. 0: nobody can watch."},
    {LIMITS_KEY("watches", limits.watches), SETTINGS_TYPE_COUNT, 0, 1000000, .unit = "filters",
     .standard = "10000", .reloadable = true,
     .help = "Most filters in the watches of all sessions together; about 0.7 to 1.5 KiB each, "
             "with 512 bits."},
    {LIMITS_KEY("session_output", limits.session_output_bytes), SETTINGS_TYPE_SIZE,
     2 * LIMIT_FRAME_BYTES_MIN, 256 * MIB, .standard = "1M", .reloadable = true,
     .help = "Most bytes that wait to be sent to one session, at least two frames. The daemon "
             "drops a client that does not read them."},
    {LIMITS_KEY("output", output_bytes), SETTINGS_TYPE_SIZE, 2 * LIMIT_FRAME_BYTES_MIN, 1 * GIB,
     .standard = "16M", .reloadable = true,
     .help = "Most bytes that wait to be sent to all sessions together; at least session_output."},
    {LIMITS_KEY("cache", cache_bytes), SETTINGS_TYPE_SIZE, 0, 1 * GIB, .standard = "8M",
     .reloadable = true,
     .help = "Most bytes of payloads kept in memory; 0: each payload is read from storage."},
    {LIMITS_KEY("hello_timeout", hello_timeout_s), SETTINGS_TYPE_DURATION, 1, 300,
     .standard = "10s", .reloadable = true,
     .help = "How long a client may take to send its Hello."},
    {LIMITS_KEY("idle_timeout", idle_timeout_s), SETTINGS_TYPE_DURATION, 0, 7 * DAY,
     .standard = "10m", .reloadable = true,
     .help = "How long a session without a watch may send no request before it is closed; 0: for "
             "ever."},

    {HOST_KEY("profile", profile), SETTINGS_TYPE_OWN, .own = &config_type_profile,
     .standard = "v2:wifi=362/2,place=53/7,any=97/4",
     .help =
         "How contexts become filters: v2:bits/hashes for each label; or sections by "
         "attribute, as in the default. Labels of attributes without a section go to the section "
         "any. It cannot change once the host has messages."},
    {HOST_KEY("suggested_max_distance", suggested_max_distance_ppm), SETTINGS_TYPE_DISTANCE, 0, PPM,
     .standard = "0.7725", .reloadable = true,
     .help = "Messages beyond this distance by phi are probably unrelated. Clients apply this "
             "bound unless their user says otherwise. Until 0.2.0 it was the Jaccard distance, "
             "with the default 0.8, so this value, those below 0.6, and those above 0.85 but not 1 "
             "cause a warning at the start."},
    {HOST_KEY("here", here), SETTINGS_TYPE_OWN, .own = &config_type_labels,
     .standard_note = "without here_file and here_map: place: and 16 digits of the store's id",
     .example = "geo:u281zd, wifi:a4:2b:8c:01:02:03", .repeatable = true, .reloadable = true,
     .help = "Labels of what is around the access point, such as geo:u281zd. Clients that are here "
             "(on listeners with local, on Unix sockets, and the phones of gateways) add these "
             "labels to all that they leave and ask for. Several labels with commas between them, "
             "on any number of lines, 2,047 "
             "bytes together with a separator for each. More labels, and labels with commas, go "
             "into here_file. Labels of wifi:, geo:, time: and topic: stand as clients write them, "
             "such as wifi:a4:2b:8c:01:02:03 in lower case; others are refused. Labels other than "
             "wifi: that alone fill a deposit too far cause a "
             "warning at the start."},
    {HOST_KEY("here_file", here_file), SETTINGS_TYPE_PATH, .standard_note = "none",
     .example = "/run/hearsay/here", .reloadable = true,
     .help =
         "A file with more labels for `here`, one a line, at most 64K; # begins a comment. The "
         "daemon looks at the file every second, so that a scanning program may write it. A wrong "
         "line is logged and left out; if nothing can be read, nothing changes."},
    {HOST_KEY("here_map", here_map), SETTINGS_TYPE_PATH, .standard_note = "none",
     .reloadable = true, .example = "/etc/hearsay/places",
     .help =
         "A file that tells places apart, for one server behind many access points: lines such as "
         "10.1.7.0/24 = place:office, topic:canteen. A client is told the labels of the longest "
         "prefix that holds its address, instead of those of here and here_file. Behind | a line "
         "may "
         "have the name of the place, which the page and its poster show: 10.1.7.0/24 = "
         "place:office | The office. At most 65,536 lines and 16M; # begins a comment. The daemon "
         "looks at the file every second. A wrong line is logged and left out; if nothing can be "
         "read, nothing changes."},
    {HOST_KEY("hood", hood), SETTINGS_TYPE_NAME, .standard_note = "none", .example = "campus",
     .reloadable = true,
     .help = "The hood of this host. Hosts with the same hood agree to be searched together: a "
             "client of one of them may ask all of them (hearsay query --hood). Only messages in "
             "epoch 0 are found from other hosts, and only at hosts with the same profile. Without "
             "this key the host neither asks other hosts nor is asked by them."},
    {HOST_KEY("summary_groups", summary_groups), SETTINGS_TYPE_COUNT, 0, 64, .unit = "groups",
     .standard = "32", .reloadable = true,
     .help = "In how many groups this host tells the other servers of its hood what messages it "
             "has, once a bridge asks for them; 0: none, so that the others must ask this host "
             "each time. More groups let the others ask in vain less often, and take more bytes "
             "on the way: 66 each with the profile v2:512/4."},
    {HOST_KEY("role", is_replica), SETTINGS_TYPE_CHOICE, .words = role_words, .standard = "owner",
     .help = "Whether messages are deposited here. owner: yes. replica: this daemon has a copy of "
             "the host, and another daemon, which serves a host of the same name and profile, is "
             "its owner. A copy answers queries, takes what hearsay-bridge brings, and refuses "
             "deposits, withdrawals and reports."},
    {HOST_KEY("replicate", replicate), SETTINGS_TYPE_CHOICE, .words = replicate_words,
     .standard = "no",
     .help = "Whether an owner keeps what hearsay-bridge needs to carry the host to copies: a "
             "number for each change, and what is gone. A copy always does. With no after yes, "
             "hearsay-bridge carries nothing of the host any more: the copies keep what they have, "
             "also what is withdrawn or removed here later, until it expires. Yes again makes up "
             "for it."},
    {HOST_KEY("acknowledge", acknowledge_replicated), SETTINGS_TYPE_CHOICE,
     .words = acknowledge_words, .standard = "storage", .reloadable = true,
     .help = "When a deposit is answered. storage: when it is on storage here. replicated: when "
             "hearsay-bridge has said that the copies have it, too, at most `replicate_wait` "
             "later. The answer says which. Needs replicate."},
    {HOST_KEY("replicate_wait", replicate_wait_ms), SETTINGS_TYPE_MILLISECONDS, 1, 60000,
     .standard = "2s", .reloadable = true,
     .help = "How long the answer to a deposit waits for the copies, with acknowledge = "
             "replicated. At most 10,000 answers wait at a time."},
    {HOST_KEY("accept", accept), SETTINGS_TYPE_CHOICE, .words = accept_words, .standard = "open",
     .reloadable = true,
     .help = "Which deposits are taken. open: all. review: they are stored, and nobody sees them "
             "until the operator has looked at them. closed: none. `hearsay admin accept` "
             "overrides this key."},
    {HOST_KEY("accept_schedule", schedule), SETTINGS_TYPE_OWN, .own = &config_type_schedule,
     .standard_note = "none", .example = "22:00-06:00 closed", .repeatable = true,
     .reloadable = true,
     .help =
         "Like `accept`, for a part of each day, local time, such as 22:00-06:00 closed. Up to 8 "
         "lines; the first line that covers the time overrides accept."},
    {HOST_KEY("hide_after", hide_after), SETTINGS_TYPE_COUNT, 0, 65536, .unit = "reports",
     .standard = "5", .reloadable = true,
     .help = "How many different senders must report a message to hide it, until the operator has "
             "looked at it; 0: reports never hide it."},
    {HOST_KEY("hide_per_hour", hide_per_hour), SETTINGS_TYPE_COUNT, 1, 1000, .unit = "messages",
     .standard = "6", .reloadable = true,
     .help =
         "How many reports of one sender (an address, or a /64 that is not on link) count for "
         "hide_after in an hour; all senders of an IPv6 /64 on link have as many together as "
         "hide so many messages. Further ones are in the operator's list (hearsay admin list), "
         "but do not count, unless their kind is illegal or about-me. Once reports have hidden "
         "3 messages in an hour, or a fifth of what is shown if that is more, it takes twice as "
         "many senders to hide the next ones, then four times as many, and so on. The log has one "
         "warning an hour."},
    {HOST_KEY("remove_after", remove_after_s), SETTINGS_TYPE_DURATION, 0, YEARS, .standard = "24h",
     .reloadable = true,
     .help = "How long after hearsay admin remove the message is destroyed. Until then nobody sees "
             "the message, and hearsay admin restore shows it again. 0: at once. A message is "
             "destroyed when it expires at the latest. A change holds for later removals."},
    {HOST_KEY("messages", messages_max), SETTINGS_TYPE_COUNT, 1, 16000000, .unit = "messages",
     .standard_note = "messages of [limits]", .example = "100000", .reloadable = true,
     .help = "Most messages that this host stores; at most a 16th of them of one address, and half "
             "of them of one IPv6 /64 on link."},
    {HOST_KEY("bytes", bytes_max), SETTINGS_TYPE_SIZE, 4 * KIB, 16 * GIB,
     .standard_note = "bytes of [limits]", .example = "64M", .reloadable = true,
     .help = "Most bytes of payloads, media types and filters that this host stores, with the "
             "shares of one address and of one /64 as for messages; one message of an address is "
             "always taken."},
    {HOST_KEY("evict", evict), SETTINGS_TYPE_CHOICE, .words = evict_words, .standard = "reject",
     .reloadable = true,
     .help = "What happens to a deposit when the host, or all hosts together, are full, or when "
             "its sender is over its share. reject: it is refused with QUOTA. oldest, "
             "soonest-expiring: messages of this host, at most 64, are removed to make room for "
             "it. A sender over "
             "its share loses its own oldest messages first; then those go that were deposited "
             "first, or that have the least time left."},
    {HOST_KEY("epoch_length", epoch_length_s), SETTINGS_TYPE_DURATION, 0, 365 * DAY,
     .standard = "0", .reloadable = true,
     .help = "How long an epoch lasts at most; it ends at a multiple of this time since 1970. Each "
             "epoch "
             "has a random key, which only clients of listeners marked local are given. 0: there "
             "are no epochs."},
    {HOST_KEY("epoch_keep", epoch_keep_s), SETTINGS_TYPE_DURATION, 0, 10 * YEARS, .standard = "24h",
     .reloadable = true,
     .help = "How long an epoch is kept after its end. Then the epoch is deleted, with its key and "
             "all its messages. At most 60 times epoch_length. A change holds for epochs that "
             "begin later."},
    {HOST_KEY("epoch_open", refuses_open), SETTINGS_TYPE_CHOICE, .words = epoch_open_words,
     .standard = "accept", .reloadable = true,
     .help = "Whether messages may be deposited in epoch 0, the open epoch, which has no key."},
};

_Static_assert(sizeof(keys) / sizeof(keys[0]) <= SETTINGS_KEYS_MAX,
               "struct config has a line number for each key");

static const struct settings_gone gone[] = {
    {CONFIG_SECTION_LIMITS, "work_bits",
     "there are no proofs of work, see `deposits_per_minute`, and `accept` of the hosts; remove "
     "the line"},
};

const struct settings_table config_table = {
    .sections = sections,
    .section_count = CONFIG_SECTIONS,
    .keys = keys,
    .key_count = sizeof(keys) / sizeof(keys[0]),
    .gone = gone,
    .gone_count = sizeof(gone) / sizeof(gone[0]),
};
