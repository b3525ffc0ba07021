#include <criterion/criterion.h>
#include <stdlib.h>

#include "ctl/table.h"

struct page {
    char *text;
    size_t bytes;
    struct output out;
};

static struct page page_open(void)
{
    struct page page = { 0 };
    return page;
}

static void page_start(struct page *page)
{
    page->out = (struct output){ .stream = open_memstream(&page->text, &page->bytes) };
    cr_assert_not_null(page->out.stream);
}

static void page_expect(struct page *page, const char *expected)
{
    cr_assert_eq(output_flush(&page->out, NULL), 0);
    cr_assert_str_eq(page->text, expected);
    fclose(page->out.stream);
    free(page->text);
}

static const struct column columns[] = { { "name", ALIGN_LEFT, 0 },
                                         { "tokens", ALIGN_RIGHT, 8 },
                                         { "note", ALIGN_LEFT, 0 } };

Test(table, columns_are_aligned_and_lines_have_no_trailing_blanks)
{
    struct page page = page_open();
    page_start(&page);
    struct table *table = table_new(columns, 3);
    table_cell(table, "%s", "prose");
    table_cell(table, "%d", 5000814);
    table_cell(table, "fine");
    table_cell(table, "c");
    table_cell(table, "7");
    table_cell(table, "%s", "");
    struct error err = { 0 };
    cr_assert_eq(table_print(table, &page.out, &err), 0);
    table_free(table);
    page_expect(&page, "name     tokens  note\n"
                       "prose   5000814  fine\n"
                       "c             7\n");
}

Test(table, rows_can_be_printed_as_they_come)
{
    struct page page = page_open();
    page_start(&page);
    struct table *table = table_new(columns, 3);
    for (int i = 0; i < 2; i++) {
        table_cell(table, "r%d", i);
        table_cell(table, "%d", i);
        table_cell(table, "n");
        cr_assert_eq(table_print(table, &page.out, NULL), 0);
    }
    table_free(table);
    page_expect(&page, "name    tokens  note\n"
                       "r0           0  n\n"
                       "r1           1  n\n");
}

Test(table, width_counts_characters_and_control_bytes_never_reach_the_terminal)
{
    static const struct column plain[] = { { NULL, ALIGN_LEFT, 0 }, { NULL, ALIGN_LEFT, 0 } };
    struct page page = page_open();
    page_start(&page);
    struct table *table = table_new(plain, 2);
    table_cell(table, "na\xc3\xafve");
    table_cell(table, "1");
    table_cell(table, "a\x1b[2J\n");
    table_cell(table, "2");
    cr_assert_eq(table_print(table, &page.out, NULL), 0);
    table_free(table);
    page_expect(&page, "na\xc3\xafve   1\n"
                       "a?[2J?  2\n");
}

Test(table, nothing_is_coloured_where_colour_is_off)
{
    static const struct column one[] = { { NULL, ALIGN_LEFT, 0 } };
    struct page page = page_open();
    page_start(&page);
    struct table *table = table_new(one, 1);
    table_styled(table, STYLE_BAD, "bad");
    cr_assert_eq(table_print(table, &page.out, NULL), 0);
    page_expect(&page, "bad\n");

    page_start(&page);
    page.out.colour = true;
    table_styled(table, STYLE_BAD, "bad");
    cr_assert_eq(table_print(table, &page.out, NULL), 0);
    table_free(table);
    page_expect(&page, "\033[31mbad\033[0m\n");
}

Test(table, missing_memory_is_an_error)
{
    struct page page = page_open();
    page_start(&page);
    struct error err = { 0 };
    table_cell(NULL, "x");
    cr_assert_eq(table_print(NULL, &page.out, &err), EX_OSERR);
    table_free(NULL);
    page_expect(&page, "");
}

Test(output, a_full_disk_is_found)
{
    FILE *full = fopen("/dev/full", "w");
    cr_assert_not_null(full);
    struct output out = { .stream = full };
    struct error err = { 0 };
    output_print(&out, "lost\n");
    cr_assert_eq(output_flush(&out, &err), EX_IOERR);
    cr_assert_str_eq(err.text, "cannot write the output: No space left on device");
    output_print(&out, "lost, too\n");
    fclose(full);
}
