/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store/thread/reader.h"

#include <stdlib.h>
#include <string.h>

/* A block of memory with the content of a message, with reasons, or with the value of a rule. */
struct block {
    struct block *next;
    uint8_t bytes[];
};

size_t store_keep_bytes(const struct persist_message *message)
{
    return message->filter_bytes + message->media_type_bytes + message->payload_bytes;
}

uint8_t *store_keep_block(struct persist_read *read, size_t bytes)
{
    struct block *block = malloc(sizeof(*block) + bytes); /* a row is far smaller than SIZE_MAX */

    if (block == NULL) {
        return NULL;
    }
    block->next = read->memory;
    read->memory = block;
    return block->bytes;
}

int store_keep_message(struct persist_read *read, const struct persist_message *message,
                       struct persist_message *out_message)
{
    uint8_t *end = store_keep_block(read, store_keep_bytes(message));

    if (end == NULL) {
        return SQLITE_NOMEM;
    }
    memcpy(end, message->filter, message->filter_bytes);
    *out_message = *message;
    out_message->filter = end;
    end += message->filter_bytes;
    memcpy(end, message->media_type, message->media_type_bytes);
    out_message->media_type = (const char *)end;
    end += message->media_type_bytes;
    memcpy(end, message->payload, message->payload_bytes);
    out_message->payload = end;
    return SQLITE_OK;
}

int store_keep_reasons(struct persist_read *read, sqlite3_stmt *statement, int column,
                       struct persist_entry *out_entry)
{
    const void *text = sqlite3_column_text(statement, column);
    size_t bytes = (size_t)sqlite3_column_bytes(statement, column);
    uint8_t *copy;

    if (bytes == 0) {
        return SQLITE_OK;
    }
    copy = text == NULL ? NULL : store_keep_block(read, bytes);
    if (copy == NULL) {
        return SQLITE_NOMEM;
    }
    memcpy(copy, text, bytes);
    out_entry->reasons = (const char *)copy;
    out_entry->reasons_bytes = bytes;
    return SQLITE_OK;
}

void store_keep_release(struct persist_read *read)
{
    struct block *block = read->memory;

    while (block != NULL) {
        struct block *next = block->next;

        free(block);
        block = next;
    }
    read->memory = NULL;
}
