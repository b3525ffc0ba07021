#include <criterion/criterion.h>
#include <string.h>

#include "wire/status.h"

Test(status, names_and_texts_are_those_of_the_table)
{
    cr_expect_str_eq(wire_status_name(WIRE_OK), "OK");
    cr_expect_str_eq(wire_status_name(WIRE_UNKNOWN_COMMAND), "UNKNOWN_COMMAND");
    cr_expect_str_eq(wire_status_text(WIRE_DRAINING), "the daemon is shutting down, ask another");
}

Test(status, a_row_of_the_table_is_never_empty)
{
    for (uint32_t status = WIRE_OK; status <= WIRE_DENIED; status++) {
        cr_expect(wire_status_name(status)[0] && wire_status_text(status)[0], "%u", status);
        cr_expect_str_neq(wire_status_name(status), "UNKNOWN");
    }
}

Test(status, only_what_time_or_another_daemon_mends_is_retryable)
{
    static const enum wire_status retryable[] = { WIRE_TIMEOUT, WIRE_BUSY, WIRE_DRAINING,
                                                  WIRE_IO_ERROR };
    size_t found = 0;
    for (uint32_t status = 0; status < 100; status++)
        found += wire_status_retryable(status);
    cr_expect_eq(found, sizeof retryable / sizeof *retryable);
    for (size_t i = 0; i < sizeof retryable / sizeof *retryable; i++)
        cr_expect(wire_status_retryable(retryable[i]));
}

Test(status, one_of_a_later_version_is_an_error_that_is_not_retried)
{
    static const uint32_t later[] = { WIRE_WRONG_LAYOUT + 1, 77, UINT32_MAX };
    for (size_t i = 0; i < sizeof later / sizeof *later; i++) {
        cr_expect_str_eq(wire_status_name(later[i]), "UNKNOWN");
        cr_expect_not(wire_status_retryable(later[i]));
        cr_expect_gt(strlen(wire_status_text(later[i])), 0);
    }
}
