/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/device/neighbour_table.h"

#include <string.h>
#include <sys/socket.h>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

enum { IPV4_BYTES = 4, IPV6_BYTES = 16 };

/* The states in which the kernel knows the link-layer address. NUD_NOARP is left out: such entries
 * are for multicast and for links without link-layer addresses. */
enum { KNOWN = NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT };

_Static_assert(NEIGHBOUR_REQUEST_BYTES == sizeof(struct nlmsghdr) + sizeof(struct ndmsg),
               "the request has both and no padding");

/* Rounds up to the alignment of netlink, which is 4 for messages and attributes. */
static size_t aligned_bytes(size_t bytes)
{
    return (bytes + NLMSG_ALIGNTO - 1) & ~(size_t)(NLMSG_ALIGNTO - 1);
}

static bool is_zero(const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    return true;
}

/* Reads one attribute. Returns false if its length is wrong for it. */
static bool read_attribute(uint16_t type, const uint8_t *bytes, size_t count,
                           struct neighbour *neighbour, bool *has_address)
{
    if (type == NDA_DST) {
        if (count != (neighbour->family == 4 ? IPV4_BYTES : IPV6_BYTES)) {
            return false;
        }
        memcpy(neighbour->bytes, bytes, count);
        *has_address = true;
    } else if (type == NDA_LLADDR) {
        if (count > NEIGHBOUR_LINK_BYTES_MAX) {
            return false;
        }
        memcpy(neighbour->link, bytes, count);
        neighbour->link_bytes = is_zero(bytes, count) ? 0 : (uint8_t)count;
    }
    return true;
}

/* Reads the attributes of a message. Returns false if a length is wrong. */
static bool read_attributes(const uint8_t *bytes, size_t count, struct neighbour *neighbour,
                            bool *has_address)
{
    struct rtattr head;

    while (count >= sizeof(head)) {
        memcpy(&head, bytes, sizeof(head));
        if (head.rta_len < sizeof(head) || head.rta_len > count ||
            !read_attribute(head.rta_type, bytes + sizeof(head), head.rta_len - sizeof(head),
                            neighbour, has_address)) {
            return false;
        }
        size_t step = aligned_bytes(head.rta_len) < count ? aligned_bytes(head.rta_len) : count;
        bytes += step;
        count -= step;
    }
    return true;
}

/* Reads what follows the header of a message about a neighbour. Returns NEIGHBOUR_END for an entry
 * that does not concern this module. */
static enum neighbour_message read_neighbour(const uint8_t *bytes, size_t count, bool is_removed,
                                             struct neighbour *out_neighbour)
{
    struct neighbour neighbour = {.family = 0};
    struct ndmsg about;
    bool has_address = false;

    if (count < sizeof(about)) {
        return NEIGHBOUR_MALFORMED;
    }
    memcpy(&about, bytes, sizeof(about));
    if ((about.ndm_family != AF_INET && about.ndm_family != AF_INET6) || about.ndm_ifindex <= 0 ||
        (about.ndm_flags & NTF_PROXY) != 0) {
        return NEIGHBOUR_END;
    }
    neighbour.family = about.ndm_family == AF_INET ? 4 : 6;
    neighbour.interface = (uint32_t)about.ndm_ifindex;
    if (!read_attributes(bytes + sizeof(about), count - sizeof(about), &neighbour, &has_address)) {
        return NEIGHBOUR_MALFORMED;
    }
    if (!has_address) {
        return NEIGHBOUR_END;
    }
    if (is_removed || (about.ndm_state & KNOWN) == 0) {
        neighbour.link_bytes = 0;
    }
    *out_neighbour = neighbour;
    return NEIGHBOUR_CHANGE;
}

/* Reads one message. NEIGHBOUR_END: it is about something else. */
static enum neighbour_message read_message(const struct nlmsghdr *head, const uint8_t *bytes,
                                           size_t count, struct neighbour *out_neighbour)
{
    bool is_torn = (head->nlmsg_flags & NLM_F_DUMP_INTR) != 0;
    int32_t error = 0;

    switch (head->nlmsg_type) {
    case NLMSG_DONE:
    case NLMSG_ERROR: /* both begin with a number: 0, or an error */
        if (count < sizeof(error)) {
            return NEIGHBOUR_MALFORMED;
        }
        memcpy(&error, bytes, sizeof(error));
        if (error != 0) {
            return NEIGHBOUR_REFUSED;
        }
        return head->nlmsg_type == NLMSG_ERROR ? NEIGHBOUR_END /* an acknowledgement */
               : is_torn                       ? NEIGHBOUR_TORN
                                               : NEIGHBOUR_DUMPED;
    case RTM_NEWNEIGH:
    case RTM_DELNEIGH:
        return read_neighbour(bytes, count, head->nlmsg_type == RTM_DELNEIGH, out_neighbour);
    default:
        return NEIGHBOUR_END;
    }
}

enum neighbour_message neighbour_message_next(const uint8_t *bytes, size_t count, size_t *offset,
                                              struct neighbour *out_neighbour)
{
    enum neighbour_message message = NEIGHBOUR_END;
    struct nlmsghdr head;

    while (message == NEIGHBOUR_END && *offset < count) {
        const uint8_t *at = bytes + *offset;
        size_t left = count - *offset;

        if (left < sizeof(head)) {
            return NEIGHBOUR_MALFORMED;
        }
        memcpy(&head, at, sizeof(head));
        if (head.nlmsg_len < sizeof(head) || head.nlmsg_len > left) {
            return NEIGHBOUR_MALFORMED;
        }
        *offset += aligned_bytes(head.nlmsg_len) < left ? aligned_bytes(head.nlmsg_len) : left;
        message =
            read_message(&head, at + sizeof(head), head.nlmsg_len - sizeof(head), out_neighbour);
    }
    return message;
}

void neighbour_message_request(uint8_t out_bytes[NEIGHBOUR_REQUEST_BYTES])
{
    struct nlmsghdr head = {.nlmsg_len = NEIGHBOUR_REQUEST_BYTES,
                            .nlmsg_type = RTM_GETNEIGH,
                            .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP};
    struct ndmsg about = {.ndm_family = AF_UNSPEC};

    memcpy(out_bytes, &head, sizeof(head));
    memcpy(out_bytes + sizeof(head), &about, sizeof(about));
}
