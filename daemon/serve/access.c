#include "serve/access.h"

#include <stdio.h>
#include <string.h>
#include <zmq.h>

static int read_key(const char *path, char ret_key[WIRE_KEY_BYTES], struct error *err)
{
    char why[WIRE_KEY_WHY_BYTES], public_key[WIRE_KEY_BYTES];
    int status = wire_key_file_read(path, WIRE_KEY_SECRET, ret_key, why, sizeof why);
    if (status)
        return error_set(err, status, "access.curve_secret_key: %s", why);
    if (zmq_curve_public(public_key, ret_key) != 0)
        return error_set(err, EX_CONFIG,
                         "access.curve_secret_key: %s: ZeroMQ does not take the key: %s; make "
                         "another by ballastctl keygen",
                         path, zmq_strerror(zmq_errno()));
    return 0;
}

int access_open(const struct access_options *options, struct access *ret_access, struct error *err)
{
    struct access access = { .list_path = options->clients };
    if (!options->curve_secret_key) {
        *ret_access = access;
        return 0;
    }
    if (!zmq_has("curve"))
        return error_set(err, EX_CONFIG,
                         "access.curve_secret_key: this machine's libzmq has no CURVE: install one "
                         "that was built with libsodium, or remove the key");
    access.secured = true;
    int status = read_key(options->curve_secret_key, access.secret_key, err);
    if (!status && allow_list_load(options->clients, &access.list, err))
        status = error_prefix(err, "access.clients");
    if (status)
        access_close(&access);
    else
        *ret_access = access;
    return status;
}

void access_close(struct access *access)
{
    allow_list_fini(&access->list);
    explicit_bzero(access, sizeof *access);
}

int access_reload(struct access *access, struct error *err)
{
    struct allow_list list;
    int status = allow_list_load(access->list_path, &list, err);
    if (status)
        return status;
    allow_list_fini(&access->list);
    access->list = list;
    return 0;
}

void access_count(struct access *access, enum access_denial denial, const char *who)
{
    access->denied[denial]++;
    snprintf(access->latest, sizeof access->latest, "%s", who);
}

const struct allowed_client *access_admit(struct access *access, const char *key, int64_t now)
{
    const struct allowed_client *client = allow_list_find(&access->list, key);
    if (!client) {
        access_count(access, DENIED_UNKNOWN_KEY, key);
        return NULL;
    }
    if (now > client->last_second) {
        access_count(access, DENIED_EXPIRED, client->name);
        return NULL;
    }
    return client;
}

bool access_permits(struct access *access, bool curve, const char *key, unsigned roles,
                    const char **ret_name)
{
    if (!curve) {
        *ret_name = "";
        return true;
    }
    const struct allowed_client *client = key ? allow_list_find(&access->list, key) : NULL;
    if (!client) {
        access_count(access, DENIED_REMOVED, key ? key : "");
        return false;
    }
    if (!(client->role & roles)) {
        access_count(access, DENIED_ROLE, client->name);
        return false;
    }
    *ret_name = client->name;
    return true;
}

const char *access_denial_name(enum access_denial denial)
{
    static const char *const names[ACCESS_DENIALS] = {
        [DENIED_UNKNOWN_KEY] = "denied_unknown_key", [DENIED_EXPIRED] = "denied_expired",
        [DENIED_PLAINTEXT] = "denied_plaintext",     [DENIED_HANDSHAKE] = "denied_handshake",
        [DENIED_UNDECIDABLE] = "denied_undecidable", [DENIED_ROLE] = "denied_role",
        [DENIED_REMOVED] = "denied_removed_key",
    };
    return names[denial];
}

uint64_t access_news(struct access *access)
{
    uint64_t all = 0;
    for (int i = 0; i < ACCESS_DENIALS; i++)
        all += access->denied[i];
    uint64_t news = all - access->told;
    access->told = all;
    return news;
}
