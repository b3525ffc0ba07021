/* What a person is told of two jobs. */
#include <criterion/criterion.h>
#include <string.h>

#include "state/job_file.h"

#define JOB                                                                                        \
    "generation=1\nseed=1\nsource web format=megatron weight=0.5 epochs=0\n"                       \
    "parallel dp=4 cp=2 microbatches=4\ncost crossover_tokens=24576\n"                             \
    "corpus web shards=3 documents=10 tokens=100 fingerprint=aa\n"

static void expect(const char *old_job, const char *new_job, const char *text)
{
    char found[512];
    cr_expect_str_eq(job_difference(old_job, new_job, found, sizeof found), text);
}

Test(job_file, names_what_differs)
{
    expect(JOB, JOB, "");
    expect("seed=1\n", "seed=2\n", "seed=1 -> seed=2");
    expect(JOB,
           "generation=1\nseed=1\nsource web format=megatron weight=0.25 epochs=0\n"
           "parallel dp=8 cp=2 microbatches=2\ncost crossover_tokens=24576\n"
           "corpus web shards=3 documents=10 tokens=100 fingerprint=ab\n",
           "source web: weight=0.5 -> weight=0.25; parallel: dp=4 -> dp=8; "
           "parallel: microbatches=4 -> microbatches=2; corpus web: fingerprint differs");
    expect("source a x=1\n", "source b x=1\n", "source a is gone; source b is new");
    expect("cost crossover_tokens=1\n", "cost layers=2\n", "cost: crossover_tokens=1 -> none");
    expect("", "seed=1\n", "seed is new");
    expect("seed=1", "", "seed is gone");
}

Test(job_file, a_long_difference_is_cut_between_two)
{
    char text[48];
    const char *was = "seed=1\nvocab_size=1\ncontext_window=1\n",
               *now = "seed=2\nvocab_size=2\ncontext_window=2\n";
    cr_expect_str_eq(job_difference(was, now, text, sizeof text), "seed=1 -> seed=2; ...");
    for (size_t room = 0; room < sizeof text; room++) {
        memset(text, '#', sizeof text);
        job_difference(was, now, text, room);
        cr_expect_eq(text[room], '#');
        cr_expect(room == 0 || memchr(text, 0, room));
    }
}

Test(job_file, says_what_is_the_same)
{
    static const char was[] = "generation=1\nseed=1\ncorpus a shards=1 fingerprint=x\n"
                              "corpus b shards=1 fingerprint=y\n";
    static const char now[] = "generation=1\nseed=1\ncorpus a shards=1 fingerprint=x\n"
                              "corpus b shards=2 fingerprint=z\nledger entries=3\n";
    cr_assert(job_same_configuration(was, now));
    cr_assert_not(job_same_configuration(was, "generation=1\nseed=2\n"));
    cr_assert_not(job_same_configuration(was, "generation=1\n"));
    cr_assert(job_same_source(was, now, "a"));
    cr_assert_not(job_same_source(was, now, "b"));
    cr_assert_not(job_same_source(was, now, "c"));
}
