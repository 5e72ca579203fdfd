/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bridge/hub/version.h"

#include <stddef.h>

bool hub_version_parse(const char *text, struct hub_version *out_version)
{
    struct hub_version version = {0};
    char rest = '\0';

    if (*text == 'v') {
        text++;
    }
    int found =
        sscanf(text, "%3u.%3u.%3u%c", &version.major, &version.minor, &version.patch, &rest);
    if (found < 2 || (found == 4 && rest != '-')) {
        return false;
    }
    *out_version = version;
    return true;
}

static bool is_before(const struct hub_version *version, unsigned minor, unsigned patch)
{
    return version->major < 2 ||
           (version->major == 2 &&
            (version->minor < minor || (version->minor == minor && version->patch < patch)));
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

bool hub_version_syncs(const struct hub_version *version)
{
    return !lacks_sync(version);
}

unsigned hub_version_warn(const struct hub_version *version, const char *node, FILE *out)
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
        {has_holes, "is older than published security fixes: use 2.11.16, 2.12.7 or later",
         "https://advisories.nats.io/"},
    };
    unsigned count = 0;

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (known[i].concerns(version)) {
            (void)fprintf(out, "warning: %s: nats-server %u.%u.%u %s\n    %s\n", node,
                          version->major, version->minor, version->patch, known[i].what,
                          known[i].link);
            count++;
        }
    }
    return count;
}
