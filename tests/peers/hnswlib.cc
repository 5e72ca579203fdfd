/* SPDX-License-Identifier: Apache-2.0 */
/* hnswlib: a graph (HNSW) with the parameters of hnswlib's examples, and a space of Jaccard
 * distances. */
#include "hnswlib.h"

#include "tests/peers/jaccard.hh"

namespace
{

float space_distance(const void *a, const void *b, const void *)
{
    return peers::distance(a, b);
}

class jaccard_space : public hnswlib::SpaceInterface<float>
{
  public:
    size_t get_data_size() override
    {
        return PEERS_BYTES;
    }
    hnswlib::DISTFUNC<float> get_dist_func() override
    {
        return space_distance;
    }
    void *get_dist_func_param() override
    {
        return nullptr;
    }
};

struct graph {
    graph(size_t count) : index(&space, count, 16, 200)
    {
    }
    jaccard_space space;
    hnswlib::HierarchicalNSW<float> index;
};

void *build(const uint64_t *filters, size_t count, double seconds)
{
    auto *made = new graph(count);

    made->index.addPoint(filters, 0);
    if (peers::add_all(count - 1, seconds, [&](size_t i, unsigned) {
            made->index.addPoint(filters + (i + 1) * PEERS_WORDS, i + 1);
        })) {
        return made;
    }
    delete made;
    return nullptr;
}

size_t ask(void *index, const uint64_t *query, uint32_t effort, size_t k, uint64_t *out)
{
    auto *asked = static_cast<graph *>(index);
    size_t count = 0;

    asked->index.setEf(effort);
    for (auto found = asked->index.searchKnn(query, k); !found.empty(); found.pop()) {
        out[count++] = found.top().second;
    }
    return count;
}

void destroy(void *index)
{
    delete static_cast<graph *>(index);
}

} // namespace

const struct peer peer_hnswlib = {"hnswlib, ef", {64, 256}, build, ask, destroy};
