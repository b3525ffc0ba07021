/* ballastctl keygen: a pair of keys, in two files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include "ctl/atomic_file.h"
#include "ctl/json_line.h"
#include "ctl/keys.h"

#define FILE_BYTES 256

struct key_pair {
    char public[WIRE_KEY_BYTES], secret[WIRE_KEY_BYTES];
    char *public_path, *secret_path;
};

static int write_key(const char *path, enum wire_key_kind kind, const char *key, struct error *err)
{
    char text[FILE_BYTES];
    bool secret = kind == WIRE_KEY_SECRET;
    int bytes = snprintf(text, sizeof text, "# %s\n%s %s\n",
                         secret ? "Keep this secret: who has it is taken for its owner."
                                : "The public half of a pair, for whoever is to know its owner.",
                         wire_key_word(kind), key);
    int code = atomic_file_create(path, text, (size_t)bytes, secret ? 0600 : 0644, err);
    explicit_bzero(text, sizeof text);
    return code;
}

/* Before anything is written, so that a pair is never half new. */
static int expect_neither(const struct key_pair *pair, struct error *err)
{
    const char *const paths[] = { pair->secret_path, pair->public_path };
    struct stat facts;
    for (size_t i = 0; i < 2; i++)
        if (lstat(paths[i], &facts) == 0)
            return error_set(err, EX_CANTCREAT,
                             "%s exists: a key is never overwritten; remove it, or choose another "
                             "--out",
                             paths[i]);
    return 0;
}

static int write_pair(const struct key_pair *pair, struct error *err)
{
    int code = expect_neither(pair, err);
    if (!code)
        code = write_key(pair->secret_path, WIRE_KEY_SECRET, pair->secret, err);
    if (code)
        return code;
    code = write_key(pair->public_path, WIRE_KEY_PUBLIC, pair->public, err);
    if (code)
        unlink(pair->secret_path);
    return code;
}

static int print(const struct arguments *arguments, const struct key_pair *pair, struct output *out,
                 struct error *err)
{
    if (argument_given(arguments, OPTION_JSON))
        return json_line(out,
                         json_pack("{so so ss}", "secret_key_file", json_bytes(pair->secret_path),
                                   "public_key_file", json_bytes(pair->public_path), "public_key",
                                   pair->public),
                         err);
    output_safe(out, pair->secret_path);
    output_print(out, " is the secret key, ");
    output_safe(out, pair->public_path);
    output_print(out, " the public one:\n%s\n", pair->public);
    return 0;
}

static int make(struct key_pair *pair, const char *prefix, struct error *err)
{
    if (asprintf(&pair->secret_path, "%s.key", prefix) < 0 ||
        asprintf(&pair->public_path, "%s.pub", prefix) < 0)
        return error_memory(err, "naming the files");
    if (zmq_curve_keypair(pair->public, pair->secret) != 0)
        return error_set(err, EX_OSERR, "ZeroMQ makes no key: %s", zmq_strerror(zmq_errno()));
    return 0;
}

int run_keygen(const struct arguments *arguments, struct output *out, struct error *err)
{
    struct key_pair pair = { .public_path = NULL };
    int code = keys_need_curve(err);
    if (!code)
        code = make(&pair, argument_text(arguments, OPTION_PREFIX, ""), err);
    if (!code)
        code = write_pair(&pair, err);
    if (!code)
        code = print(arguments, &pair, out, err);
    free(pair.public_path);
    free(pair.secret_path);
    explicit_bzero(&pair, sizeof pair);
    return code;
}
