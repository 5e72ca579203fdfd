/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/setup/table.h"

#include "client/web/setup/config.h"
#include "client/web/setup/types.h"

static const char *const portal_words[] = {"off", "offline", NULL};
static const char *const call_filter_words[] = {"yes", "no", NULL};
static const char *const log_level_words[] = {"error", "warning", "info", "debug", NULL};

static const struct settings_section sections[] = {
    {.name = "web", .help = "The page for phones."},
    {.name = "moderate",
     .help = "The moderators' page, of hearsay-web --moderate: in a file of its own, "
             "/etc/hearsay/moderate.conf."},
};

/* The first columns of a row: section, name, and offset and width of the field. */
#define KEY_OF(section, name, member) \
    section, name, offsetof(struct web_config, member), sizeof(((struct web_config *)0)->member)
#define WEB_KEY(name, member)      KEY_OF(WEB_SECTION_WEB, name, member)
#define MODERATE_KEY(name, member) KEY_OF(WEB_SECTION_MODERATE, name, member)

/* In the order in which they are printed. */
static const struct settings_key keys[] = {
    {WEB_KEY("listen", listeners), SETTINGS_TYPE_OWN, .own = &web_type_listener, .repeatable = true,
     .standard_note = "127.0.0.1:7118", .example = "192.168.8.1:80",
     .help =
         "Where to listen: a numeric address and a port (0: any free one). Up to 8 lines. The "
         "word proxied may follow an address of this machine or the path of a Unix socket: "
         "then a reverse proxy there tells the address of each phone as the last item of the "
         "only X-Forwarded-For. The word metrics makes it a listener for Prometheus, which has "
         "/metrics and no page; guests must not reach it. With the word freebind the program "
         "listens although this machine does not have the address yet. With senders=address limits "
         "count each address, where they otherwise count the device behind it: for a network "
         "behind a repeater or a tunnel, which shows all phones as one device; hearsayd's gateway "
         "line needs the word, too. Sockets of systemd replace these lines."},
    {WEB_KEY("name", names), SETTINGS_TYPE_OWN, .own = &web_type_name, .repeatable = true,
     .standard_note = "hearsay.lan", .example = "hearsay.lan",
     .help = "The name of the page, as phones type it. Requests for other names are refused, "
             "except the addresses of the listeners. Up to 8 lines; the first is shown. Not a name "
             "of the public DNS."},
    {WEB_KEY("server", server), SETTINGS_TYPE_PATH,
     .standard_note = "/run/hearsay-web/gateway.sock", .example = "/run/hearsay-web/gateway.sock",
     .help = "The Unix socket of hearsayd whose `listen` line has the word gateway."},
    {WEB_KEY("host", host), SETTINGS_TYPE_NAME, .standard_note = "the first of hearsayd",
     .example = "default", .help = "The host of hearsayd whose messages are shown."},
    {WEB_KEY("title", title), SETTINGS_TYPE_OWN, .own = &web_type_text, .standard_note = "Hearsay",
     .example = "Caf\xC3\xA9 Central", .reloadable = true,
     .help = "The name of the place, the heading of the page."},
    {WEB_KEY("subtitle", subtitle), SETTINGS_TYPE_OWN, .own = &web_type_text,
     .standard_note = "what the page is, in the language of the phone",
     .example = "Notes of our guests, gone by themselves.", .reloadable = true,
     .help = "The line below the name."},
    {WEB_KEY("topics", topics), SETTINGS_TYPE_OWN, .own = &web_type_topics, .standard_note = "none",
     .example = "coffee, lost+found, help",
     .help = "Topics to read and to leave with by one tap, with commas between: up to 20, each of "
             "at most 24 characters. Four to eight are best."},
    {WEB_KEY("operator", operator_name), SETTINGS_TYPE_OWN, .own = &web_type_text,
     .standard_note = "none", .example = "Caf\xC3\xA9 Central, Main Street 1", .reloadable = true,
     .help = "Who runs this page. Shown on the page about it."},
    {WEB_KEY("contact", contact), SETTINGS_TYPE_OWN, .own = &web_type_text, .standard_note = "none",
     .example = "owner@cafe.example", .reloadable = true,
     .help = "How to reach the operator, such as an address for mail. Shown on the same page."},
    {WEB_KEY("rules", rules), SETTINGS_TYPE_OWN, .own = &web_type_rules, .repeatable = true,
     .standard_note = "none", .example = "Be kind.", .reloadable = true,
     .help = "The rules of the place. Each line is a paragraph; 2,000 bytes together. Or the path "
             "of a file with them, such as /usr/share/hearsay/rules.en.txt, which is installed; "
             "`user` must be able to read it. Files beside it with the tag of another language in "
             "their name, such as rules.ar.txt, are for readers of that language. Shown on the "
             "same page."},
    {WEB_KEY("user", user), SETTINGS_TYPE_USER, .standard_note = "who started the program",
     .example = "hearsay-web",
     .help = "The user that the program becomes when root starts it, after it has bound its "
             "addresses: the `gateway_user` of hearsayd. The program does not serve as root."},
    {WEB_KEY("call_filter", no_call_filter), SETTINGS_TYPE_CHOICE, .words = call_filter_words,
     .standard = "yes",
     .help = "Whether the kernel refuses the program what it never needs: to run other programs, "
             "to trace them, to mount, to change users."},
    {WEB_KEY("portal", portal), SETTINGS_TYPE_CHOICE, .words = portal_words, .standard = "off",
     .help = "offline: this WiFi has no internet, and all names lead here. The program answers the "
             "questions by which phones look for the internet, so that the page opens by itself. "
             "off: it does not."},
    {WEB_KEY("wifi_ssid", wifi_ssid), SETTINGS_TYPE_OWN, .own = &web_type_text,
     .standard_note = "none", .example = "Guests", .reloadable = true,
     .help = "The name of the WiFi, for the code on the poster by which phones join."},
    {WEB_KEY("wifi_password", wifi_password), SETTINGS_TYPE_OWN, .own = &web_type_text,
     .standard_note = "none", .example = "open sesame", .reloadable = true,
     .help = "The WiFi's password, 8 to 63 characters; printed on the poster. Without one the code "
             "is for an open WiFi."},
    {WEB_KEY("language", language), SETTINGS_TYPE_OWN, .own = &web_type_text,
     .standard_note = "auto", .example = "auto", .reloadable = true,
     .help = "The language of the page: en, de, fr or ar. auto: what the phone asks for."},
    {WEB_KEY("per_page", per_page), SETTINGS_TYPE_COUNT, 1, 100, .unit = "messages",
     .standard = "20", .help = "Messages on one page."},
    {WEB_KEY("cache", cache_ms), SETTINGS_TYPE_MILLISECONDS, 0, 60000, .standard = "1s",
     .help = "How long the newest messages of a place are shown to others without asking hearsayd. "
             "Lists with topics, older messages and single messages are always asked for."},
    {WEB_KEY("connections", connections), SETTINGS_TYPE_COUNT, 1, 65536, .unit = "connections",
     .standard = "512", .help = "Most connections of phones at a time."},
    {WEB_KEY("connections_per_address", connections_per_address), SETTINGS_TYPE_COUNT, 1, 65536,
     .unit = "connections", .standard = "8",
     .help = "Most connections of one address at a time. One more takes the place of an idle one."},
    {WEB_KEY("events", events), SETTINGS_TYPE_COUNT, 0, 65536, .unit = "streams", .standard = "256",
     .help = "Most open pages that are told about new messages at a time."},
    {WEB_KEY("events_per_address", events_per_address), SETTINGS_TYPE_COUNT, 0, 65536,
     .unit = "streams", .standard = "2", .help = "Most of them for one address."},
    {WEB_KEY("views", views), SETTINGS_TYPE_COUNT, 1, 1024, .unit = "views", .standard = "64",
     .help = "How many different lists are kept up to date at a time. A list with other topics is "
             "another one."},
    {WEB_KEY("upstreams", upstreams), SETTINGS_TYPE_COUNT, 1, 256, .unit = "connections",
     .standard = "32", .help = "Most connections to hearsayd on behalf of phones at a time."},
    {WEB_KEY("log_level", log_level), SETTINGS_TYPE_CHOICE, .words = log_level_words,
     .standard = "info", .reloadable = true, .help = "The least important lines that are logged."},

    {MODERATE_KEY("listen", listeners), SETTINGS_TYPE_OWN, .own = &web_type_listener,
     .repeatable = true, .standard_note = "127.0.0.1:7119", .example = "10.0.7.1:7119",
     .help = "Where to listen: a numeric address of the management network, or of this machine, "
             "and a port. Up to 8 lines. An address at which guests reach their page is refused."},
    {MODERATE_KEY("allow", allow), SETTINGS_TYPE_OWN, .own = &web_type_prefix, .repeatable = true,
     .standard_note = "127.0.0.0/8 and ::1", .example = "10.0.7.0/24",
     .help = "Who may connect: an address, or the first bits of one. Up to 8 lines. Connections of "
             "all others are closed before a byte is sent."},
    {MODERATE_KEY("password", password), SETTINGS_TYPE_OWN, .own = &web_type_hash,
     .standard_note = "none; the page needs one", .reloadable = true,
     .help = "The Argon2id hash of the password. hearsay-web --set-password writes this line. A "
             "running page takes a new one by itself, and ends all logins."},
    {MODERATE_KEY("moderate_session", session_s), SETTINGS_TYPE_DURATION, 300, 7 * 24 * 3600,
     .standard = "12h",
     .help = "After which time a login ends, although it is used: 5 minutes to 7 days. One that is "
             "not used ends after 30 minutes."},
    {MODERATE_KEY("guests", guests), SETTINGS_TYPE_PATH,
     .standard_note = "/etc/hearsay/web.conf, if it is there", .example = "/etc/hearsay/web.conf",
     .help = "The file of the guests' page, with whose `listen` lines the addresses are compared."},
    {MODERATE_KEY("name", names), SETTINGS_TYPE_OWN, .own = &web_type_name, .repeatable = true,
     .standard_note = "none", .example = "moderate.lan",
     .help = "A name of the page. Requests for other names are refused, except the addresses of "
             "the listeners. Up to 8 lines."},
    {MODERATE_KEY("server", server), SETTINGS_TYPE_PATH, .standard_note = "/run/hearsay/admin.sock",
     .example = "/run/hearsay/admin.sock",
     .help = "The Unix socket of hearsayd for administrators. The program's user must be a member "
             "of `admin_group`."},
    {MODERATE_KEY("host", host), SETTINGS_TYPE_NAME, .standard_note = "the first of hearsayd",
     .example = "default", .help = "The host of hearsayd whose messages are moderated."},
    {MODERATE_KEY("title", title), SETTINGS_TYPE_OWN, .own = &web_type_text,
     .standard_note = "Hearsay", .example = "Caf\xC3\xA9 Central",
     .help = "The name of the place."},
    {MODERATE_KEY("user", user), SETTINGS_TYPE_USER, .standard_note = "who started the program",
     .example = "hearsay-moderate",
     .help = "The user that the program becomes when root starts it, after it has bound its "
             "addresses. The program does not serve as root."},
    {MODERATE_KEY("call_filter", no_call_filter), SETTINGS_TYPE_CHOICE, .words = call_filter_words,
     .standard = "yes", .help = "As in [web]."},
    {MODERATE_KEY("language", language), SETTINGS_TYPE_OWN, .own = &web_type_text,
     .standard_note = "auto", .example = "auto",
     .help = "The language of the page: en, de, fr or ar. auto: what the phone asks for."},
    {MODERATE_KEY("log_level", log_level), SETTINGS_TYPE_CHOICE, .words = log_level_words,
     .standard = "info", .reloadable = true, .help = "The least important lines that are logged."},
};

_Static_assert(sizeof(keys) / sizeof(keys[0]) <= SETTINGS_KEYS_MAX,
               "struct web_config has a line number for each key");

#define READS_WHY                                                                      \
    "hearsayd alone decides how often an address reads, see `queries_per_minute` and " \
    "`query_burst` of its [limits]; remove the line"

static const struct settings_gone gone[] = {
    {WEB_SECTION_WEB, "reads_per_minute", READS_WHY},
    {WEB_SECTION_WEB, "reads_burst", READS_WHY},
};

const struct settings_table web_table = {
    .sections = sections,
    .section_count = sizeof(sections) / sizeof(sections[0]),
    .keys = keys,
    .key_count = sizeof(keys) / sizeof(keys[0]),
    .gone = gone,
    .gone_count = sizeof(gone) / sizeof(gone[0]),
};
