/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/wire/version.h"

#include <ctype.h>
#include <string.h>

enum { NUMBER_MAX = 999999 };

/* Reads digits, and moves *at behind them. False: there are none, or the number is too large. */
static bool read_number(const char **at, unsigned *out)
{
    unsigned value = 0;
    const char *begin = *at;

    while (isdigit((unsigned char)**at) && value <= NUMBER_MAX) {
        value = 10 * value + (unsigned)(**at - '0');
        (*at)++;
    }
    *out = value;
    return *at > begin && value <= NUMBER_MAX;
}

/* What may follow the numbers: nothing, or - or + and at least one letter, digit, dot or hyphen. */
static bool is_suffix(const char *text)
{
    static const char allowed[] = "0123456789.-+~"
                                  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

    return text[0] == '\0' || ((text[0] == '-' || text[0] == '+') && text[1] != '\0' &&
                               text[1 + strspn(text + 1, allowed)] == '\0');
}

bool hub_version_parse(const char *text, struct hub_version *out_version)
{
    struct hub_version version = {0};
    const char *at = text[0] == 'v' ? text + 1 : text;

    if (!read_number(&at, &version.major) || *at++ != '.' || !read_number(&at, &version.minor)) {
        return false;
    }
    if (*at == '.') {
        at++;
        if (!read_number(&at, &version.patch)) {
            return false;
        }
    }
    if (!is_suffix(at)) {
        return false;
    }
    version.is_early = *at == '-';
    *out_version = version;
    return true;
}

void hub_version_text(const struct hub_version *version, char *out)
{
    (void)snprintf(out, HUB_VERSION_BYTES, "%u.%u.%u%s", version->major, version->minor,
                   version->patch, version->is_early ? " (early release)" : "");
}

static bool is_before(const struct hub_version *version, unsigned minor, unsigned patch)
{
    return version->major < 2 ||
           (version->major == 2 &&
            (version->minor < minor ||
             (version->minor == minor &&
              (version->patch < patch || (version->patch == patch && version->is_early)))));
}

static bool lacks_sync(const struct hub_version *version)
{
    return is_before(version, 10, 0);
}

static bool loses_streams(const struct hub_version *version)
{
    return is_before(version, 10, 23) && !is_before(version, 10, 0);
}

static bool lets_in(const struct hub_version *version)
{
    return is_before(version, 9, 23) || (!is_before(version, 10, 0) && is_before(version, 10, 2));
}

static bool has_holes(const struct hub_version *version)
{
    return is_before(version, 11, 16) || (!is_before(version, 12, 0) && is_before(version, 12, 7));
}

bool hub_version_diverges(const struct hub_version *version)
{
    return is_before(version, 11, 16);
}

bool hub_version_syncs(const struct hub_version *version)
{
    return !lacks_sync(version);
}

void hub_version_warn(const struct hub_version *version, const char *node, FILE *out)
{
    static const struct {
        bool (*concerns)(const struct hub_version *version);
        const char *what;
        const char *link;
    } known[] = {
        {lacks_sync,
         "has no sync_interval: it syncs every two minutes, so that a power failure of all servers "
         "loses what "
         "they acknowledged since. Use 2.10 or later, where setup-hub --write sets `sync_interval: "
         "always`",
         "https://jepsen.io/analyses/nats-2.12.1"},
        {loses_streams, "can lose a whole stream when it is killed: use 2.10.23 or later",
         "https://jepsen.io/analyses/nats-2.12.1"},
        {lets_in,
         "lets anybody in whose configuration has an account $SYS: setup-hub writes none; add none",
         "https://advisories.nats.io/CVE/secnote-2023-01.txt"},
        {hub_version_diverges,
         "lacks two fixes of raft, so that after a stop the servers may disagree for good about "
         "what is stored: use 2.11.16 or later",
         "docs/notes/reliability.md, \"Servers that disagree\""},
        {has_holes, "is older than published security fixes: use 2.11.16, 2.12.7 or later",
         "https://advisories.nats.io/"},
    };
    char text[HUB_VERSION_BYTES];

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (known[i].concerns(version)) {
            hub_version_text(version, text);
            (void)fprintf(out, "warning: %s: nats-server %s %s\n    %s\n", node, text,
                          known[i].what, known[i].link);
        }
    }
}
