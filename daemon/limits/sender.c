/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/limits/sender.h"

#include <assert.h>
#include <netinet/in.h>
#include <string.h>

#include "core/base/err.h"

enum {
    IPV6_BYTES = 16,
    PREFIX_BYTES = 8,
    SPARE_SHARE = 4,
    TIDY_CHAINS = 4096, /* of senders_tidy in TIDY_MS: about 3 ms if all have a sender */
    TIDY_MS = 5000
};
#define NOWHERE UINT32_MAX /* an enum holds no more than an int */

struct sender {
    uint64_t hash;
    uint32_t next;              /* next place of its chain, or next free place; NOWHERE: last */
    uint32_t held[SENDER_USES]; /* by this sender; for a /64, by its addresses */
    uint32_t kept;              /* sender_keep; for a /64, by its addresses */
    struct bucket buckets[SENDER_ACTIONS];
    struct account spent;
    uint64_t turn;
    struct sender *prefix; /* valid while connected or kept: the sender for the /64, which counts
                              the same uses; NULL: none */
    bool is_wide;
};

struct senders {
    const struct alloc *alloc;
    uint8_t key[KEYED_HASH_KEY_BYTES];
    uint32_t capacity;
    uint32_t chain_count; /* a power of two */
    uint32_t free;        /* first of the free places */
    uint32_t hand;        /* the place where the next search for a forgettable sender begins */
    uint32_t tidy_hand;   /* the chain where the next senders_tidy begins */
    int64_t tidied_ms;    /* when the last one was */
    uint32_t *chains;     /* the first of each */
    struct sender *places;
    struct sender shared; /* of all who found no place */
};

/* --- addresses -------------------------------------------------------------------------------- */

/* Returns the 16 bytes of an IPv6 address, or the 4 bytes of an IPv4 address, also of an IPv4
 * address that is mapped into IPv6. NULL: the address is neither. */
static const uint8_t *address_bytes(const struct sockaddr *address, bool *out_is_ipv4)
{
    if (address->sa_family == AF_INET) {
        *out_is_ipv4 = true;
        return (const uint8_t *)&((const struct sockaddr_in *)(const void *)address)->sin_addr;
    }
    if (address->sa_family != AF_INET6) {
        return NULL;
    }
    const struct in6_addr *in6 = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    *out_is_ipv4 = IN6_IS_ADDR_V4MAPPED(in6);
    return *out_is_ipv4 ? &in6->s6_addr[12] : in6->s6_addr;
}

void sender_address_of(const struct sockaddr *peer, const struct sockaddr *local,
                       struct sender_address *out_address)
{
    bool is_ipv4 = false;
    bool local_is_ipv4 = false;
    const uint8_t *theirs = address_bytes(peer, &is_ipv4);
    const uint8_t *ours = address_bytes(local, &local_is_ipv4);

    memset(out_address, 0, sizeof(*out_address));
    if (theirs == NULL) {
        out_address->kind = SENDER_UNIX;
    } else if (is_ipv4) {
        out_address->kind = SENDER_IPV4;
        memcpy(out_address->bytes, theirs, 4);
    } else if (ours != NULL && !local_is_ipv4 && memcmp(theirs, ours, PREFIX_BYTES) == 0) {
        out_address->kind = SENDER_IPV6_ON_LINK;
        memcpy(out_address->bytes, theirs, IPV6_BYTES);
    } else {
        out_address->kind = SENDER_IPV6_PREFIX;
        memcpy(out_address->bytes, theirs, PREFIX_BYTES);
    }
}

void sender_address_set_device(struct sender_address *address, uint64_t device)
{
    *address = (struct sender_address){.kind = SENDER_DEVICE};
    memcpy(address->bytes, &device, sizeof(device));
}

void sender_address_widen(struct sender_address *address)
{
    if (address->kind == SENDER_IPV6_ON_LINK) {
        address->kind = SENDER_IPV6_PREFIX;
        memset(address->bytes + PREFIX_BYTES, 0, IPV6_BYTES - PREFIX_BYTES);
    }
}

bool sender_is_local(const struct sockaddr *peer)
{
    static const uint8_t loopback[IPV6_BYTES] = {[IPV6_BYTES - 1] = 1};
    bool is_ipv4 = false;
    const uint8_t *bytes = address_bytes(peer, &is_ipv4);

    return bytes == NULL || (is_ipv4 ? bytes[0] == 127 : memcmp(bytes, loopback, IPV6_BYTES) == 0);
}

static uint64_t hash_of(const struct senders *senders, enum sender_kind kind, bool is_wide,
                        const uint8_t *bytes)
{
    uint8_t text[2 + IPV6_BYTES] = {(uint8_t)kind, is_wide ? 1 : 0};

    memcpy(text + 2, bytes, IPV6_BYTES);
    return keyed_hash(senders->key, text, sizeof(text));
}

uint32_t senders_tag(const struct senders *senders, const struct sender_address *address)
{
    uint32_t tag = (uint32_t)hash_of(senders, address->kind, false, address->bytes);

    return tag != 0 ? tag : 1;
}

static uint64_t hash_of_prefix(const struct senders *senders, const struct sender_address *address)
{
    uint8_t bytes[IPV6_BYTES] = {0};

    memcpy(bytes, address->bytes, PREFIX_BYTES);
    return hash_of(senders, SENDER_IPV6_PREFIX, true, bytes);
}

uint32_t senders_wide_tag(const struct senders *senders, const struct sender_address *address)
{
    uint32_t tag = (uint32_t)hash_of_prefix(senders, address);

    if (address->kind != SENDER_IPV6_ON_LINK) {
        return 0;
    }
    return tag != 0 ? tag : 1;
}

/* --- the table -------------------------------------------------------------------------------- */

int senders_new(const struct alloc *alloc, uint32_t capacity,
                const uint8_t key[KEYED_HASH_KEY_BYTES], struct senders **out_senders)
{
    struct senders *senders = alloc_zeroed(alloc, 1, sizeof(*senders));

    assert(capacity >= 1 && capacity <= UINT32_C(1) << 30);
    if (senders == NULL) {
        return -ERR_NOMEM;
    }
    senders->alloc = alloc;
    senders->capacity = capacity;
    memcpy(senders->key, key, KEYED_HASH_KEY_BYTES);
    for (senders->chain_count = 1; senders->chain_count < capacity;) {
        senders->chain_count *= 2;
    }
    senders->chains = alloc_array(alloc, senders->chain_count, sizeof(*senders->chains));
    senders->places = alloc_zeroed(alloc, capacity, sizeof(*senders->places));
    if (senders->chains == NULL || senders->places == NULL) {
        senders_free(senders);
        return -ERR_NOMEM;
    }
    for (uint32_t i = 0; i < senders->chain_count; i++) {
        senders->chains[i] = NOWHERE;
    }
    for (uint32_t i = 0; i < capacity; i++) {
        senders->places[i].next = i + 1 < capacity ? i + 1 : NOWHERE;
    }
    senders->shared.is_wide = true;
    *out_senders = senders;
    return 0;
}

void senders_free(struct senders *senders)
{
    if (senders == NULL) {
        return;
    }
    alloc_release(senders->alloc, senders->chains);
    alloc_release(senders->alloc, senders->places);
    alloc_release(senders->alloc, senders);
}

struct account *sender_account(struct sender *sender)
{
    return sender->is_wide ? NULL : &sender->spent;
}

uint64_t *sender_turn(struct sender *sender)
{
    return sender->is_wide ? NULL : &sender->turn;
}

static uint32_t *chain_of(struct senders *senders, uint64_t hash)
{
    return &senders->chains[hash & (senders->chain_count - 1)];
}

static struct sender *sender_find(struct senders *senders, uint64_t hash)
{
    uint32_t at = *chain_of(senders, hash);

    while (at != NOWHERE && senders->places[at].hash != hash) {
        at = senders->places[at].next;
    }
    return at != NOWHERE ? &senders->places[at] : NULL;
}

static uint32_t sender_multiply(uint32_t number, uint32_t factor)
{
    return number > UINT32_MAX / factor ? UINT32_MAX : number * factor;
}

/* What this sender has of a rate. */
static struct bucket_rate rate_of(const struct sender *sender, const struct sender_limits *limits,
                                  enum sender_action action)
{
    struct bucket_rate rate = limits->rates[action];

    if (sender->is_wide) {
        rate.per_minute = sender_multiply(rate.per_minute, SENDERS_WIDE);
        rate.burst = sender_multiply(rate.burst, SENDERS_WIDE);
    }
    return rate;
}

/* Whether the sender has a connection, or is kept. A connection of an address also counts as a
 * connection of its /64. */
static bool is_in_use(const struct sender *sender)
{
    return sender->held[SENDER_CONNECTIONS] > 0 || sender->kept > 0;
}

/* Whether the sender can be removed without any effect on limits of rates and connections: all its
 * buckets are full, and it is not in use. */
static bool is_forgettable(const struct sender *sender, const struct sender_limits *limits,
                           int64_t now_ms)
{
    for (int action = 0; action < SENDER_ACTIONS; action++) {
        struct bucket_rate rate = rate_of(sender, limits, (enum sender_action)action);
        if (!bucket_is_full(&sender->buckets[action], &rate, now_ms)) {
            return false;
        }
    }
    return !is_in_use(sender);
}

static void sender_forget(struct senders *senders, uint32_t place)
{
    struct sender *sender = &senders->places[place];
    uint32_t *at = chain_of(senders, sender->hash);

    while (*at != place) {
        at = &senders->places[*at].next;
    }
    *at = sender->next;
    memset(sender, 0, sizeof(*sender));
    sender->next = senders->free;
    senders->free = place;
}

/* Frees a place for a new sender by removing a forgettable sender, if no place is free. Returns
 * whether a place is free. */
static bool make_room(struct senders *senders, const struct sender_limits *limits, int64_t now_ms)
{
    for (uint32_t looked = 0; senders->free == NOWHERE && looked < senders->capacity; looked++) {
        uint32_t place = senders->hand;
        senders->hand = place + 1 < senders->capacity ? place + 1 : 0;
        if (is_forgettable(&senders->places[place], limits, now_ms)) {
            sender_forget(senders, place);
        }
    }
    return senders->free != NOWHERE;
}

void senders_tidy(struct senders *senders, const struct sender_limits *limits, int64_t now_ms)
{
    int64_t passed_ms = now_ms - senders->tidied_ms;
    int64_t count = TIDY_CHAINS * (passed_ms > TIDY_MS ? passed_ms / TIDY_MS : 1);

    senders->tidied_ms = now_ms;
    for (int64_t i = 0; i < count && i < senders->chain_count; i++) {
        uint32_t place = senders->chains[senders->tidy_hand];

        senders->tidy_hand = (senders->tidy_hand + 1) & (senders->chain_count - 1);

        while (place != NOWHERE) {
            uint32_t next = senders->places[place].next;

            if (is_forgettable(&senders->places[place], limits, now_ms)) {
                sender_forget(senders, place);
            }
            place = next;
        }
    }
}

/* Returns the sender with this hash. If there is none, makes the sender. If the table has no free
 * place for a new sender, returns the shared sender. */
static struct sender *sender_get(struct senders *senders, uint64_t hash, bool is_wide,
                                 const struct sender_limits *limits, int64_t now_ms)
{
    struct sender *sender = sender_find(senders, hash);

    if (sender != NULL) {
        return sender;
    }
    if (!make_room(senders, limits, now_ms)) {
        return &senders->shared;
    }
    uint32_t place = senders->free;
    uint32_t *chain = chain_of(senders, hash);
    sender = &senders->places[place];
    senders->free = sender->next;
    memset(sender, 0, sizeof(*sender));
    sender->hash = hash;
    sender->is_wide = is_wide;
    sender->next = *chain;
    *chain = place;
    return sender;
}

/* --- connections ------------------------------------------------------------------------------ */

static bool may_connect(const struct sender *sender, const struct sender_limits *limits)
{
    return sender->held[SENDER_CONNECTIONS] <
           (sender->is_wide ? sender_multiply(limits->connections, SENDERS_WIDE)
                            : limits->connections);
}

/* The /64 of an address on link. */
static struct sender *find_prefix(struct senders *senders, const struct sender *known,
                                  const struct sender_address *address,
                                  const struct sender_limits *limits, int64_t now_ms)
{
    struct sender *prefix = known != NULL && is_in_use(known) ? known->prefix : NULL;

    if (prefix == NULL) {
        prefix = sender_get(senders, hash_of_prefix(senders, address), true, limits, now_ms);
    }
    return prefix;
}

static int sender_refuse(struct sender *sender, const struct sender_limits *limits, int64_t now_ms)
{
    return sender_take(sender, SENDER_TOLD, limits, 1, now_ms) == 0 ? SENDER_REFUSED
                                                                    : SENDER_CUT_OFF;
}

const struct sender *senders_find_full(struct senders *senders,
                                       const struct sender_address *address,
                                       const struct sender_limits *limits)
{
    const struct sender *sender =
        sender_find(senders, hash_of(senders, address->kind, false, address->bytes));

    return sender != NULL && !may_connect(sender, limits) ? sender : NULL;
}

void sender_keep(struct sender *sender)
{
    sender->kept++;
    if (sender->prefix != NULL) {
        sender->prefix->kept++;
    }
}

void sender_release(struct sender *sender)
{
    assert(sender->kept > 0);
    sender->kept--;
    if (sender->prefix != NULL) {
        assert(sender->prefix->kept > 0);
        sender->prefix->kept--;
    }
}

static void begin_use(struct sender *sender, enum sender_use use)
{
    sender->held[use]++;
    if (sender->prefix != NULL) {
        sender->prefix->held[use]++;
    }
}

struct sender *senders_keep(struct senders *senders, const struct sender_address *address,
                            const struct sender_limits *limits, int64_t now_ms)
{
    uint64_t hash = hash_of(senders, address->kind, false, address->bytes);
    struct sender *prefix = NULL;

    if (address->kind == SENDER_IPV6_ON_LINK) {
        prefix = find_prefix(senders, sender_find(senders, hash), address, limits, now_ms);
        prefix->kept++; /* so that make_room cannot remove it while the address is added */
    }
    struct sender *sender = sender_get(senders, hash, false, limits, now_ms);
    /* The shared sender has clients of any /64. So it counts for no /64. */
    if (prefix != NULL && sender == &senders->shared) {
        prefix->kept--;
        prefix = NULL;
    }
    sender->prefix = prefix;
    sender->kept++;
    return sender;
}

int senders_enter(struct senders *senders, const struct sender_address *address,
                  const struct sender_limits *limits, int64_t now_ms, struct sender **out_sender)
{
    struct sender *sender = senders_keep(senders, address, limits, now_ms);
    int rc = 0;

    if (may_connect(sender, limits)) {
        begin_use(sender, SENDER_CONNECTIONS);
        *out_sender = sender;
    } else {
        rc = sender_refuse(sender, limits, now_ms);
    }
    sender_release(sender);
    return rc;
}

static void let_go(struct sender *sender, enum sender_use use)
{
    assert(sender->held[use] > 0);
    sender->held[use]--;
    if (sender->prefix != NULL) {
        assert(sender->prefix->held[use] > 0);
        sender->prefix->held[use]--;
    }
}

void senders_leave(struct sender *sender)
{
    let_go(sender, SENDER_CONNECTIONS);
    assert(sender->held[SENDER_HANDSHAKES] <= sender->held[SENDER_CONNECTIONS]);
}

void sender_begin_handshake(struct sender *sender)
{
    begin_use(sender, SENDER_HANDSHAKES);
}

void sender_end_handshake(struct sender *sender)
{
    let_go(sender, SENDER_HANDSHAKES);
}

void sender_begin_write(struct sender *sender)
{
    sender_keep(sender);
    begin_use(sender, SENDER_WRITES);
}

void sender_end_write(struct sender *sender)
{
    let_go(sender, SENDER_WRITES);
    sender_release(sender);
}

struct fair_share sender_share(const struct sender *sender, enum sender_use use)
{
    return (struct fair_share){
        .holder = sender,
        .held = sender->held[use],
        .by_network = sender->prefix != NULL ? sender->prefix->held[use] : sender->held[use],
    };
}

/* --- tokens ----------------------------------------------------------------------------------- */

uint64_t sender_take(struct sender *sender, enum sender_action action,
                     const struct sender_limits *limits, uint32_t cost, int64_t now_ms)
{
    struct bucket before = sender->buckets[action];
    struct bucket_rate rate = rate_of(sender, limits, action);
    uint64_t wait_ms = bucket_take(&sender->buckets[action], &rate, cost, now_ms);

    if (wait_ms == 0 && sender->prefix != NULL) {
        struct bucket_rate wide = rate_of(sender->prefix, limits, action);
        wait_ms = bucket_take(&sender->prefix->buckets[action], &wide, cost, now_ms);
        if (wait_ms > 0) {
            sender->buckets[action] = before;
        }
    }
    return wait_ms;
}

uint32_t sender_take_most(struct sender *sender, enum sender_action action,
                          const struct sender_limits *limits, uint32_t most, int64_t now_ms)
{
    uint32_t burst = rate_of(sender, limits, action).burst;
    uint32_t taken = 0;

    most = most < burst ? most : burst; /* sender_take takes no more, whatever it is asked for */
    for (uint32_t step = UINT32_C(1) << 31; step > 0; step /= 2) {
        if (step <= most - taken && sender_take(sender, action, limits, step, now_ms) == 0) {
            taken += step;
        }
    }
    return taken;
}

void sender_give(struct sender *sender, enum sender_action action,
                 const struct sender_limits *limits, uint32_t tokens, int64_t now_ms)
{
    struct bucket_rate rate = rate_of(sender, limits, action);

    bucket_give(&sender->buckets[action], &rate, tokens, now_ms);
    if (sender->prefix != NULL) {
        struct bucket_rate wide = rate_of(sender->prefix, limits, action);
        bucket_give(&sender->prefix->buckets[action], &wide, tokens, now_ms);
    }
}

uint64_t sender_take_spare(struct sender *sender, enum sender_action action,
                           const struct sender_limits *limits, uint32_t cost, int64_t now_ms)
{
    uint32_t spare = limits->rates[action].burst / SPARE_SHARE;
    struct sender *prefix = sender->prefix;
    struct bucket before = sender->buckets[action];
    struct bucket before_prefix = prefix != NULL ? prefix->buckets[action] : before;
    uint64_t wait_ms = sender_take(sender, action, limits, cost + spare, now_ms);

    if (wait_ms > 0) {
        return wait_ms;
    }
    sender->buckets[action] = before;
    if (prefix != NULL) {
        prefix->buckets[action] = before_prefix;
    }
    return sender_take(sender, action, limits, cost, now_ms);
}
