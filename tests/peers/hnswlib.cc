/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hnswlib: a graph (HNSW) with the parameters of hnswlib's examples, in a space of its own. Ties are
 * hard for a graph, because the neighbours of a filter that is stored often are its twins, and
 * nothing leads to the others. So there is a second row: a graph of different filters, each with the
 * numbers of all that are equal to it, where at least one in a hundred is equal to another.
 */
#include "hnswlib.h"

#include <numeric>

#include "tests/peers/metric.hh"

namespace
{

enum { M = 16, EF_CONSTRUCTION = 200 };

float space_distance(const void *a, const void *b, const void *)
{
    const auto &query = *static_cast<const peers::record *>(a);
    const auto &message = *static_cast<const peers::record *>(b);

    return peers::distance(query, message);
}

class space : public hnswlib::SpaceInterface<float>
{
  public:
    size_t get_data_size() override
    {
        return sizeof(peers::record);
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
    graph(size_t count) : index(&distances, count, M, EF_CONSTRUCTION)
    {
    }
    space distances;
    hnswlib::HierarchicalNSW<float> index;
    std::vector<size_t> firsts;    /* of node i: numbers[firsts[i]] .. numbers[firsts[i + 1]] */
    std::vector<uint32_t> numbers; /* empty: a node has its own number */
};

bool add_nodes(graph *made, const uint64_t *filters, const std::vector<uint32_t> &order,
               double seconds)
{
    const auto add = [&](size_t i, unsigned) {
        const auto stored = peers::record_of(filters + order[i] * PEERS_WORDS);

        made->index.addPoint(&stored, i);
    };

    add(0, 0);
    return peers::add_all(order.size() - 1, seconds, [&](size_t i, unsigned t) { add(i + 1, t); });
}

void *build(const struct peers_metric *metric, const uint64_t *filters, size_t count,
            double seconds)
{
    std::vector<uint32_t> order(count);
    auto *made = new graph(count);

    peers::prepare(metric);
    std::iota(order.begin(), order.end(), 0);
    if (add_nodes(made, filters, order, seconds)) {
        return made;
    }
    delete made;
    return nullptr;
}

void *build_once(const struct peers_metric *metric, const uint64_t *filters, size_t count,
                 double seconds)
{
    std::vector<uint32_t> order(count);
    std::vector<uint32_t> nodes; /* a filter of each node */
    const auto compare = [&](uint32_t a, uint32_t b) {
        return std::memcmp(filters + a * PEERS_WORDS, filters + b * PEERS_WORDS, PEERS_BYTES);
    };
    std::vector<size_t> firsts;

    peers::prepare(metric);
    std::iota(order.begin(), order.end(), 0);
    /* the newest of equal ones, which has the highest number, first */
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        const int difference = compare(a, b);
        return difference != 0 ? difference < 0 : a > b;
    });
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || compare(order[i - 1], order[i]) != 0) {
            firsts.push_back(i);
            nodes.push_back(order[i]);
        }
    }
    firsts.push_back(count);
    if (nodes.size() + count / 100 > count) {
        return nullptr; /* hardly any are equal */
    }
    auto *made = new graph(nodes.size());
    made->firsts = std::move(firsts);
    made->numbers = std::move(order);
    if (add_nodes(made, filters, nodes, seconds)) {
        return made;
    }
    delete made;
    return nullptr;
}

size_t ask(void *index, const uint64_t *query, uint32_t effort, size_t k, uint64_t *out)
{
    auto *asked = static_cast<graph *>(index);
    const auto record = peers::record_of(query);
    size_t count = 0;

    asked->index.setEf(effort);
    for (auto found = asked->index.searchKnn(&record, k); !found.empty(); found.pop()) {
        out[count++] = found.top().second;
    }
    return count;
}

size_t ask_once(void *index, const uint64_t *query, uint32_t effort, size_t k, uint64_t *out)
{
    auto *asked = static_cast<graph *>(index);
    const auto record = peers::record_of(query);
    size_t count = 0;

    asked->index.setEf(effort);
    for (const auto &node : asked->index.searchKnnCloserFirst(&record, k)) {
        for (size_t i = asked->firsts[node.second]; i < asked->firsts[node.second + 1]; i++) {
            if (count == k) {
                return count;
            }
            out[count++] = asked->numbers[i];
        }
    }
    return count;
}

void destroy(void *index)
{
    delete static_cast<graph *>(index);
}

} // namespace

const struct peer peer_hnswlib = {
    "hnswlib", "ef", {16, 24, 32, 48, 64, 96, 128, 192, 256}, build, ask, destroy};
const struct peer peer_hnswlib_once = {"hnswlib, equal filters once",
                                       "ef",
                                       {16, 24, 32, 48, 64, 96, 128, 192, 256},
                                       build_once,
                                       ask_once,
                                       destroy};
