#include <criterion/criterion.h>
#include <stdlib.h>

#include "plan/foresight.h"
#include "support/length_job.h"

static const struct stream_options options = { .seed = 5, .context_window = 100 };

struct scene {
    struct length_job job;
    struct stream *stream; /* the first one */
    struct foresight foresight;
};

static struct scene open_scene(const uint32_t *lengths, size_t count, uint32_t epochs)
{
    struct length_source source = { "s", 1, epochs, lengths, count };
    struct scene scene = { .job = length_job_open("context_window: 100", &source, 1) };
    struct error err = { 0 };
    cr_assert_eq(stream_new(scene.job.corpus, &options, &scene.stream, &err), 0, "%s", err.text);
    cr_assert_eq(foresight_open(&scene.foresight, scene.job.corpus, &options, &err), 0);
    return scene;
}

static void close_scene(struct scene *scene)
{
    foresight_close(&scene->foresight);
    stream_free(scene->stream);
    length_job_close(&scene->job);
}

static bool hand_out(struct scene *scene, struct piece *ret_piece)
{
    if (!stream_next(scene->stream, ret_piece))
        return false;
    foresight_pass(&scene->foresight);
    return true;
}

/* What is foreseen is what a stream hands out that starts where the first one stands. */
static void expect_foreseen(struct scene *scene, uint64_t least_tokens)
{
    struct stream *stream;
    struct piece piece;
    uint64_t tokens = 0;
    cr_assert_eq(stream_new(scene->job.corpus, &options, &stream, NULL), 0);
    stream_seek(stream, stream_cursors(scene->stream));
    for (size_t i = 0; i < scene->foresight.count; i++) {
        cr_assert(stream_next(stream, &piece));
        cr_assert_eq(foresight_lengths(&scene->foresight)[i], piece.length, "length %zu", i);
        tokens += piece.length;
    }
    cr_assert_eq(scene->foresight.tokens, tokens);
    if (tokens < least_tokens)
        cr_assert_not(stream_next(stream, &piece), "only the end of data may stop it");
    stream_free(stream);
}

Test(foresight, sees_what_the_stream_hands_out_next)
{
    uint32_t lengths[] = { 10, 250, 30, 40, 50 }; /* 250 comes in three pieces */
    struct scene scene = open_scene(lengths, 5, 0);
    struct piece piece;
    cr_assert_eq(foresight_reach(&scene.foresight, 90, NULL), 0);
    cr_assert_geq(scene.foresight.tokens, 90);
    cr_assert_lt(scene.foresight.tokens, 190, "no further than it has to");
    expect_foreseen(&scene, 90);
    for (int i = 0; i < 200; i++) {
        cr_assert(hand_out(&scene, &piece));
        if (i % 3 == 0) {
            cr_assert_eq(foresight_reach(&scene.foresight, 300, NULL), 0);
            expect_foreseen(&scene, 300);
        }
    }
    cr_assert_leq(scene.foresight.capacity, 64, "what has passed makes room");
    close_scene(&scene);
}

/* With nothing foreseen the scout steps along, so that it is never behind. */
Test(foresight, keeps_up_when_nothing_is_foreseen)
{
    uint32_t lengths[] = { 11, 22, 33, 44, 55, 66 };
    struct scene scene = open_scene(lengths, 6, 0);
    struct piece piece;
    for (int i = 0; i < 10; i++)
        cr_assert(hand_out(&scene, &piece));
    cr_assert_eq(scene.foresight.count, 0);
    cr_assert_eq(foresight_reach(&scene.foresight, 500, NULL), 0);
    expect_foreseen(&scene, 500);
    close_scene(&scene);
}

Test(foresight, reaching_what_is_known_reads_no_further)
{
    uint32_t lengths[] = { 20 };
    struct scene scene = open_scene(lengths, 1, 0);
    cr_assert_eq(foresight_reach(&scene.foresight, 100, NULL), 0);
    cr_assert_eq(scene.foresight.count, 5);
    cr_assert_eq(foresight_reach(&scene.foresight, 60, NULL), 0);
    cr_assert_eq(foresight_reach(&scene.foresight, 0, NULL), 0);
    cr_assert_eq(scene.foresight.count, 5);
    close_scene(&scene);
}

/* From the cursors alone: what had been foreseen before does not show. */
Test(foresight, seek_starts_from_the_cursors)
{
    uint32_t lengths[] = { 10, 250, 30, 40, 50, 7 };
    struct scene scene = open_scene(lengths, 6, 0);
    struct piece piece;
    struct source_cursor early = *stream_cursors(scene.stream);
    for (int i = 0; i < 5; i++)
        cr_assert(hand_out(&scene, &piece));
    struct source_cursor later = *stream_cursors(scene.stream);
    cr_assert_eq(foresight_reach(&scene.foresight, 400, NULL), 0);

    const struct source_cursor *places[] = { &early, &later };
    for (int p = 0; p < 2; p++) {
        stream_seek(scene.stream, places[p]);
        foresight_seek(&scene.foresight, places[p]);
        cr_assert_eq(scene.foresight.count, 0);
        cr_assert_eq(foresight_reach(&scene.foresight, 400, NULL), 0);
        expect_foreseen(&scene, 400);
        cr_assert(hand_out(&scene, &piece));
        expect_foreseen(&scene, 0);
    }
    close_scene(&scene);
}

Test(foresight, ends_with_the_data)
{
    uint32_t lengths[] = { 10, 20, 30 };
    struct scene scene = open_scene(lengths, 3, 1);
    struct piece piece;
    cr_assert_eq(foresight_reach(&scene.foresight, 1000, NULL), 0);
    cr_assert_eq(scene.foresight.count, 3);
    cr_assert_eq(scene.foresight.tokens, 60);
    for (size_t left = 3; left > 0; left--) {
        expect_foreseen(&scene, 1000);
        cr_assert(hand_out(&scene, &piece));
        cr_assert_eq(scene.foresight.count, left - 1);
        cr_assert_eq(foresight_reach(&scene.foresight, 1000, NULL), 0);
    }
    cr_assert_not(hand_out(&scene, &piece));
    cr_assert_eq(scene.foresight.tokens, 0);
    close_scene(&scene);
}
