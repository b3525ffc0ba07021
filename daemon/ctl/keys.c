#include "ctl/keys.h"

#include <string.h>
#include <zmq.h>

int keys_need_curve(struct error *err)
{
    return zmq_has("curve") ? 0
                            : error_set(err, EX_CONFIG,
                                        "this machine's libzmq has no CURVE: install one that was "
                                        "built with libsodium");
}

static int read_file(const struct arguments *arguments, enum option_id option,
                     enum wire_key_kind kind, char ret_key[WIRE_KEY_BYTES], struct error *err)
{
    char why[WIRE_KEY_WHY_BYTES];
    int code =
        wire_key_file_read(argument_text(arguments, option, ""), kind, ret_key, why, sizeof why);
    return code ? error_set(err, code, "--%s: %s", option_specs[option].name, why) : 0;
}

int keys_read(const struct arguments *arguments, struct keys *ret_keys, struct error *err)
{
    struct keys keys = { .given = argument_given(arguments, OPTION_KEY) };
    if (keys.given != argument_given(arguments, OPTION_SERVER_KEY))
        return error_set(err, EX_USAGE,
                         "--key and --server-key go together: the daemon's public key is in the "
                         ".pub file of its pair");
    int code = keys.given ? keys_need_curve(err) : 0;
    if (!code && keys.given)
        code = read_file(arguments, OPTION_SERVER_KEY, WIRE_KEY_PUBLIC, keys.server, err);
    if (!code && keys.given)
        code = read_file(arguments, OPTION_KEY, WIRE_KEY_SECRET, keys.secret, err);
    if (!code && keys.given && zmq_curve_public(keys.public, keys.secret) != 0)
        code = error_set(err, EX_CONFIG, "--key: ZeroMQ does not take it: %s",
                         zmq_strerror(zmq_errno()));
    if (!code)
        *ret_keys = keys;
    keys_wipe(&keys);
    return code;
}

void keys_wipe(struct keys *keys)
{
    explicit_bzero(keys, sizeof *keys);
}

bool keys_set(const struct keys *keys, void *socket)
{
    return zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, keys->server, WIRE_KEY_BYTES) == 0 &&
           zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, keys->public, WIRE_KEY_BYTES) == 0 &&
           zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, keys->secret, WIRE_KEY_BYTES) == 0;
}
