/* SPDX-License-Identifier: Apache-2.0 */
#include "client/web/http_peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "daemon/device/devices.h"

enum { ADDRESS_4_BYTES = 4, ADDRESS_6_BYTES = 16, NETWORK_6_BYTES = 8 };

enum { KEY_DEVICE = 1, KEY_NETWORK = 64 }; /* kinds of keys; of an address its family */

static const uint8_t mapped_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

/* Takes the 16 bytes of an IPv6 address. */
static void address_set_6(struct http_address *out, const uint8_t *bytes)
{
    *out = (struct http_address){.family = 6};
    if (memcmp(bytes, mapped_prefix, sizeof(mapped_prefix)) == 0) {
        out->family = 4;
        memcpy(out->bytes, bytes + sizeof(mapped_prefix), ADDRESS_4_BYTES);
    } else {
        memcpy(out->bytes, bytes, ADDRESS_6_BYTES);
    }
}

static void address_set_4(struct http_address *out, const void *bytes)
{
    *out = (struct http_address){.family = 4};
    memcpy(out->bytes, bytes, ADDRESS_4_BYTES);
}

bool http_peer_from_socket(const struct sockaddr *socket_address, struct http_address *out)
{
    if (socket_address->sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, socket_address, sizeof(in));
        address_set_4(out, &in.sin_addr);
        return true;
    }
    if (socket_address->sa_family == AF_INET6) {
        struct sockaddr_in6 in6;
        memcpy(&in6, socket_address, sizeof(in6));
        address_set_6(out, in6.sin6_addr.s6_addr);
        return true;
    }
    return false;
}

void http_peer_learn_local(int descriptor, struct http_address *address)
{
    struct sockaddr_in6 local;
    socklen_t bytes = sizeof(local);
    memset(&local, 0, sizeof(local));
    if (address->family != 6 || getsockname(descriptor, (struct sockaddr *)&local, &bytes) != 0 ||
        local.sin6_family != AF_INET6) {
        return;
    }
    address->has_local = true;
    memcpy(address->local, local.sin6_addr.s6_addr, sizeof(address->local));
}

void http_peer_learn_device(struct devices *devices, uint32_t interface,
                            struct http_address *address)
{
    struct device_query query = {.family = address->family,
                                 .interface = interface,
                                 .bytes = address->bytes,
                                 .local = address->has_local ? address->local : NULL};
    uint64_t device = 0;
    enum device_answer answer = devices_find(devices, &query, &device);

    address->device = answer == DEVICE_FOUND ? device : 0;
    address->is_hidden = answer == DEVICE_HIDDEN;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

bool http_peer_from_forwarded(const char *header, struct http_address *out)
{
    const char *comma = strrchr(header, ',');
    const char *item = comma == NULL ? header : comma + 1;
    while (is_blank(*item)) {
        item++;
    }
    size_t length = strlen(item);
    while (length > 0 && is_blank(item[length - 1])) {
        length--;
    }

    char text[INET6_ADDRSTRLEN];
    if (length == 0 || length >= sizeof(text)) {
        return false;
    }
    memcpy(text, item, length);
    text[length] = '\0';

    uint8_t bytes[ADDRESS_6_BYTES];
    if (inet_pton(AF_INET, text, bytes) == 1) {
        address_set_4(out, bytes);
        return true;
    }
    if (inet_pton(AF_INET6, text, bytes) == 1) {
        address_set_6(out, bytes);
        return true;
    }
    return false;
}

bool http_peer_equals(const struct http_address *a, const struct http_address *b)
{
    return a->family == b->family && memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

/* Whether all addresses of the /64 of an IPv6 address count as one. */
static bool is_wide(const struct http_address *address)
{
    bool is_on_link =
        address->has_local && memcmp(address->bytes, address->local, NETWORK_6_BYTES) == 0;

    return address->family == 6 && (!is_on_link || address->is_hidden);
}

static void network_key(const struct http_address *address, struct fair_key *out_key)
{
    *out_key = (struct fair_key){.words[0] = KEY_NETWORK};
    memcpy(&out_key->words[1], address->bytes, NETWORK_6_BYTES);
}

void http_peer_sender_key(const struct http_address *address, struct fair_key *out_key)
{
    if (address->device != 0) {
        *out_key = (struct fair_key){.words = {KEY_DEVICE, address->device}};
    } else if (is_wide(address)) {
        network_key(address, out_key);
    } else {
        *out_key = (struct fair_key){.words[0] = address->family};
        memcpy(&out_key->words[1], address->bytes, sizeof(address->bytes));
    }
}

struct fair_holder *http_peer_enter(struct fair_table *table, const struct alloc *alloc,
                                    const struct http_address *address)
{
    bool has_network = address->device == 0 && address->family == 6;
    struct fair_key sender;
    struct fair_key network;

    http_peer_sender_key(address, &sender);
    network_key(address, &network);
    return fair_enter(table, alloc, &sender, has_network ? &network : NULL);
}

bool http_peer_shares_address(const struct http_address *a, const struct http_address *b)
{
    return http_peer_equals(a, b) || (a->device == 0 && http_peer_shares_sender(a, b));
}

bool http_peer_shares_sender(const struct http_address *a, const struct http_address *b)
{
    struct fair_key keys[2];

    http_peer_sender_key(a, &keys[0]);
    http_peer_sender_key(b, &keys[1]);
    return memcmp(&keys[0], &keys[1], sizeof(keys[0])) == 0;
}

bool http_peer_shares_network(const struct http_address *a, const struct http_address *b)
{
    if (a->device != 0 || b->device != 0) {
        return a->device == b->device;
    }
    return a->family == 6 && b->family == 6 && memcmp(a->bytes, b->bytes, NETWORK_6_BYTES) == 0;
}
