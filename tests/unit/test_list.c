/* SPDX-License-Identifier: Apache-2.0 */
/* Random operations on two lists, against arrays of the same elements. */
#include "daemon/system/list.h"

#include "tests/lib/check.h"
#include "tests/lib/rng.h"

enum { ELEMENTS = 12, LISTS = 2, STEPS = 20000 };

struct element {
    struct element *prev;
    struct element *next;
    struct element *left; /* of a second list, which all elements are in */
    struct element *right;
    int list; /* -1: in none */
};

struct model {
    struct element elements[ELEMENTS];
    struct element *heads[LISTS];
    struct element *order[LISTS][ELEMENTS];
    size_t counts[LISTS];
};

static void check_list(struct model *model, int list)
{
    struct element *head = model->heads[list];
    struct element *element;
    size_t count = 0;

    DL_FOREACH (head, element) {
        assert_true(count < model->counts[list]);
        assert_ptr_equal(element, model->order[list][count]);
        assert_ptr_equal(element->prev,
                         model->order[list][count == 0 ? model->counts[list] - 1 : count - 1]);
        count++;
    }
    assert_int_equal(count, model->counts[list]);
    DL_COUNT(head, element, count);
    assert_int_equal(count, model->counts[list]);
    if (count > 0) {
        assert_ptr_equal(DL_LAST(head), model->order[list][count - 1]);
    }
}

static void insert_into_order(struct model *model, int list, size_t at, struct element *element)
{
    for (size_t i = model->counts[list]; i > at; i--) {
        model->order[list][i] = model->order[list][i - 1];
    }
    model->order[list][at] = element;
    model->counts[list]++;
    element->list = list;
}

static void take_out_of_order(struct model *model, struct element *element)
{
    struct element **order = model->order[element->list];
    size_t at = 0;

    while (order[at] != element) {
        at++;
    }
    model->counts[element->list]--;
    for (; at < model->counts[element->list]; at++) {
        order[at] = order[at + 1];
    }
    element->list = -1;
}

static void take_some(struct model *model, int list, struct rng *rng)
{
    struct element *element;
    struct element *after;

    DL_FOREACH_SAFE (model->heads[list], element, after) {
        if (rng_chance(rng, 30)) {
            DL_DELETE(model->heads[list], element);
            take_out_of_order(model, element);
            element->next = element; /* as freed: the walk must not look at it again */
        }
    }
}

static void step(struct model *model, struct rng *rng)
{
    struct element *element = &model->elements[rng_below(rng, ELEMENTS)];
    const int list = (int)rng_below(rng, LISTS);

    if (element->list >= 0) {
        DL_DELETE(model->heads[element->list], element);
        take_out_of_order(model, element);
    } else if (rng_chance(rng, 50)) {
        DL_APPEND(model->heads[list], element);
        insert_into_order(model, list, model->counts[list], element);
    } else {
        DL_PREPEND(model->heads[list], element);
        insert_into_order(model, list, 0, element);
    }
    if (rng_chance(rng, 5)) {
        take_some(model, list, rng);
    }
}

TEST(test_lists_are_as_arrays)
{
    struct model model = {0};
    struct rng rng;

    rng_init(&rng);
    for (int i = 0; i < ELEMENTS; i++) {
        model.elements[i].list = -1;
    }
    for (int i = 0; i < STEPS; i++) {
        step(&model, &rng);
        check_list(&model, 0);
        check_list(&model, 1);
    }
}

TEST(test_an_element_is_in_two_lists)
{
    struct element elements[3] = {0};
    struct element *first = NULL;
    struct element *second = NULL;
    struct element *element;
    size_t count = 0;

    for (int i = 0; i < 3; i++) {
        DL_APPEND(first, &elements[i]);
        DL_APPEND2(second, &elements[2 - i], left, right);
    }
    DL_DELETE2(second, &elements[1], left, right);
    DL_COUNT2(second, element, count, right);
    assert_int_equal(count, 2);
    assert_ptr_equal(second, &elements[2]);
    assert_ptr_equal(second->right, &elements[0]);
    DL_COUNT(first, element, count);
    assert_int_equal(count, 3);
    DL_DELETE2(second, &elements[0], left, right);
    DL_DELETE2(second, &elements[2], left, right);
    assert_null(second);
}
