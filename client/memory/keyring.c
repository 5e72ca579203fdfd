/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keyring: the file of the keys of epochs that this client has received. The body of the file is an
 * array of records, in the order in which the keys were learned:
 *
 *    1 byte   1: the connection was encrypted and the next field is a pin; 0: it was not
 *   32 bytes  the pin of the server's TLS key, or zeros
 *   16 bytes  the store's id
 *    1 byte   length of the host's name, then 63 bytes with the name and zeros
 *    8 bytes  the epoch's number
 *    8 bytes  the time until which the key is kept, by the server's clock
 *    8 bytes  the same time by the local clock, to forget the key without a connection
 *   32 bytes  the key
 *
 * A record is used only on a connection with the same pin, store id and host. The pin is part of
 * the record because a server chooses its own store id: without TLS anybody can send the store id
 * of another server.
 *
 * The owner of a record is the pin, or the store id in a record without a pin. Records with a pin
 * and records without one have a limit each, RECORDS_MAX. Above this limit, the oldest record of
 * the owner with the most records is removed. So a server that fills the file loses its own records
 * first.
 */
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "client/call/client.h"
#include "client/fail.h"
#include "client/keep.h"
#include "client/now.h"
#include "proto/tls/tls.h"

enum { WITHOUT_PIN = 0, WITH_PIN = 1, DROPPED = 0xff /* never in a file */ };

enum {
    PIN_AT = 1,
    STORE_AT = PIN_AT + TLS_PIN_BYTES,
    HOST_AT = STORE_AT + HEARSAY_ID_BYTES,
    NUMBER_AT = HOST_AT + 1 + LIMIT_HOST_BYTES,
    KEPT_AT = NUMBER_AT + 8,
    LOCAL_AT = KEPT_AT + 8,
    KEY_AT = LOCAL_AT + 8,
    RECORD_BYTES = KEY_AT + HEARSAY_KEY_BYTES,
    RECORDS_MAX = 2048 /* with a pin, and as many without one */
};

/* The longest time for which a key is kept, even if the server names a longer time. */
#define LIFETIME_MAX_MS (INT64_C(366) * 24 * 3600 * 1000)

static const struct keep_kind keyring_kind = {
    .magic = "hearKeys",
    .version = 2,
    .what = "memory of epochs' keys",
    .is_secret = true,
    .body_bytes_max = 2 * RECORDS_MAX * RECORD_BYTES,
    .record_bytes = RECORD_BYTES,
};

struct hearsay_keyring {
    struct keep_file file;
    bool changed; /* since the file was read or written */
};

/* Removes a record and wipes the bytes behind the last one. */
static void keyring_drop(struct hearsay_keyring *keyring, size_t at)
{
    uint8_t *data = keyring->file.body.data;
    memmove(data + at, data + at + RECORD_BYTES, keyring->file.body.count - at - RECORD_BYTES);
    keyring->file.body.count -= RECORD_BYTES;
    sodium_memzero(data + keyring->file.body.count, RECORD_BYTES);
    keyring->changed = true;
}

static void forget_gone(struct hearsay_keyring *keyring)
{
    int64_t now_ms = now_unix_ms();
    for (size_t at = 0; at < keyring->file.body.count;) {
        if ((int64_t)keep_u64(keyring->file.body.data + at + LOCAL_AT) <= now_ms) {
            keyring_drop(keyring, at);
        } else {
            at += RECORD_BYTES;
        }
    }
}

int hearsay_keyring_open(const char *path, struct hearsay_keyring **out_keyring,
                         struct hearsay_error *out_error)
{
    *out_keyring = NULL;
    struct hearsay_keyring *keyring = calloc(1, sizeof(*keyring));
    if (keyring == NULL) {
        return fail_set_nomem(out_error);
    }
    int status = keep_open(&keyring->file, path, &keyring_kind, out_error);
    if (status < 0) {
        hearsay_keyring_close(keyring);
        return status;
    }
    forget_gone(keyring);
    *out_keyring = keyring;
    return HEARSAY_OK;
}

void hearsay_keyring_close(struct hearsay_keyring *keyring)
{
    if (keyring != NULL) {
        keep_close(&keyring->file);
        free(keyring);
    }
}

/*
 * Writes the first fields of a record, which identify the server and the host of this connection.
 */
static void fill_head(const struct hearsay *server, const struct hearsay_host *host,
                      uint8_t out_head[NUMBER_AT])
{
    const struct hearsay_tls_info *tls = hearsay_tls_info(server);
    size_t length = strlen(host->name);
    length = length < LIMIT_HOST_BYTES ? length : LIMIT_HOST_BYTES; /* the codec allows no more */
    memset(out_head, 0, NUMBER_AT);
    if (tls != NULL) {
        out_head[0] = WITH_PIN;
        memcpy(out_head + PIN_AT, tls->pin, sizeof(tls->pin));
    }
    memcpy(out_head + STORE_AT, hearsay_welcome(server)->store_id, HEARSAY_ID_BYTES);
    out_head[HOST_AT] = (uint8_t)length;
    memcpy(out_head + HOST_AT + 1, host->name, length);
}

/* --- the limit -------------------------------------------------------------------------------- */

/* Orders records by owner (see the head of this file); records of one owner by age, older records
 * first. The first byte of a record separates records with a pin from records without one. */
static int compare_owners(const void *left, const void *right)
{
    const uint8_t *one = *(const uint8_t *const *)left;
    const uint8_t *other = *(const uint8_t *const *)right;
    int order = memcmp(one, other, one[0] == WITH_PIN ? STORE_AT : HOST_AT);
    return order != 0 ? order : (one > other) - (one < other);
}

static bool is_same_owner(const uint8_t *one, const uint8_t *other)
{
    return memcmp(one, other, one[0] == WITH_PIN ? STORE_AT : HOST_AT) == 0;
}

/* Records of one owner (see the head of this file) are neighbours in the sorted array, which is not
 * empty. Returns the index of the first record of the owner that has the most records. */
static size_t find_largest(uint8_t *const *sorted, size_t count)
{
    size_t largest = 0;
    size_t largest_count = 0;
    for (size_t begin = 0, end = 0; begin < count; begin = end) {
        while (end < count && is_same_owner(sorted[begin], sorted[end])) {
            end++;
        }
        if (end - begin > largest_count) {
            largest = begin;
            largest_count = end - begin;
        }
    }
    return largest;
}

/* Marks records as DROPPED until the array has at most RECORDS_MAX other records. */
static void mark_excess(uint8_t **records, size_t count)
{
    if (count <= RECORDS_MAX) {
        return;
    }
    qsort(records, count, sizeof(*records), compare_owners);
    for (; count > RECORDS_MAX; count--) {
        size_t at = find_largest(records, count);
        records[at][0] = DROPPED;
        memmove(&records[at], &records[at + 1], (count - at - 1) * sizeof(*records));
    }
}

/* Removes records until both limits are met. */
static int keep_limit(struct hearsay_keyring *keyring, struct hearsay_error *error)
{
    const struct alloc *alloc = alloc_system();
    size_t all = keyring->file.body.count / RECORD_BYTES;
    if (all <= RECORDS_MAX) {
        return HEARSAY_OK;
    }
    uint8_t **records = alloc_array(alloc, all, sizeof(*records));
    if (records == NULL) {
        return fail_set_nomem(error);
    }
    for (int kind = WITHOUT_PIN; kind <= WITH_PIN; kind++) {
        size_t count = 0;
        for (size_t i = 0; i < all; i++) {
            uint8_t *record = keyring->file.body.data + i * RECORD_BYTES;
            if (record[0] == kind) {
                records[count++] = record;
            }
        }
        mark_excess(records, count);
    }
    alloc_release(alloc, records);
    for (size_t i = all; i-- > 0;) {
        if (keyring->file.body.data[i * RECORD_BYTES] == DROPPED) {
            keyring_drop(keyring, i * RECORD_BYTES);
        }
    }
    return HEARSAY_OK;
}

/* --- learning --------------------------------------------------------------------------------- */

/*
 * Returns the offset of the record of the epoch `number`, or the size of the body if there is no
 * such record.
 */
static size_t find_record(const struct hearsay_keyring *keyring, const uint8_t *head,
                          uint64_t number)
{
    size_t at = 0;
    while (at < keyring->file.body.count) {
        const uint8_t *record = keyring->file.body.data + at;
        if (memcmp(record, head, NUMBER_AT) == 0 && keep_u64(record + NUMBER_AT) == number) {
            break;
        }
        at += RECORD_BYTES;
    }
    return at;
}

/* Stores one key. Adds 1 to *replaced if the file had another key for the same epoch. */
static int keyring_learn(struct hearsay_keyring *keyring, const struct hearsay *server,
                         const struct hearsay_host *host, const struct hearsay_epoch *epoch,
                         size_t *replaced, struct hearsay_error *error)
{
    int64_t now_ms = hearsay_now_ms(server);
    uint8_t record[RECORD_BYTES];
    if (!epoch->has_key || now_ms < 0 || epoch->kept_ms <= now_ms) {
        return HEARSAY_OK;
    }
    int64_t asked_ms = epoch->kept_ms - now_ms;
    int64_t lifetime_ms = asked_ms < LIFETIME_MAX_MS ? asked_ms : LIFETIME_MAX_MS;
    fill_head(server, host, record);
    size_t at = find_record(keyring, record, epoch->number);
    if (at < keyring->file.body.count) {
        if (sodium_memcmp(keyring->file.body.data + at + KEY_AT, epoch->key, HEARSAY_KEY_BYTES) ==
            0) {
            return HEARSAY_OK;
        }
        keyring_drop(keyring, at);
        (*replaced)++;
    }
    keep_put_u64(record + NUMBER_AT, epoch->number);
    keep_put_u64(record + KEPT_AT, (uint64_t)(now_ms + lifetime_ms));
    keep_put_u64(record + LOCAL_AT, (uint64_t)(now_unix_ms() + lifetime_ms));
    memcpy(record + KEY_AT, epoch->key, HEARSAY_KEY_BYTES);
    int rc = bytes_append(&keyring->file.body, record, sizeof(record));
    sodium_memzero(record, sizeof(record));
    keyring->changed = keyring->changed || rc == 0;
    return rc == 0 ? HEARSAY_OK : fail_set_nomem(error);
}

int hearsay_keyring_learn(struct hearsay_keyring *keyring, const struct hearsay *server,
                          size_t *out_replaced, struct hearsay_error *out_error)
{
    const struct hearsay_welcome *welcome = hearsay_welcome(server);
    size_t replaced = 0;
    int status = HEARSAY_OK;
    /* Epochs of the past are stored before the current epochs, because the newest record must be
     * the current one: hearsay_keyring_living returns the newest record first. */
    size_t came = server->epoch_count;
    size_t first = came > CLIENT_EPOCHS_MAX ? came - CLIENT_EPOCHS_MAX : 0;
    for (size_t i = first; i < came && status == HEARSAY_OK; i++) {
        const struct client_epoch *began = &server->epochs[i % CLIENT_EPOCHS_MAX];
        status = keyring_learn(keyring, server, &welcome->hosts[began->host], &began->epoch,
                               &replaced, out_error);
    }
    for (size_t i = 0; i < welcome->host_count && status == HEARSAY_OK; i++) {
        status = keyring_learn(keyring, server, &welcome->hosts[i], &welcome->hosts[i].epoch,
                               &replaced, out_error);
    }
    if (status == HEARSAY_OK) {
        status = keep_limit(keyring, out_error);
    }
    if (status == HEARSAY_OK && out_replaced != NULL) {
        *out_replaced = replaced;
    }
    return status;
}

int hearsay_keyring_save(struct hearsay_keyring *keyring, struct hearsay_error *out_error)
{
    if (!keyring->changed) {
        return HEARSAY_OK;
    }
    int status = keep_write(keyring->file.path, &keyring_kind, &keyring->file.body, out_error);
    keyring->changed = status != HEARSAY_OK;
    return status;
}

/* --- use -------------------------------------------------------------------------------------- */

/*
 * Returns the newest epoch with this number and with a key that this connection received. Returns
 * NULL if there is no such epoch.
 */
static const struct hearsay_epoch *find_given(const struct hearsay *server,
                                              const struct hearsay_host *host, uint64_t number)
{
    const struct hearsay_welcome *welcome = hearsay_welcome(server);
    size_t came = server->epoch_count;
    size_t first = came > CLIENT_EPOCHS_MAX ? came - CLIENT_EPOCHS_MAX : 0;
    if (host->epoch.has_key && host->epoch.number == number) {
        return &host->epoch;
    }
    for (size_t i = came; i > first; i--) {
        const struct client_epoch *began = &server->epochs[(i - 1) % CLIENT_EPOCHS_MAX];
        if (&welcome->hosts[began->host] == host && began->epoch.number == number) {
            return &began->epoch;
        }
    }
    return NULL;
}

size_t hearsay_keyring_living(const struct hearsay_keyring *keyring, const struct hearsay *server,
                              const struct hearsay_host *host, struct hearsay_epoch *out_epochs,
                              size_t room)
{
    int64_t now_ms = hearsay_now_ms(server);
    uint8_t head[NUMBER_AT];
    size_t count = 0;
    fill_head(server, host, head);
    for (size_t end = keyring->file.body.count; end > 0 && count < room; end -= RECORD_BYTES) {
        const uint8_t *record = keyring->file.body.data + end - RECORD_BYTES;
        int64_t kept_ms = (int64_t)keep_u64(record + KEPT_AT);
        if (memcmp(record, head, NUMBER_AT) != 0 || kept_ms <= now_ms) {
            continue;
        }
        struct hearsay_epoch *epoch = &out_epochs[count++];
        memset(epoch, 0, sizeof(*epoch));
        epoch->number = keep_u64(record + NUMBER_AT);
        epoch->kept_ms = kept_ms;
        epoch->has_key = true;
        const struct hearsay_epoch *given = find_given(server, host, epoch->number);
        epoch->is_certain = given != NULL || record[0] == WITH_PIN;
        memcpy(epoch->key, given != NULL ? given->key : record + KEY_AT, HEARSAY_KEY_BYTES);
    }
    return count;
}
