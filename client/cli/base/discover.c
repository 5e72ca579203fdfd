/* SPDX-License-Identifier: Apache-2.0 */
#include "client/cli/base/cli.h"

#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <inttypes.h>
#include <net/if.h>
#include <net/route.h>
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>
#include <stdlib.h>
#include <string.h>

enum { ANSWER_BYTES = 4096, DOMAIN_BYTES = 256, LINE_BYTES = 512, ASK_US = 1000 * 1000 };

/* --- loopback --------------------------------------------------------------------------------- */

static void add_place(struct discover_place *out, size_t *count, const char *server,
                      const char *how)
{
    if (*count < DISCOVER_PLACES_MAX) {
        struct discover_place *place = &out[(*count)++];

        *place = (struct discover_place){.priority = 0};
        (void)snprintf(place->server, sizeof(place->server), "%s", server);
        (void)snprintf(place->how, sizeof(place->how), "%s", how);
    }
}

static size_t find_loopback(struct discover_place *out)
{
    size_t count = 0;

    add_place(out, &count, "127.0.0.1", "on this machine");
    add_place(out, &count, "::1", "on this machine");
    return count;
}

/* --- DNS -------------------------------------------------------------------------------------- */

/* Finds the first search domain of the resolver's file. Returns false if there is none. */
static bool read_domain(char out_domain[DOMAIN_BYTES])
{
    char line[LINE_BYTES];
    FILE *file = fopen("/etc/resolv.conf", "re");

    out_domain[0] = '\0';
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        char word[8];
        char domain[DOMAIN_BYTES];

        /* As for the resolver, the last line counts. */
        if (sscanf(line, "%7s %255s", word, domain) == 2 &&
            (strcmp(word, "search") == 0 || strcmp(word, "domain") == 0)) {
            (void)snprintf(out_domain, DOMAIN_BYTES, "%s", domain);
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return out_domain[0] != '\0' && strcmp(out_domain, ".") != 0;
}

/* Asks for the records of a type. `answer` has ANSWER_BYTES. Returns false if there is no answer.
 */
static bool ask_dns(const char *name, int type, unsigned char *answer, ns_msg *out_message)
{
    h_errno = 0;
    int bytes = res_query(name, ns_c_in, type, answer, ANSWER_BYTES);

    return bytes > 0 &&
           ns_initparse(answer, bytes < ANSWER_BYTES ? bytes : ANSWER_BYTES, out_message) == 0;
}

/* Finds the next record of the type in the answer, from *at on. Returns false if there is none. */
static bool next_record(ns_msg *message, int type, int *at, ns_rr *out_record)
{
    while (*at < ns_msg_count(*message, ns_s_an)) {
        if (ns_parserr(message, ns_s_an, (*at)++, out_record) != 0) {
            return false;
        }
        if ((int)ns_rr_type(*out_record) == type) {
            return true;
        }
    }
    return false;
}

/* Reads a name in the data of a record. Returns false if it is wrong, has a pointer loop, ... */
static bool read_name(ns_msg *message, const unsigned char *at, char *out, size_t room)
{
    return ns_name_uncompress(ns_msg_base(*message), ns_msg_end(*message), at, out, room) >= 0;
}

/* Reads the strings of a TXT record: `txtvers` must be 1 or absent, `tls=1` asks for TLS. */
static bool read_text(const ns_rr *record, struct discover_place *place)
{
    const unsigned char *at = ns_rr_rdata(*record);
    const unsigned char *end = at + ns_rr_rdlen(*record);

    for (; at < end; at += 1 + at[0]) {
        size_t length = at[0];
        const char *text = (const char *)at + 1;

        if (length > (size_t)(end - at) - 1) {
            return false;
        }
        if (length > 8 && memcmp(text, "txtvers=", 8) == 0 && (length != 9 || text[8] != '1')) {
            return false;
        }
        place->tls = place->tls || (length == 5 && memcmp(text, "tls=1", 5) == 0);
    }
    return true;
}

/* Reads the SRV record of an announced server: priority, weight, port, name. */
static bool read_server(ns_msg *message, const ns_rr *record, struct discover_place *place)
{
    const unsigned char *data = ns_rr_rdata(*record);
    char host[NS_MAXDNAME];

    if (ns_rr_rdlen(*record) < 7 || !read_name(message, data + 6, host, sizeof(host)) ||
        strcmp(host, ".") == 0 || host[0] == '\0' || strpbrk(host, "/[]:") != NULL) {
        return false;
    }
    place->priority = (uint16_t)(data[0] << 8 | data[1]);
    int length = snprintf(place->server, sizeof(place->server), "%s:%u", host,
                          (unsigned)(data[4] << 8 | data[5]));
    return length > 0 && (size_t)length < sizeof(place->server);
}

/* Asks for the server that an announcement names. */
static bool find_announced(const char *name, struct discover_place *place)
{
    unsigned char answer[ANSWER_BYTES];
    ns_msg message;
    ns_rr record;
    int at = 0;

    *place = (struct discover_place){.priority = 0};
    if (!ask_dns(name, ns_t_srv, answer, &message) ||
        !next_record(&message, ns_t_srv, &at, &record) || !read_server(&message, &record, place)) {
        return false;
    }
    (void)snprintf(place->how, sizeof(place->how), "announced by DNS as %.250s", name);
    at = 0;
    return !ask_dns(name, ns_t_txt, answer, &message) ||
           !next_record(&message, ns_t_txt, &at, &record) || read_text(&record, place);
}

static int compare_places(const void *left, const void *right)
{
    const struct discover_place *a = left;
    const struct discover_place *b = right;

    if (a->priority != b->priority) {
        return a->priority < b->priority ? -1 : 1;
    }
    return strcmp(a->server, b->server);
}

static size_t find_by_dns(int64_t end_us, struct discover_place *out)
{
    unsigned char answer[ANSWER_BYTES];
    char question[DOMAIN_BYTES + 16];
    char domain[DOMAIN_BYTES];
    size_t count = 0;
    ns_msg message;
    ns_rr record;
    int at = 0;

    if (!read_domain(domain) || res_init() != 0) {
        return 0;
    }
#ifdef __GLIBC__ /* musl waits as long as resolv.conf says */
    _res.retrans = 1;
    _res.retry = 1;
    _res.nscount = _res.nscount > 1 ? 1 : _res.nscount;
#endif
    (void)snprintf(question, sizeof(question), "_hearsay._tcp.%s", domain);
    if (!ask_dns(question, ns_t_ptr, answer, &message)) {
        return 0;
    }
    while (count < DISCOVER_PLACES_MAX && next_record(&message, ns_t_ptr, &at, &record)) {
        char name[NS_MAXDNAME];

        if (read_name(&message, ns_rr_rdata(record), name, sizeof(name)) &&
            find_announced(name, &out[count])) {
            count++;
        } else if (h_errno == TRY_AGAIN) {
            break; /* nobody answers any more */
        }
        if (clock_monotonic_us() + 2 * ASK_US > end_us) {
            break; /* the next two questions could take too long */
        }
    }
    qsort(out, count, sizeof(*out), compare_places);
    return count;
}

/* --- the default gateway ---------------------------------------------------------------------- */

/*
 * Finds the gateway of the default route with the smallest metric. The files have a route in each
 * line, with numbers in hexadecimal digits.
 */
static void find_gateway4(struct discover_place *out, size_t *count)
{
    FILE *file = fopen("/proc/net/route", "re");
    unsigned long best = 0;
    char address[INET_ADDRSTRLEN] = "";
    char line[LINE_BYTES];

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        struct in_addr gateway;
        uint32_t target = 1;
        unsigned flags = 0;
        unsigned long metric = 0;

        /* Addresses are in the order of bytes of the network, read as a number of this machine. */
        if (sscanf(line, "%*s %" SCNx32 " %" SCNx32 " %x %*s %*s %lu", &target, &gateway.s_addr,
                   &flags, &metric) == 4 &&
            target == 0 && (flags & RTF_GATEWAY) != 0 && (address[0] == '\0' || metric < best)) {
            best = metric;
            (void)inet_ntop(AF_INET, &gateway, address, sizeof(address));
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    if (address[0] != '\0') {
        add_place(out, count, address, "the default gateway");
    }
}

static bool read_address6(const char *digits, struct in6_addr *out)
{
    for (size_t i = 0; i < sizeof(out->s6_addr); i++) {
        unsigned byte;

        if (sscanf(digits + 2 * i, "%2x", &byte) != 1) {
            return false;
        }
        out->s6_addr[i] = (uint8_t)byte;
    }
    return true;
}

static void find_gateway6(struct discover_place *out, size_t *count)
{
    FILE *file = fopen("/proc/net/ipv6_route", "re");
    unsigned long best = 0;
    char server[INET6_ADDRSTRLEN + IF_NAMESIZE + 4] = "";
    char line[LINE_BYTES];

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        char text[INET6_ADDRSTRLEN];
        struct in6_addr gateway;
        char digits[33];
        char device[IF_NAMESIZE];
        unsigned length = 1;
        unsigned flags = 0;
        unsigned long metric = 0;

        if (sscanf(line, "%*32s %x %*s %*s %32s %lx %*s %*s %x %15s", &length, digits, &metric,
                   &flags, device) == 5 &&
            length == 0 && (flags & RTF_GATEWAY) != 0 && strlen(digits) == 32 &&
            read_address6(digits, &gateway) && (server[0] == '\0' || metric < best) &&
            inet_ntop(AF_INET6, &gateway, text, sizeof(text)) != NULL) {
            best = metric;
            /* An address on the link needs the name of the device. */
            (void)snprintf(server, sizeof(server), "[%s%s%s]", text,
                           IN6_IS_ADDR_LINKLOCAL(&gateway) ? "%" : "",
                           IN6_IS_ADDR_LINKLOCAL(&gateway) ? device : "");
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    if (server[0] != '\0') {
        add_place(out, count, server, "the default gateway");
    }
}

size_t discover_places(enum discover_step step, int64_t end_us,
                       struct discover_place out[DISCOVER_PLACES_MAX])
{
    size_t count = 0;

    switch (step) {
    case DISCOVER_LOOPBACK:
        return find_loopback(out);
    case DISCOVER_DNS:
        return find_by_dns(end_us, out);
    default:
        find_gateway4(out, &count);
        find_gateway6(out, &count);
        return count;
    }
}
