/* SPDX-License-Identifier: Apache-2.0 */
/* rdkit: a loop over all filters with RDKit's function for two bitmaps. RDKit has no index in C++.
 */
#include <DataStructs/BitOps.h>

#include "tests/peers/jaccard.hh"

namespace
{

using bitmaps = std::vector<uint64_t>;

void *build(const uint64_t *filters, size_t count, double)
{
    return new bitmaps(filters, filters + count * PEERS_WORDS);
}

size_t ask(void *index, const uint64_t *query, uint32_t, size_t k, uint64_t *out)
{
    const auto &all = *static_cast<bitmaps *>(index);
    const auto *wanted = reinterpret_cast<const unsigned char *>(query);
    peers::nearest best(k);

    for (size_t i = 0; i * PEERS_WORDS < all.size(); i++) {
        const auto *filter = reinterpret_cast<const unsigned char *>(&all[i * PEERS_WORDS]);

        best.offer(static_cast<float>(1 - CalcBitmapTanimoto(wanted, filter, PEERS_BYTES)), i);
    }
    return best.copy(out);
}

void destroy(void *index)
{
    delete static_cast<bitmaps *>(index);
}

} // namespace

const struct peer peer_rdkit = {"RDKit, a loop", {0}, build, ask, destroy};
