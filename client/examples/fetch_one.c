/* The least that fetches a micro-batch: fetch_one ENDPOINTS prints the first of step 0. */
#include <ballast/ballast.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    ballast_options options = BALLAST_OPTIONS_INIT;
    options.endpoints = argc > 1 ? argv[1] : "tcp://127.0.0.1:5755";
    ballast_client *client;
    ballast_status status = ballast_open(&options, &client);
    if (status != BALLAST_OK) {
        fprintf(stderr, "fetch_one: %s: %s\n", options.endpoints, ballast_status_text(status));
        return 1;
    }
    ballast_batch *batch = NULL;
    status = ballast_get(client, 0, 0, 5000, &batch);
    if (status == BALLAST_OK)
        printf("%u tokens, the first is %d\n", ballast_batch_view(batch)->local_tokens,
               ballast_batch_view(batch)->tokens[0]);
    else
        fprintf(stderr, "fetch_one: %s\n", ballast_message(client));
    ballast_batch_free(batch);
    ballast_close(client);
    return status != BALLAST_OK;
}
