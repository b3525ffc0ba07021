/*
 * An input of fuzz_client_reply: sizes of the first three frames, then all four frames.
 *
 *   offset  size  field
 *        0     2  bytes of the header frame
 *        2     2  bytes of the pieces
 *        4     2  bytes of the chunks
 *        6        the frames; what is left is tokens
 */
#ifndef BALLAST_FUZZ_CLIENT_INPUT_H
#define BALLAST_FUZZ_CLIENT_INPUT_H

#define CLIENT_INPUT_SIZES 3
#define CLIENT_INPUT_PREFIX_BYTES 6

#endif
