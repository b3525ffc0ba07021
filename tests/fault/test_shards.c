/* Shards that turn out bad while they are served: the rank is told which, and the daemon lives. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fault/daemon_process.h"
#include "fault/peer.h"

static const struct question first = { 0, 0, 0, PEER_ALL_PARTS, PEER_PATIENCE_MS };

static void expect_failure(struct peer *peer, const struct question *question, uint32_t status)
{
    struct answer answer;
    peer_get(peer, question, &answer);
    cr_assert_eq(answer_status(&answer), status, "got %s: %s",
                 wire_status_name(answer_status(&answer)), answer.message.batch->message);
    cr_assert_not_null(strstr(answer.message.batch->message, "shard"), "%s",
                       answer.message.batch->message);
    answer_free(&answer);
}

static uint32_t status_of(struct peer *peer, uint64_t step, uint32_t share)
{
    struct question question = { step, share / DAEMON_CP, share % DAEMON_CP, PEER_ALL_PARTS,
                                 PEER_PATIENCE_MS };
    struct answer answer;
    peer_get(peer, &question, &answer);
    uint32_t status = answer_status(&answer);
    answer_free(&answer);
    return status;
}

Test(shards, an_id_over_the_vocabulary_is_bad_data)
{
    struct daemon_process ballastd;
    struct peer peer;
    char path[TEMP_PATH_BYTES];
    size_t bytes;
    daemon_prepare(&ballastd, "");
    unsigned char *tokens = file_read_all(temp_path(&ballastd.dir, "shard.bin", path), &bytes);
    memset(tokens, 0xff, bytes);
    file_write(path, tokens, bytes);
    free(tokens);
    ballastd.pid = daemon_spawn(&ballastd);
    peer_open(&peer, ballastd.endpoint);
    expect_failure(&peer, &first, WIRE_BAD_DATA);
    struct question without_tokens = { 0, 0, 0, 3, PEER_PATIENCE_MS };
    struct answer answer;
    peer_get(&peer, &without_tokens, &answer);
    cr_assert_eq(answer_status(&answer), WIRE_OK, "the plan needs no tokens");
    answer_free(&answer);
    peer_close(&peer);
    cr_assert_eq(daemon_close(&ballastd), 0);
}

Test(shards, a_shard_that_shrinks_is_an_input_error)
{
    struct daemon_process ballastd;
    struct peer peer;
    char path[TEMP_PATH_BYTES];
    daemon_start(&ballastd, "");
    peer_open(&peer, ballastd.endpoint);
    uint64_t early = peer_step_hash(&peer, 0, DAEMON_MICROBATCHES, DAEMON_CP);
    cr_assert_eq(truncate(temp_path(&ballastd.dir, "shard.bin", path), 2), 0);
    struct question far = { 500, 0, 0, PEER_ALL_PARTS, PEER_PATIENCE_MS };
    expect_failure(&peer, &far, WIRE_IO_ERROR);
    cr_assert_neq(early, 0);
    peer_close(&peer);
    cr_assert_eq(daemon_close(&ballastd), 0);
}

/* One bad document, which lies in one share of one step: every rank of that step is told. */
Test(shards, every_rank_of_a_bad_step_is_told_and_no_other_step_suffers)
{
    struct daemon_process ballastd;
    struct peer peer;
    char path[TEMP_PATH_BYTES];
    size_t bytes;
    daemon_prepare(&ballastd, "");
    unsigned char *tokens = file_read_all(temp_path(&ballastd.dir, "shard.bin", path), &bytes);
    unsigned char *middle = tokens + bytes / 4 * 2, good[2] = { middle[0], middle[1] };
    memset(middle, 0xff, sizeof good);
    file_write(path, tokens, bytes);
    ballastd.pid = daemon_spawn(&ballastd);
    peer_open(&peer, ballastd.endpoint);

    uint64_t bad_step = UINT64_MAX;
    for (uint64_t step = 0; bad_step == UINT64_MAX; step++)
        for (uint32_t share = 0; share < DAEMON_MICROBATCHES * DAEMON_CP; share++)
            if (status_of(&peer, step, share) == WIRE_BAD_DATA)
                bad_step = step;
    for (uint32_t share = 0; share < DAEMON_MICROBATCHES * DAEMON_CP; share++) {
        struct question question = { bad_step, share / DAEMON_CP, share % DAEMON_CP, PEER_ALL_PARTS,
                                     PEER_PATIENCE_MS };
        expect_failure(&peer, &question, WIRE_BAD_DATA);
        cr_assert_eq(status_of(&peer, bad_step + 1, share), WIRE_OK);
    }

    memcpy(middle, good, sizeof good);
    file_write(path, tokens, bytes);
    while (status_of(&peer, bad_step, 0) != WIRE_OK)
        ; /* the share that failed is read again */
    cr_assert_neq(peer_step_hash(&peer, bad_step, DAEMON_MICROBATCHES, DAEMON_CP), 0);
    free(tokens);
    peer_close(&peer);
    cr_assert_eq(daemon_close(&ballastd), 0);
}

/* `how` makes the index of a running daemon another one; then no step it must plan anew is served.
 */
static void expect_index_refused(void (*how)(const char *path))
{
    struct daemon_process ballastd;
    struct peer peer;
    char path[TEMP_PATH_BYTES];
    daemon_start(&ballastd, "");
    peer_open(&peer, ballastd.endpoint);
    cr_assert_neq(peer_step_hash(&peer, 0, DAEMON_MICROBATCHES, DAEMON_CP), 0);
    how(temp_path(&ballastd.dir, "shard.idx", path));
    struct question far = { 500, 0, 0, PEER_ALL_PARTS, PEER_PATIENCE_MS };
    expect_failure(&peer, &far, WIRE_IO_ERROR);
    expect_failure(&peer, &far, WIRE_IO_ERROR);
    peer_close(&peer);
    cr_assert_eq(daemon_close(&ballastd), 0);
}

static void cut_short(const char *path)
{
    cr_assert_eq(truncate(path, 40), 0);
}

/* Documents that hold nothing, for ever: not even the planner may wait for the next one. */
static void fill_with_zeros(const char *path)
{
    size_t bytes;
    free(file_read_all(path, &bytes));
    unsigned char *zeros = calloc(1, bytes);
    int fd = open(path, O_WRONLY);
    cr_assert(zeros && fd >= 0);
    cr_assert_eq(write(fd, zeros, bytes), (ssize_t)bytes);
    close(fd);
    free(zeros);
}

Test(shards, an_index_that_is_cut_short_is_an_input_error)
{
    expect_index_refused(cut_short);
}

Test(shards, an_index_that_is_overwritten_is_an_input_error)
{
    expect_index_refused(fill_with_zeros);
}
