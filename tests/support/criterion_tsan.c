/*
 * Runs Criterion tests without libcriterion, whose inheritable arena and ThreadSanitizer want the
 * same addresses (Snaipe/Criterion#274). Tests are compiled against Criterion's headers as ever;
 * this file, linked into each of them, takes the place of its runner: one process a test, the
 * tests' section walked in order. Known: init, fini, disabled, parameters, skipping. Left to
 * ctest: time limits. The options that the command line gives are for libcriterion.
 */
#include <criterion/criterion.h>
#include <criterion/options.h>
#include <criterion/parameterized.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum outcome { PASSED, FAILED, SKIPPED };

/* Where Criterion's macros put their tests and suites; the linker names the borders. */
extern struct criterion_test *__start_cr_tst[], *__stop_cr_tst[];
extern struct criterion_suite *__start_cr_sts[] __attribute__((weak));
extern struct criterion_suite *__stop_cr_sts[] __attribute__((weak));

struct criterion_options criterion_options;

/* Of the one test that this process runs. */
static const struct criterion_test *test;
static const struct criterion_suite *suite;
static void *parameter;
static enum outcome outcome;
static jmp_buf phase_end; /* where an assertion that aborts continues */

static const struct criterion_suite *suite_of(const struct criterion_test *of)
{
    for (struct criterion_suite **at = __start_cr_sts; at < __stop_cr_sts; at++)
        if (strcmp((*at)->name, of->category) == 0)
            return *at;
    return NULL;
}

void criterion_internal_test_setup(void)
{
    if (setjmp(phase_end))
        return;
    if (suite && suite->data->init)
        suite->data->init();
    if (test->data->init)
        test->data->init();
}

void criterion_internal_test_main(void (*body)(void))
{
    if (outcome != PASSED || setjmp(phase_end)) /* what init left undone, the body would miss */
        return;
    if (test->data->kind_ == CR_TEST_PARAMETERIZED)
        ((void (*)(void *))body)(parameter);
    else
        body();
}

void criterion_internal_test_teardown(void)
{
    if (setjmp(phase_end))
        return;
    if (test->data->fini)
        test->data->fini();
    if (suite && suite->data->fini)
        suite->data->fini();
}

void criterion_send_assert(struct criterion_assert_stats *stats)
{
    if (stats->passed)
        return;
    outcome = FAILED;
    fprintf(stderr, "%s:%u: %s\n", stats->file, stats->line, stats->message);
}

void criterion_abort_test(void)
{
    longjmp(phase_end, 1);
}

void criterion_continue_test(void)
{
}

void cri_asserts_passed_incr(void)
{
}

void criterion_skip_test(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    outcome = SKIPPED;
    longjmp(phase_end, 1);
}

int cr_asprintf(char **text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vasprintf(text, format, args);
    va_end(args);
    return length;
}

void cr_asprintf_free(char *text)
{
    free(text);
}

/* The assertion's own text, as the program has it; enough beside file and line. */
char *cr_translate_assert_msg(int message, ...)
{
    (void)message;
    va_list args;
    va_start(args, message);
    const char *condition = va_arg(args, const char *);
    va_end(args);
    return strdup(condition);
}

/* Runs the test in a process of its own, so that no test sees what another left. */
static enum outcome run_alone(void)
{
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) {
        perror("fork");
        return FAILED;
    }
    if (child == 0) {
        test->test();
        exit(outcome);
    }
    int status;
    if (waitpid(child, &status, 0) != child)
        return FAILED;
    if (WIFEXITED(status) && (WEXITSTATUS(status) == PASSED || WEXITSTATUS(status) == SKIPPED))
        return (enum outcome)WEXITSTATUS(status);
    fprintf(stderr, "[FAIL] %s::%s: %s %d\n", test->category, test->name,
            WIFSIGNALED(status) ? "signal" : "status",
            WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    return FAILED;
}

/* Once, or once for each parameter; counts by outcome. */
static void run(unsigned counts[3])
{
    if (test->data->kind_ != CR_TEST_PARAMETERIZED) {
        counts[run_alone()]++;
        return;
    }
    struct criterion_test_params given = test->data->param_();
    for (size_t i = 0; i < given.length; i++) {
        parameter = (char *)given.params + i * given.size;
        counts[run_alone()]++;
    }
    if (given.cleanup)
        given.cleanup(&given);
}

int main(void)
{
    unsigned counts[3] = { 0 };
    for (struct criterion_test **at = __start_cr_tst; at < __stop_cr_tst; at++) {
        test = *at;
        suite = suite_of(test);
        if (test->data->disabled || (suite && suite->data->disabled))
            continue;
        run(counts);
    }
    printf("%u passed, %u failed, %u skipped\n", counts[PASSED], counts[FAILED], counts[SKIPPED]);
    return counts[FAILED] > 0 || counts[PASSED] + counts[SKIPPED] == 0;
}
