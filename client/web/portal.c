/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/portal.h"

#include <strings.h>

#include <sodium.h>

struct portal_probe {
    const char *path;
    const char *host; /* for a path that is not only a probe's; else NULL */
    unsigned status;
    const char *type; /* NULL: without a body */
    const char *body;
};

#define APPLE "<HTML><HEAD><TITLE>Success</TITLE></HEAD><BODY>Success</BODY></HTML>"
#define KINDLE                                         \
    "<html><head><title>Kindle</title></head><body>\n" \
    "81ce4465-7167-4dcb-835b-dcc9e44c112a\n</body></html>\n"
#define MOZILLA                                 \
    "<meta http-equiv=\"refresh\" content=\"0;" \
    "url=https://support.mozilla.org/kb/captive-portal\"/>"

#define NETWORK_MANAGER "NetworkManager is online\n"

/* The answers by which a phone or a laptop believes that there is internet. Most paths differ, so
 * the names of the servers, of which each maker has several, do not matter. */
static const struct portal_probe probes[] = {
    /* iOS, macOS */
    {"/hotspot-detect.html", NULL, 200, "text/html", APPLE},
    {"/library/test/success.html", NULL, 200, "text/html", APPLE},
    /* Android, ChromeOS */
    {"/generate_204", NULL, 204, NULL, ""},
    {"/gen_204", NULL, 204, NULL, ""},
    /* Windows 10, Windows 11 */
    {"/ncsi.txt", NULL, 200, "text/plain", "Microsoft NCSI"},
    {"/connecttest.txt", NULL, 200, "text/plain", "Microsoft Connect Test"},
    /* Firefox */
    {"/success.txt", NULL, 200, "text/plain", "success\n"},
    {"/canonical.html", NULL, 200, "text/html", MOZILLA},
    /* Kindle */
    {"/kindle-wifi/wifistub.html", NULL, 200, "text/html", KINDLE},
    {"/kindle-wifi/wifistub-eink.html", NULL, 200, "text/html", KINDLE},
    /* NetworkManager of Debian, GNOME, Arch, Ubuntu, openSUSE, Fedora */
    {"/nm", NULL, 200, "text/plain", NETWORK_MANAGER},
    {"/check_network_status.txt", NULL, 200, "text/plain", NETWORK_MANAGER},
    {"/nm-check.txt", NULL, 200, "text/plain", NETWORK_MANAGER},
    {"/", "connectivity-check.ubuntu.com", 200, "text/plain", NETWORK_MANAGER},
    {"/", "conncheck.opensuse.org", 200, "text/plain", NETWORK_MANAGER},
    {"/static/hotspot.txt", NULL, 200, "text/plain", "OK"},
    /* Steam Deck */
    {"/204", NULL, 204, NULL, ""},
};

/* A device is the same phone whatever its addresses are; an address may be another phone's soon. */
static void phone_hash(const struct portal *portal, const struct http_address *client,
                       uint8_t *out_hash)
{
    uint8_t text[1 + sizeof(client->bytes)] = {client->device != 0 ? 0 : client->family};

    if (client->device != 0) {
        memcpy(text + 1, &client->device, sizeof(client->device));
    } else {
        memcpy(text + 1, client->bytes, client->family == 4 ? 4 : sizeof(client->bytes));
    }
    /* Cannot fail: all lengths are within the bounds of BLAKE2b. */
    (void)crypto_generichash(out_hash, PORTAL_HASH_BYTES, text, sizeof(text), portal->salt,
                             sizeof(portal->salt));
}

void portal_init(struct portal *portal)
{
    memset(portal, 0, sizeof(*portal));
    randombytes_buf(portal->salt, sizeof(portal->salt));
}

static bool phone_is(const struct portal_phone *phone, const uint8_t *hash, int64_t now_ms)
{
    return phone->until_ms > now_ms && memcmp(phone->hash, hash, PORTAL_HASH_BYTES) == 0;
}

void portal_stay(struct portal *portal, const struct http_address *client, int64_t now_ms)
{
    struct portal_phone *place = &portal->phones[0];
    uint8_t hash[PORTAL_HASH_BYTES];

    phone_hash(portal, client, hash);
    for (size_t i = 0; i < PORTAL_PHONES; i++) {
        struct portal_phone *phone = &portal->phones[i];
        if (phone_is(phone, hash, now_ms)) {
            place = phone;
            break;
        }
        if (phone->until_ms < place->until_ms) {
            place = phone;
        }
    }
    memcpy(place->hash, hash, sizeof(hash));
    place->until_ms =
        now_ms + (client->device != 0 ? PORTAL_STAY_MS : (int64_t)PORTAL_STAY_ADDRESS_MS);
}

bool portal_stays(const struct portal *portal, const struct http_address *client, int64_t now_ms)
{
    uint8_t hash[PORTAL_HASH_BYTES];

    phone_hash(portal, client, hash);
    for (size_t i = 0; i < PORTAL_PHONES; i++) {
        if (phone_is(&portal->phones[i], hash, now_ms)) {
            return true;
        }
    }
    return false;
}

void portal_tidy(struct portal *portal, int64_t now_ms)
{
    for (size_t i = 0; i < PORTAL_PHONES; i++) {
        int64_t until_ms = portal->phones[i].until_ms;

        if (until_ms <= now_ms || until_ms > now_ms + PORTAL_STAY_MS) {
            portal->phones[i] = (struct portal_phone){.until_ms = 0};
        }
    }
}

/* Whether the Host header names `name`, with a dot at its end or without, and with a port or
 * without. */
static bool host_is(const char *host, const char *name)
{
    size_t length = strlen(name);

    if (strncasecmp(host, name, length) != 0) {
        return false;
    }
    host += length;
    host += *host == '.';
    return *host == '\0' || *host == ':';
}

static const struct portal_probe *probe_find(const struct http_request *request)
{
    for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++) {
        if (strcmp(request->path, probes[i].path) == 0 &&
            (probes[i].host == NULL || host_is(request->host, probes[i].host))) {
            return &probes[i];
        }
    }
    return NULL;
}

void portal_answer(const struct portal *portal, const struct http_request *request, const char *url,
                   int64_t now_ms, struct http_answer *out_answer)
{
    const struct portal_probe *probe = probe_find(request);

    if (request->method == HTTP_POST) {
        *out_answer = http_text(421, "This address is not here.\n");
    } else if (probe != NULL && portal_stays(portal, &request->client, now_ms)) {
        *out_answer = http_text(probe->status, probe->body);
        out_answer->type = probe->type;
    } else {
        *out_answer = (struct http_answer){.status = 302, .location = url, .body = ""};
    }
}
