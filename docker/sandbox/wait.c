/*
 * wait: lets a container be created and started ahead of its command.
 *
 * Reads from stdin a decimal length, a newline and exactly that many bytes, then becomes `sh -c <those bytes>`.
 * It never reads further: the rest of stdin belongs to the script. So everything is read unbuffered.
 * Exit 125: stdin ended, or made no sense, before there was a script. 126: the script could not be started.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Linux refuses a longer single argument. */
#define MAX_SCRIPT (128 * 1024 - 1)

static int fail(int code, const char *what) {
  dprintf(STDERR_FILENO, "wait: %s\n", what);
  return code;
}

/* 1 when all bytes came, 0 when stdin ended before. */
static int read_exactly(char *to, size_t length) {
  size_t have = 0;
  while (have < length) {
    ssize_t n = read(STDIN_FILENO, to + have, length - have);
    if (n > 0) have += (size_t)n;
    else if (n == 0 || errno != EINTR) return 0;
  }
  return 1;
}

/* The length, -1 when stdin ended, -2 when it is not a valid length. */
static long read_length(void) {
  long length = 0;
  char c;
  for (int digits = 0;; digits++) {
    if (!read_exactly(&c, 1)) return -1;
    if (c == '\n') return digits > 0 ? length : -2;
    if (c < '0' || c > '9') return -2;
    length = length * 10 + (c - '0');
    if (length > MAX_SCRIPT) return -2;
  }
}

int main(void) {
  static char script[MAX_SCRIPT + 1];
  long length = read_length();
  if (length == -1) return 125;
  if (length < 0) return fail(125, "stdin does not start with the length of a script (at most 131071 bytes)");
  if (!read_exactly(script, (size_t)length)) return 125;
  if (memchr(script, '\0', (size_t)length)) return fail(125, "the script holds a NUL byte");
  char *argv[] = {"sh", "-c", script, NULL};
  execv("/bin/sh", argv);
  return fail(126, strerror(errno));
}
