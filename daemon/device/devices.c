/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/device/devices.h"

#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sodium.h>

#include "core/base/err.h"
#include "daemon/device/neighbour_table.h"
#include "daemon/system/log.h"

enum {
    BUFFER_BYTES = 32 * 1024, /* the kernel makes no larger datagram of a dump */
    READS_MAX = 16, /* datagrams in one callback, so that a flood does not hold the loop */
    READS_AT_START = 4096,
    DUMP_AGAIN_MS = 200, /* after a dump that was overtaken, and after the first that was refused */
    DUMP_AGAIN_MAX_MS = 60 * 1000,
    FILL_AGAIN_MS = 60 * 1000,
    MANY_ADDRESSES = 8,
    TELL_AGAIN_MS = 60 * 60 * 1000,
    STACK_BYTES = 4096, /* what the functions that read a message use at most */
    IPV6_BYTES = 16,
    PREFIX_BYTES = 8
};

struct devices {
    const struct alloc *alloc;
    uv_loop_t *loop;
    struct neighbour_table *table;
    int descriptor; /* -1: the system does not give the table */
    uv_poll_t poll;
    uv_timer_t again; /* a dump is to be requested */
    bool is_open;     /* the handles are open */
    bool is_dumping;  /* a dump was requested, and has not ended */
    bool must_dump;   /* news were lost: another dump is needed when this one has ended */
    uint64_t wait_ms; /* how long to wait after the next dump that is refused */
    uint64_t naming;  /* the device to be named in the log by the next dump; 0: none */
    bool was_named;   /* a device was named */
    uint64_t named_ms;
    uint8_t buffer[BUFFER_BYTES];
};

/* --- naming a device in the log --------------------------------------------------------------- */

static void write_link(const struct neighbour *neighbour, char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < neighbour->link_bytes && used < size; i++) {
        used += (size_t)snprintf(out + used, size - used, "%s%02x", i > 0 ? ":" : "",
                                 neighbour->link[i]);
    }
}

static void name_device(struct devices *devices, const struct neighbour *neighbour)
{
    char link[3 * NEIGHBOUR_LINK_BYTES_MAX + 1];
    char name[IF_NAMESIZE] = "?";

    write_link(neighbour, link, sizeof(link));
    (void)if_indextoname(neighbour->interface, name); /* the interface may have gone */
    log_warning("%d or more addresses of the device %s on %s are in use, and count as one sender; "
                "if it is a repeater or a tunnel with many phones behind it, add senders=address "
                "to the `listen` line",
                MANY_ADDRESSES, link, name);
    sodium_memzero(link, sizeof(link));
    devices->naming = 0;
}

/* --- messages of the kernel ------------------------------------------------------------------- */

static void on_again(uv_timer_t *timer);

/* Requests the table in wait_ms, or earlier as planned. */
static void dump_later(struct devices *devices, uint64_t wait_ms)
{
    bool is_planned = uv_is_active((const uv_handle_t *)&devices->again) &&
                      uv_timer_get_due_in(&devices->again) <= wait_ms;

    if (devices->is_open && !is_planned) {
        (void)uv_timer_start(&devices->again, on_again, wait_ms, 0); /* cannot fail */
    }
}

/* Requests the table once more, since it was refused: after twice the time of the time before,
 * because a kernel may refuse it for good, and a machine without work is to sleep. */
static void dump_again(struct devices *devices)
{
    dump_later(devices, devices->wait_ms);
    if (devices->wait_ms >= DUMP_AGAIN_MAX_MS) {
        return;
    }
    devices->wait_ms *= 2;
    if (devices->wait_ms >= DUMP_AGAIN_MAX_MS) {
        devices->wait_ms = DUMP_AGAIN_MAX_MS;
        log_warning("the kernel does not give its table of neighbours, so limits count addresses "
                    "instead of devices; it is asked again every minute");
    }
}

/* Requests the whole table, unless an answer is under way: then this is done afterwards. */
static void request_dump(struct devices *devices)
{
    uint8_t request[NEIGHBOUR_REQUEST_BYTES];

    if (devices->is_dumping) {
        devices->must_dump = true;
        return;
    }
    neighbour_message_request(request);
    if (send(devices->descriptor, request, sizeof(request), MSG_DONTWAIT) !=
        (ssize_t)sizeof(request)) {
        dump_again(devices);
        return;
    }
    devices->is_dumping = true;
    devices->must_dump = false;
    neighbour_table_begin(devices->table);
}

static void on_again(uv_timer_t *timer)
{
    request_dump(timer->data);
}

/* The answer to a request has ended with this message. */
static void end_dump(struct devices *devices, enum neighbour_message message)
{
    if (!devices->is_dumping) {
        return;
    }
    devices->is_dumping = false;
    if (message == NEIGHBOUR_DUMPED && !devices->must_dump) {
        neighbour_table_end(devices->table);
        devices->wait_ms = DUMP_AGAIN_MS;
        devices->naming = 0; /* if it was not named, it has gone */
        if (neighbour_table_is_incomplete(devices->table)) {
            dump_later(devices, FILL_AGAIN_MS);
        }
    } else if (message == NEIGHBOUR_REFUSED) {
        dump_again(devices);
    } else {
        dump_later(devices, DUMP_AGAIN_MS);
    }
}

static void take_datagram(struct devices *devices, size_t count)
{
    enum neighbour_message message;
    struct neighbour neighbour;
    size_t offset = 0;

    do {
        message = neighbour_message_next(devices->buffer, count, &offset, &neighbour);
        if (message == NEIGHBOUR_CHANGE) {
            neighbour_table_apply(devices->table, &neighbour);
            if (devices->naming != 0 && neighbour.link_bytes > 0 &&
                neighbour_table_device(devices->table, &neighbour) == devices->naming) {
                name_device(devices, &neighbour);
            }
        } else if (message != NEIGHBOUR_END) {
            end_dump(devices, message);
        }
    } while (message != NEIGHBOUR_END && message != NEIGHBOUR_MALFORMED);
    sodium_memzero(devices->buffer, count); /* it names phones, and so does the stack */
    sodium_memzero(&neighbour, sizeof(neighbour));
    sodium_stackzero(STACK_BYTES);
}

/* Messages were lost: the kernel had no room for them (ENOBUFS), or a datagram was cut. */
static void note_loss(struct devices *devices)
{
    devices->must_dump = true;
    if (!devices->is_dumping) {
        dump_later(devices, devices->wait_ms); /* no sooner while the kernel refuses */
    }
}

/* Reads one datagram. Returns false if there is none. */
static bool read_datagram(struct devices *devices)
{
    struct sockaddr_nl from = {.nl_pid = 0};
    struct iovec part = {.iov_base = devices->buffer, .iov_len = sizeof(devices->buffer)};
    struct msghdr message = {
        .msg_name = &from, .msg_namelen = sizeof(from), .msg_iov = &part, .msg_iovlen = 1};
    ssize_t count = recvmsg(devices->descriptor, &message, MSG_DONTWAIT);

    if (count < 0) {
        if (errno == ENOBUFS) {
            note_loss(devices);
            return true;
        }
        return errno == EINTR;
    }
    if (from.nl_pid != 0) { /* not from the kernel */
        return true;
    }
    if ((message.msg_flags & MSG_TRUNC) != 0) {
        end_dump(devices, NEIGHBOUR_TORN); /* its end may be what was cut */
        note_loss(devices);
        return true;
    }
    take_datagram(devices, (size_t)count);
    return true;
}

static void read_news(struct devices *devices, unsigned most)
{
    while (most > 0 && read_datagram(devices)) {
        most--;
    }
}

/* The kernel has news, or has lost some: then the socket has an error, at which libuv stops to poll
 * it. Reading clears the error. */
static void on_news(uv_poll_t *poll, int status, int events)
{
    struct devices *devices = poll->data;
    (void)events;

    read_news(devices, READS_MAX);
    if (status != 0 && uv_poll_start(poll, UV_READABLE, on_news) == 0) {
        note_loss(devices); /* whoever has read the error; and what came meanwhile */
    }
}

/* --- open and close --------------------------------------------------------------------------- */

/* Opens the socket. Returns its descriptor, or -1 with errno set. */
static int open_socket(void)
{
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_NEIGH};
    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

    if (descriptor >= 0 &&
        bind(descriptor, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        int reason = errno;
        (void)close(descriptor);
        errno = reason;
        return -1;
    }
    return descriptor;
}

/* Opens the handles and reads the table once. Returns 0 or a libuv error. */
static int open_handles(struct devices *devices)
{
    int rc = uv_poll_init(devices->loop, &devices->poll, devices->descriptor);

    if (rc != 0) {
        return rc;
    }
    (void)uv_timer_init(devices->loop, &devices->again); /* cannot fail */
    devices->poll.data = devices;
    devices->again.data = devices;
    devices->is_open = true;
    rc = uv_poll_start(&devices->poll, UV_READABLE, on_news);
    if (rc != 0) {
        return rc;
    }
    /* Neither keeps the loop running by itself. */
    uv_unref((uv_handle_t *)&devices->poll);
    uv_unref((uv_handle_t *)&devices->again);
    request_dump(devices);
    /* The kernel makes the answer while it is read, so reading does not wait. */
    for (unsigned i = 0; i < READS_AT_START && devices->is_dumping; i++) {
        if (!read_datagram(devices)) {
            break;
        }
    }
    return 0;
}

int devices_open(const struct alloc *alloc, uv_loop_t *loop, const uint8_t *key,
                 struct devices **out_devices)
{
    struct devices *devices = alloc_zeroed(alloc, 1, sizeof(*devices));
    uint8_t random[KEYED_HASH_KEY_BYTES];

    if (devices == NULL) {
        return -ERR_NOMEM;
    }
    devices->alloc = alloc;
    devices->loop = loop;
    devices->descriptor = -1;
    devices->wait_ms = DUMP_AGAIN_MS;
    randombytes_buf(random, sizeof(random));
    int rc = neighbour_table_new(alloc, NEIGHBOUR_ENTRIES_MAX, key != NULL ? key : random,
                                 &devices->table);
    sodium_memzero(random, sizeof(random));
    if (rc != 0) {
        alloc_release(alloc, devices);
        return rc;
    }
    devices->descriptor = open_socket();
    if (devices->descriptor < 0) {
        log_warning("the table of neighbours cannot be read (%s), so limits count addresses "
                    "instead of devices; allow AF_NETLINK",
                    strerror(errno));
    } else if ((rc = open_handles(devices)) != 0) {
        log_warning("the table of neighbours cannot be read (%s), so limits count addresses "
                    "instead of devices",
                    uv_strerror(rc));
        devices_close(devices);
    }
    *out_devices = devices;
    return 0;
}

static void on_poll_closed(uv_handle_t *handle)
{
    struct devices *devices = handle->data;

    (void)close(devices->descriptor);
    devices->descriptor = -1;
}

void devices_close(struct devices *devices)
{
    if (devices == NULL || !devices->is_open) {
        return;
    }
    devices->is_open = false;
    uv_close((uv_handle_t *)&devices->poll, on_poll_closed);
    uv_close((uv_handle_t *)&devices->again, NULL);
}

void devices_free(struct devices *devices)
{
    if (devices == NULL) {
        return;
    }
    if (devices->descriptor >= 0) {
        (void)close(devices->descriptor);
    }
    neighbour_table_free(devices->table);
    alloc_release(devices->alloc, devices);
}

/* --- looking up ------------------------------------------------------------------------------- */

void device_query_of(const struct sockaddr *peer, const struct sockaddr *local,
                     struct device_query *out_query)
{
    *out_query = (struct device_query){.family = 0};
    if (peer->sa_family == AF_INET) {
        out_query->family = 4;
        out_query->bytes =
            (const uint8_t *)&((const struct sockaddr_in *)(const void *)peer)->sin_addr;
    } else if (peer->sa_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)peer;
        bool is_ipv4 = IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr);

        out_query->family = is_ipv4 ? 4 : 6;
        out_query->bytes = in6->sin6_addr.s6_addr + (is_ipv4 ? IPV6_BYTES - 4 : 0);
        out_query->interface = is_ipv4 ? 0 : in6->sin6_scope_id;
    }
    if (out_query->family == 6 && local->sa_family == AF_INET6) {
        out_query->local = ((const struct sockaddr_in6 *)(const void *)local)->sin6_addr.s6_addr;
    }
}

/* Notes that the device is in use from this address, and has it named if it has many. */
static void note_use(struct devices *devices, const struct device_query *query, uint64_t device)
{
    uint32_t count = neighbour_table_use(devices->table, query->family, query->bytes, device);
    uint64_t now_ms = uv_now(devices->loop);

    if (count >= MANY_ADDRESSES &&
        (!devices->was_named || now_ms - devices->named_ms >= TELL_AGAIN_MS)) {
        devices->was_named = true;
        devices->named_ms = now_ms;
        devices->naming = device;
        request_dump(devices); /* only the kernel has the link-layer address itself */
    }
}

/* Whether an IPv6 address is on link, and not our own. */
static bool is_on_link(const struct device_query *query)
{
    return query->family == 6 && query->local != NULL &&
           memcmp(query->bytes, query->local, PREFIX_BYTES) == 0 &&
           memcmp(query->bytes, query->local, IPV6_BYTES) != 0;
}

/* Whether an address is of this machine's loopback, which has no neighbours. */
static bool is_loopback(const struct device_query *query)
{
    static const uint8_t ipv6[IPV6_BYTES] = {[IPV6_BYTES - 1] = 1};

    return query->family == 4 ? query->bytes[0] == IN_LOOPBACKNET
                              : memcmp(query->bytes, ipv6, sizeof(ipv6)) == 0;
}

enum device_answer devices_find(struct devices *devices, const struct device_query *query,
                                uint64_t *out_device)
{
    if (devices == NULL || !devices->is_open || (query->family != 4 && query->family != 6) ||
        is_loopback(query)) {
        return DEVICE_NONE;
    }
    enum neighbour_answer answer = neighbour_table_find(devices->table, query->family, query->bytes,
                                                        query->interface, out_device);
    if (answer == NEIGHBOUR_UNKNOWN) {
        read_news(devices, READS_MAX); /* the kernel has the entry before the connection */
        answer = neighbour_table_find(devices->table, query->family, query->bytes, query->interface,
                                      out_device);
    }
    if (answer == NEIGHBOUR_FOUND) {
        note_use(devices, query, *out_device);
        return DEVICE_FOUND;
    }
    return answer == NEIGHBOUR_UNKNOWN && is_on_link(query) &&
                   neighbour_table_covers(devices->table, query->bytes)
               ? DEVICE_HIDDEN
               : DEVICE_NONE;
}
