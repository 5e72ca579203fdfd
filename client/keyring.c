/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keyring: the keys of epochs that a client was present for. The file's body is records,
 *
 *   16 bytes  the store's id
 *    1 byte   length of the host's name, then 63 bytes with it, zeros behind
 *    8 bytes  the epoch's number
 *    8 bytes  until when it is kept, by the server's clock
 *    8 bytes  the same by the local clock, for forgetting without the server
 *   32 bytes  the key
 *
 * oldest first.
 */
#include <sodium.h>
#include <string.h>
#include <time.h>

#include "client/client.h"
#include "client/fail.h"
#include "client/keep.h"

enum {
    HOST_AT = HEARSAY_ID_BYTES,
    NUMBER_AT = HOST_AT + 1 + LIMIT_HOST_BYTES,
    KEPT_AT = NUMBER_AT + 8,
    LOCAL_AT = KEPT_AT + 8,
    KEY_AT = LOCAL_AT + 8,
    RECORD_BYTES = KEY_AT + HEARSAY_KEY_BYTES,
    RECORDS_MAX = 4096
};

static const struct keep_kind keyring_kind = {
    .magic = "hearKeys",
    .what = "memory of epochs' keys",
    .body_bytes_max = RECORDS_MAX * RECORD_BYTES,
};

struct hearsay_keyring {
    char *path; /* owned */
    struct bytes records;
    bool changed;
};

static int64_t local_now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now); /* does not fail with this clock */
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Takes a record out; what is moved over, and what is left behind it, is wiped. */
static void drop(struct hearsay_keyring *keyring, size_t at)
{
    uint8_t *data = keyring->records.data;
    memmove(data + at, data + at + RECORD_BYTES, keyring->records.count - at - RECORD_BYTES);
    keyring->records.count -= RECORD_BYTES;
    sodium_memzero(data + keyring->records.count, RECORD_BYTES);
    keyring->changed = true;
}

static void forget_gone(struct hearsay_keyring *keyring)
{
    const int64_t now_ms = local_now_ms();
    for (size_t at = 0; at < keyring->records.count;) {
        if ((int64_t)keep_u64(keyring->records.data + at + LOCAL_AT) <= now_ms) {
            drop(keyring, at);
        } else {
            at += RECORD_BYTES;
        }
    }
}

static int load(struct hearsay_keyring *keyring, struct hearsay_error *error)
{
    int status = keep_read(keyring->path, &keyring_kind, &keyring->records, error);
    if (status == KEEP_ABSENT) {
        return HEARSAY_OK;
    }
    if (status != 0) {
        return status;
    }
    if (keyring->records.count % RECORD_BYTES != 0) {
        return fail_set(error, HEARSAY_ERR_FILE, "%.300s is damaged; it was left as it is",
                        keyring->path);
    }
    forget_gone(keyring);
    return HEARSAY_OK;
}

int hearsay_keyring_open(const char *path, struct hearsay_keyring **out_keyring,
                         struct hearsay_error *out_error)
{
    const struct alloc *alloc = alloc_system();
    struct hearsay_keyring *keyring = alloc_zeroed(alloc, 1, sizeof(*keyring));
    if (keyring == NULL) {
        return fail_set_nomem(out_error);
    }
    bytes_init(&keyring->records, alloc);
    const size_t path_bytes = strlen(path) + 1;
    keyring->path = alloc_array(alloc, path_bytes, 1);
    if (keyring->path == NULL) {
        hearsay_keyring_close(keyring);
        return fail_set_nomem(out_error);
    }
    memcpy(keyring->path, path, path_bytes);
    int status = load(keyring, out_error);
    if (status != HEARSAY_OK) {
        hearsay_keyring_close(keyring);
        return status;
    }
    *out_keyring = keyring;
    return HEARSAY_OK;
}

void hearsay_keyring_close(struct hearsay_keyring *keyring)
{
    const struct alloc *alloc = alloc_system();
    if (keyring == NULL) {
        return;
    }
    if (keyring->records.count > 0) {
        sodium_memzero(keyring->records.data, keyring->records.count);
    }
    bytes_deinit(&keyring->records);
    alloc_release(alloc, keyring->path, keyring->path != NULL ? strlen(keyring->path) + 1 : 0, 1);
    alloc_release(alloc, keyring, 1, sizeof(*keyring));
}

/* What a record of this server's host begins with. */
static void fill_head(const struct hearsay *server, const struct hearsay_host *host,
                      uint8_t out_head[NUMBER_AT])
{
    size_t length = strlen(host->name);
    length = length < LIMIT_HOST_BYTES ? length : LIMIT_HOST_BYTES; /* the codec allows no more */
    memset(out_head, 0, NUMBER_AT);
    memcpy(out_head, hearsay_welcome(server)->store_id, HEARSAY_ID_BYTES);
    out_head[HOST_AT] = (uint8_t)length;
    memcpy(out_head + HOST_AT + 1, host->name, length);
}

static bool has_record(const struct hearsay_keyring *keyring, const uint8_t *head, uint64_t number)
{
    for (size_t at = 0; at < keyring->records.count; at += RECORD_BYTES) {
        const uint8_t *record = keyring->records.data + at;
        if (memcmp(record, head, NUMBER_AT) == 0 && keep_u64(record + NUMBER_AT) == number) {
            return true;
        }
    }
    return false;
}

static int add_record(struct hearsay_keyring *keyring, const uint8_t *head,
                      const struct hearsay_epoch *epoch, int64_t lifetime_ms,
                      struct hearsay_error *error)
{
    const int64_t now_ms = local_now_ms();
    const int64_t local_ms = lifetime_ms > INT64_MAX - now_ms ? INT64_MAX : now_ms + lifetime_ms;
    struct bytes *records = &keyring->records;
    if (records->count >= (size_t)RECORDS_MAX * RECORD_BYTES) {
        drop(keyring, 0);
    }
    const size_t before = records->count;
    int failed = bytes_append(records, head, NUMBER_AT);
    failed = failed != 0 ? failed : keep_append_u64(records, epoch->number);
    failed = failed != 0 ? failed : keep_append_u64(records, (uint64_t)epoch->kept_ms);
    failed = failed != 0 ? failed : keep_append_u64(records, (uint64_t)local_ms);
    failed = failed != 0 ? failed : bytes_append(records, epoch->key, HEARSAY_KEY_BYTES);
    if (failed != 0) {
        records->count = before;
        return fail_set_nomem(error);
    }
    keyring->changed = true;
    return HEARSAY_OK;
}

/* One key, unless there is none, or it is there, or of no more use. */
static int learn(struct hearsay_keyring *keyring, const struct hearsay *server,
                 const struct hearsay_host *host, const struct hearsay_epoch *epoch,
                 struct hearsay_error *error)
{
    const int64_t lifetime_ms = epoch->kept_ms - hearsay_now_ms(server);
    uint8_t head[NUMBER_AT];
    fill_head(server, host, head);
    if (!epoch->has_key || lifetime_ms <= 0 || has_record(keyring, head, epoch->number)) {
        return HEARSAY_OK;
    }
    return add_record(keyring, head, epoch, lifetime_ms, error);
}

int hearsay_keyring_learn(struct hearsay_keyring *keyring, const struct hearsay *server,
                          struct hearsay_error *out_error)
{
    const struct hearsay_welcome *welcome = hearsay_welcome(server);
    int status = HEARSAY_OK;
    /* Those of before first: keyring_living gives the newest. */
    const size_t came = server->epoch_count;
    const size_t first = came > CLIENT_EPOCHS_MAX ? came - CLIENT_EPOCHS_MAX : 0;
    for (size_t i = first; i < came && status == HEARSAY_OK; i++) {
        const struct client_epoch *began = &server->epochs[i % CLIENT_EPOCHS_MAX];
        status = learn(keyring, server, &welcome->hosts[began->host], &began->epoch, out_error);
    }
    for (size_t i = 0; i < welcome->host_count && status == HEARSAY_OK; i++) {
        status = learn(keyring, server, &welcome->hosts[i], &welcome->hosts[i].epoch, out_error);
    }
    return status;
}

int hearsay_keyring_save(struct hearsay_keyring *keyring, struct hearsay_error *out_error)
{
    if (!keyring->changed) {
        return HEARSAY_OK;
    }
    int status = keep_write(keyring->path, &keyring_kind, &keyring->records, out_error);
    keyring->changed = status != HEARSAY_OK;
    return status;
}

size_t hearsay_keyring_living(const struct hearsay_keyring *keyring, const struct hearsay *server,
                              const struct hearsay_host *host, struct hearsay_epoch *out_epochs,
                              size_t room)
{
    const int64_t now_ms = hearsay_now_ms(server);
    uint8_t head[NUMBER_AT];
    size_t count = 0;
    fill_head(server, host, head);
    for (size_t end = keyring->records.count; end > 0 && count < room; end -= RECORD_BYTES) {
        const uint8_t *record = keyring->records.data + end - RECORD_BYTES;
        const int64_t kept_ms = (int64_t)keep_u64(record + KEPT_AT);
        if (memcmp(record, head, NUMBER_AT) != 0 || kept_ms <= now_ms) {
            continue;
        }
        struct hearsay_epoch *epoch = &out_epochs[count++];
        memset(epoch, 0, sizeof(*epoch));
        epoch->number = keep_u64(record + NUMBER_AT);
        epoch->kept_ms = kept_ms;
        epoch->has_key = true;
        memcpy(epoch->key, record + KEY_AT, HEARSAY_KEY_BYTES);
    }
    return count;
}
