/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tie: finds groups whose messages are as similar as the k-th best, and older.
 *
 * Many messages may be equally similar to a query though their filters differ, as on a board where
 * each has another reach, or another topic that the query does not ask for. Only the newest of them
 * can be among the k best. The bounds by phi of bound.c are a little too high to show that a group
 * ties. So this file computes the highest phi of such a group exactly, where that is possible: if
 * all of its messages have the same number of set bits in each section that the query asks for,
 * then phi only grows with the number of shared bits, of which the union of the group says the
 * most.
 */
#include "core/tree/walk.h"

/*
 * Reads the number of set bits that the messages of a group have in each section that the query
 * asks for. Returns false if it differs between messages. Messages without bits that walk_least
 * leaves out may differ: their phi is 0, the lowest there is.
 */
static bool same_counts(const struct walk *walk, const struct tree_node *node, size_t group,
                        uint16_t *out_counts)
{
    const struct phi_query *asked = &walk->probe->phi;

    for (uint32_t s = 0; s < asked->count; s++) {
        uint32_t number = asked->sections[s].number;
        uint8_t least = walk_least(walk, node, number)[group];
        uint8_t most = node->section_most[(size_t)number * TREE_GROUPS + group];

        if ((least != most && most != 0) || most == UINT8_MAX) {
            return false;
        }
        out_counts[number] = most;
    }
    return true;
}

bool walk_is_tied(const struct walk *walk, const struct tree_node *node, size_t group,
                  uint16_t shared)
{
    const struct index_probe *probe = walk->probe;
    uint16_t counts[PROFILE_SECTIONS_MAX];
    struct similarity phi;

    return same_counts(walk, node, group, counts) &&
           phi_reaches(&probe->phi, counts, shared, 0, &phi) &&
           !index_probe_may_be_best(probe, phi, node->groups[group].newest_ms);
}
