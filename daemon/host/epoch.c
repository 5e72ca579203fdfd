/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/host/host.h"

#include <assert.h>
#include <string.h>

#include <sodium.h>

#include "core/base/err.h"
#include "core/tree/engine.h"

int epoch_new(const struct persist_epoch *stored, const struct index_options *options,
              struct epoch **out_epoch)
{
    struct epoch *epoch = alloc_zeroed(options->alloc, 1, sizeof(*epoch));

    if (epoch == NULL) {
        return -ERR_NOMEM;
    }
    if (stored != NULL) {
        epoch->number = stored->number;
        epoch->starts_ms = stored->starts_ms;
        epoch->ends_ms = stored->ends_ms;
        epoch->kept_ms = stored->kept_ms;
        memcpy(epoch->key, stored->key, sizeof(epoch->key));
    }
    int rc = index_new(&tree_engine, options, &epoch->index);
    if (rc == 0) {
        rc = summary_init(&epoch->summary, options->alloc, options->profile->bits);
    }
    if (rc != 0) {
        epoch_free(epoch, options->alloc);
        return rc;
    }
    *out_epoch = epoch;
    return 0;
}

void epoch_end(struct epoch *epoch)
{
    epoch->is_over = true;
    sodium_memzero(epoch->key, sizeof(epoch->key));
}

void epoch_free(struct epoch *epoch, const struct alloc *alloc)
{
    if (epoch == NULL) {
        return;
    }
    assert(epoch->users == 0);
    index_free(epoch->index);
    summary_deinit(&epoch->summary);
    sodium_memzero(epoch->key, sizeof(epoch->key));
    alloc_release(alloc, epoch);
}

void epoch_use(struct epoch *epoch)
{
    epoch->users++;
}

void epoch_leave(struct epoch *epoch)
{
    assert(epoch->users > 0);
    epoch->users--;
}
