/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list: doubly linked lists of structs that have their own links. `head` is a pointer to the first
 * element; NULL: the list is empty. An element has two pointers of its own type, `prev` and `next`.
 * The macros whose names end in 2 take the names of these pointers. With a pair of pointers for
 * each list, an element can be in several lists. `next` of the last element is NULL. `prev` of the
 * first element is the last element (DL_LAST), so appending needs no search.
 *
 * Elements belong to the caller. No macro allocates or frees memory. A removed element keeps its
 * pointers. A macro may evaluate an argument more than once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The last element of a list that is not empty. */
#define DL_LAST(head) ((head)->prev)

/* Adds an element at the end. */
#define DL_APPEND2(head, element, prev_name, next_name)  \
    do {                                                 \
        (element)->next_name = NULL;                     \
        if ((head) == NULL) {                            \
            (element)->prev_name = (element);            \
            (head) = (element);                          \
        } else {                                         \
            (element)->prev_name = (head)->prev_name;    \
            (element)->prev_name->next_name = (element); \
            (head)->prev_name = (element);               \
        }                                                \
    } while (0)
#define DL_APPEND(head, element) DL_APPEND2(head, element, prev, next)

/* Adds an element at the beginning. */
#define DL_PREPEND(head, element)           \
    do {                                    \
        (element)->next = (head);           \
        if ((head) == NULL) {               \
            (element)->prev = (element);    \
        } else {                            \
            (element)->prev = (head)->prev; \
            (head)->prev = (element);       \
        }                                   \
        (head) = (element);                 \
    } while (0)

/* Takes an element out of the list that it is in. */
#define DL_DELETE2(head, element, prev_name, next_name)                \
    do {                                                               \
        if ((element)->next_name != NULL) {                            \
            (element)->next_name->prev_name = (element)->prev_name;    \
        } else {                                                       \
            (head)->prev_name = (element)->prev_name; /* a new last */ \
        }                                                              \
        if ((element) == (head)) {                                     \
            (head) = (element)->next_name;                             \
        } else {                                                       \
            (element)->prev_name->next_name = (element)->next_name;    \
        }                                                              \
    } while (0)
#define DL_DELETE(head, element) DL_DELETE2(head, element, prev, next)

/* Sets `count` to the number of elements. `element` is a variable for the walk. O(n). */
#define DL_COUNT2(head, element, count, next_name)                                      \
    do {                                                                                \
        (count) = 0;                                                                    \
        for ((element) = (head); (element) != NULL; (element) = (element)->next_name) { \
            (count)++;                                                                  \
        }                                                                               \
    } while (0)
#define DL_COUNT(head, element, count) DL_COUNT2(head, element, count, next)

/* Walks over all elements. The body must not remove `element` from the list. */
#define DL_FOREACH2(head, element, next_name) \
    for ((element) = (head); (element) != NULL; (element) = (element)->next_name)
#define DL_FOREACH(head, element) DL_FOREACH2 (head, element, next)

/* Walks over all elements. The body may remove and free `element`, but must not remove or free
 * another element. `after` is a variable for the walk. */
#define DL_FOREACH_SAFE(head, element, after)                                        \
    for ((element) = (head); (element) != NULL && ((after) = (element)->next, true); \
         (element) = (after))
