#include "change.h"

#include "ask.h"

uint64_t change_next_step(ballast_client *client)
{
    uint32_t run = window_run(&client->window);
    uint64_t last = run ? window_at(&client->window, run - 1)->question.step : 0;
    return run && last >= client->next_step ? last + 1 : client->next_step;
}

static void give_up_ready(ballast_client *client, struct request *request)
{
    if (request->state == REQUEST_READY)
        ask_anew(client, request);
}

/*
 * What lies behind a batch that is missing was had from another connection, and not told of. A
 * change in front of it, but behind the missing one, would come without a sign.
 */
void change_hello_sent(ballast_client *client)
{
    for (uint32_t i = window_run(&client->window); i < client->window.count; i++)
        give_up_ready(client, window_at(&client->window, i));
    give_up_ready(client, &client->single);
}
