/*
 * A ledger of any bytes, as it stands and with its checksum put right. What is accepted must give
 * the same bytes again; what is refused must give one line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "plan/ledger.h"

#define SUM_BYTES (sizeof "sum " - 1 + 2 * DIGEST_BYTES + 1)

static void try(const uint8_t *bytes, size_t count)
{
    struct job_ledger ledger = { 0 };
    struct error err = { 0 };
    if (job_ledger_decode((const char *)bytes, count, &ledger, &err)) {
        if (err.code != EX_DATAERR || err.text[0] == '\0' || strpbrk(err.text, "\r\n\x1b"))
            abort();
        job_ledger_fini(&ledger);
        return;
    }
    char *again;
    size_t again_count;
    if (job_ledger_encode(&ledger, &again, &again_count, &err) || again_count != count ||
        memcmp(again, bytes, count) != 0)
        abort();
    if (job_ledger_before(&ledger, UINT64_MAX) > ledger.count)
        abort();
    free(again);
    job_ledger_fini(&ledger);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    char sum[DIGEST_TEXT_BYTES];
    try(bytes, count);
    if (count < SUM_BYTES)
        return 0;
    uint8_t *mended = malloc(count + 1);
    if (!mended)
        abort();
    size_t body = count - SUM_BYTES;
    memcpy(mended, bytes, body);
    struct digest digest = digest_chain((struct digest){ 0 }, bytes, body);
    snprintf((char *)mended + body, SUM_BYTES + 1, "sum %s\n", digest_text(digest, sum));
    try(mended, count);
    free(mended);
    return 0;
}
