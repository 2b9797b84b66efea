/*
 * widen-pipe: lets the pipe at stdout hold 1 MiB, the most that Linux allows every user, instead of 64 KiB. The writer
 * can then continue while the reader is busy. A pipe that cannot be changed still works, so failures are ignored.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#define PIPE_BYTES (1024 * 1024)

int main(void) {
  fcntl(STDOUT_FILENO, F_SETPIPE_SZ, PIPE_BYTES);
  return 0;
}
