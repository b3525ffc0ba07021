/* A program that has nothing of Ballast but what was installed. */
#include <ballast/ballast.h>
#include <stdio.h>
#include <string.h>

/* Names that the library uses inside: it must not get in the way of ours, nor we in its. */
int wire_decode(void);
int session_open(void);

int wire_decode(void)
{
    return 1;
}

int session_open(void)
{
    return 2;
}

int main(void)
{
    ballast_options options = BALLAST_OPTIONS_INIT;
    options.endpoints = "tcp://127.0.0.1:1";
    ballast_client *client;
    ballast_batch *batch;
    ballast_status status = ballast_open(&options, &client);
    if (status != BALLAST_OK) {
        fprintf(stderr, "ballast_open: %s\n", ballast_status_text(status));
        return 1;
    }
    status = ballast_next(client, 0, &batch);
    ballast_close(client);
    if (status != BALLAST_TIMEOUT || wire_decode() + session_open() != 3) {
        fprintf(stderr, "ballast_next: %s\n", ballast_status_text(status));
        return 1;
    }
    puts(ballast_version());
    return 0;
}
