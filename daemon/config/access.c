#include "config/access.h"

#include <stdlib.h>
#include <string.h>

#include "config/beside.h"

static int place(const struct document *document, char **path, struct error *err)
{
    if (!*path)
        return 0;
    char *placed = path_beside(document->name, *path);
    if (!placed)
        return error_memory(err, "reading the configuration");
    free(*path);
    *path = placed;
    return 0;
}

int config_place_access(const struct document *document, struct config *config, struct error *err)
{
    int status = place(document, &config->access.curve_secret_key, err);
    return status ? status : place(document, &config->access.clients, err);
}

static int check_files(const struct document *document, const struct access_options *access,
                       struct error *err)
{
    if (access->curve_secret_key && !access->clients)
        return document_complain(document, "access", err,
                                 "found curve_secret_key without clients, expected both: write for "
                                 "example clients: clients.txt, a file that lists who may connect");
    if (access->clients && !access->curve_secret_key)
        return document_complain(document, "access", err,
                                 "found clients without curve_secret_key, expected both: "
                                 "'ballastctl keygen --out server' makes server.key; then write "
                                 "curve_secret_key: server.key");
    if (access->max_clients_per_key && !access->curve_secret_key)
        return document_complain(document, "access.max_clients_per_key", err,
                                 "found without curve_secret_key: clients have no keys here; give "
                                 "curve_secret_key and clients, or remove it");
    if (access->curve_secret_key && access->allow_plaintext)
        return document_complain(document, "access.allow_plaintext", err,
                                 "found true together with curve_secret_key: with a key nothing is "
                                 "plain; remove one of the two");
    return 0;
}

/* Can only this machine reach it? A name may stand for any address, so only numbers count. */
static bool is_local(const char *endpoint)
{
    const char *host = strstr(endpoint, "://");
    if (!host || strncmp(endpoint, "tcp:", 4) != 0)
        return true;
    host += strlen("://");
    size_t bytes = (size_t)(strrchr(host, ':') - host);
    if (bytes == 5 && memcmp(host, "[::1]", 5) == 0)
        return true;
    return bytes > 4 && memcmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") == bytes;
}

static int check_reach(const struct document *document, const char *path, const char *endpoint,
                       struct error *err)
{
    char quoted[80];
    if (is_local(endpoint))
        return 0;
    return document_complain(document, path, err,
                             "found %s, which other machines can reach, without CURVE, expected "
                             "access: { curve_secret_key: FILE, clients: FILE } (see ballastctl "
                             "keygen), or access: { allow_plaintext: true } where nobody but the "
                             "job can reach it",
                             document_quote(endpoint, quoted, sizeof quoted));
}

int check_access(const struct document *document, const struct config *config, struct error *err)
{
    int status = check_files(document, &config->access, err);
    if (status || config->access.curve_secret_key || config->access.allow_plaintext)
        return status;
    status = check_reach(document, "serve.endpoint", config->serve.endpoint, err);
    return status ? status : check_reach(document, "serve.admin", config->serve.admin, err);
}
