#include "ctl/daemon.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "ctl/admin_client.h"
#include "ctl/json_line.h"
#include "ctl/keys.h"

#define DEFAULT_ENDPOINT "ipc:///run/ballast/admin.sock"
#define DEFAULT_TIMEOUT_MS 2000
#define WHERE_TIMEOUT_MS 10000 /* a search takes its time, and has a limit of its own */
#define SCREEN_MS 1000.0

/* One question: to whom, what, and who shows the answer. */
struct question {
    const struct arguments *arguments;
    const char *const *words;
    size_t count;
    show_answer *show;
};

/* Where the daemon is asked; the text is the caller's to free. */
static int find_endpoint(const struct arguments *arguments, char **ret_endpoint, struct error *err)
{
    const char *path = argument_text(arguments, OPTION_CONFIG, NULL);
    const char *given = argument_text(arguments, OPTION_ADMIN, NULL);
    char *endpoint = NULL;
    if (path && given && !command_accepts(arguments->command, OPTION_CONFIG)->required)
        return error_set(err, EX_USAGE, "--admin and --config exclude each other");
    if (path && !given) {
        struct config *config = NULL;
        int code = config_load(path, NULL, 0, &config, err);
        if (code)
            return code;
        endpoint = strdup(config->serve.admin);
        config_free(config);
    } else {
        endpoint = strdup(given ? given : DEFAULT_ENDPOINT);
    }
    if (!endpoint)
        return error_memory(err, "finding the admin socket");
    *ret_endpoint = endpoint;
    return 0;
}

int daemon_misfit(const json_error_t *why, struct error *err)
{
    return error_set(err, EX_SOFTWARE,
                     "the daemon's answer is not as expected (%s): is it of the same version?",
                     why->text);
}

static int print_answer(const struct arguments *arguments, const char *text, show_answer *show,
                        struct output *out, struct error *err)
{
    json_error_t why;
    json_t *answer = json_loads(text, 0, &why);
    if (!answer)
        return daemon_misfit(&why, err);
    if (argument_given(arguments, OPTION_JSON))
        return json_line(out, answer, err);
    int code = show(answer, out, err);
    json_decref(answer);
    return code ? code : output_flush(out, err);
}

static int ask_once(const struct question *question, struct admin_client *client,
                    struct output *out, struct error *err)
{
    const struct arguments *arguments = question->arguments;
    uint64_t usual_ms =
        arguments->command->run == run_where ? WHERE_TIMEOUT_MS : DEFAULT_TIMEOUT_MS;
    int timeout_ms = (int)argument_number(arguments, OPTION_TIMEOUT, usual_ms);
    char *text = NULL;
    int code = admin_ask(client, arguments->command->name, question->words, question->count,
                         timeout_ms, &text, err);
    if (code)
        return code;
    if (argument_given(arguments, OPTION_INTERVAL) && !argument_given(arguments, OPTION_JSON))
        output_clear_screen(out);
    code = print_answer(arguments, text, question->show, out, err);
    free(text);
    return code;
}

static int ask_repeatedly(const struct question *question, struct admin_client *client,
                          struct output *out, struct error *err)
{
    const struct arguments *arguments = question->arguments;
    bool again = argument_given(arguments, OPTION_INTERVAL);
    double interval_ms = arguments->values[OPTION_INTERVAL].seconds * SCREEN_MS;
    /* Blocks of text need a line between them where no screen is cleared. */
    bool spaced = !out->terminal && !argument_given(arguments, OPTION_JSON);
    for (;;) {
        int code = ask_once(question, client, out, err);
        if (code || !again)
            return code;
        if (!output_wait(out, interval_ms < 1e12 ? (uint64_t)interval_ms : UINT64_C(1000000000000)))
            return EX_IOERR;
        if (spaced)
            output_print(out, "\n");
    }
}

static int ask(const struct question *question, struct output *out, struct error *err)
{
    const struct arguments *arguments = question->arguments;
    uint64_t timeout_ms = argument_number(arguments, OPTION_TIMEOUT, DEFAULT_TIMEOUT_MS);
    if (timeout_ms > INT_MAX)
        return error_set(err, EX_USAGE, "--timeout: found %" PRIu64 ", expected at most %d",
                         timeout_ms, INT_MAX);
    char *endpoint = NULL;
    struct admin_client *client = NULL;
    struct keys keys = { .given = false };
    int code = find_endpoint(arguments, &endpoint, err);
    if (!code)
        code = keys_read(arguments, &keys, err);
    if (!code)
        code = admin_open(endpoint, &keys, &client, err);
    keys_wipe(&keys);
    if (!code)
        code = ask_repeatedly(question, client, out, err);
    admin_close(client);
    free(endpoint);
    return code;
}

int daemon_ask(const struct arguments *arguments, show_answer *show, struct output *out,
               struct error *err)
{
    struct question question = { arguments, (const char *const *)arguments->operands,
                                 (size_t)arguments->operand_count, show };
    return ask(&question, out, err);
}

int daemon_tell(const struct arguments *arguments, const char *const *words, size_t count,
                show_answer *show, struct output *out, struct error *err)
{
    struct question question = { arguments, words, count, show };
    return ask(&question, out, err);
}
