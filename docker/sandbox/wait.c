/*
 * wait: lets a container be created and started ahead of its command.
 *
 * Reads one line from stdin: `<length>`, or `<length> <token> <folder> ...`; then exactly that many bytes, which are the
 * script. It never reads further: the rest of stdin belongs to the script. So everything is read unbuffered.
 *
 * Without folders it becomes `sh -c <script>`. With folders it starts that shell, passes signals on to it, and waits. When
 * the shell has ended, it kills all other processes of the container, measures how deep the folders are, writes
 * `\006<token> <levels>\n` to stderr, and ends as the shell did. It writes nothing if a depth is unknown (see depth.h).
 * Nothing in the container can imitate that line: only this process knows the token, and others cannot read its memory.
 *
 * Exit 125: stdin ended, or made no sense, before there was a script. 126: the script could not be started.
 */
#define _GNU_SOURCE
#include "depth.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
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

#define MAX_LINE 4096

/* Reads up to the newline, which is left out. 0 when stdin ended before, -1 when the line is too long. */
static int read_line(char *line) {
  for (int length = 0; length < MAX_LINE; length++) {
    if (!read_exactly(line + length, 1)) return 0;
    if (line[length] == '\n') {
      line[length] = '\0';
      return 1;
    }
  }
  return -1;
}

/* The length in digits, -1 when it is not a valid length. */
static long parse_length(const char *text) {
  long length = 0;
  if (*text == '\0') return -1;
  for (; *text != '\0'; text++) {
    if (*text < '0' || *text > '9') return -1;
    length = length * 10 + (*text - '0');
    if (length > MAX_SCRIPT) return -1;
  }
  return length;
}

static int become_shell(char *script) {
  char *argv[] = {"sh", "-c", script, NULL};
  execv("/bin/sh", argv);
  return fail(126, strerror(errno));
}

static pid_t shell;

static void pass_on(int signal) { kill(shell, signal); }

/* Waits for the end of the shell, and reaps other processes whose parents have ended. */
static int await_shell(void) {
  int status = 0;
  pid_t ended;
  do ended = waitpid(-1, &status, 0);
  while (ended != shell && (ended > 0 || errno == EINTR));
  return status;
}

static void end_others(void) {
  kill(-1, SIGKILL);
  while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
    ;
}

/* Runs the script, then measures the folders, separated by spaces. As root it would kill more than the container's own. */
static int run_and_measure(char *script, const char *token, char *folders) {
  if (getuid() == 0) return fail(125, "root must not ask for a depth");
  prctl(PR_SET_DUMPABLE, 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  shell = fork();
  if (shell < 0) return fail(126, strerror(errno));
  if (shell == 0) _exit(become_shell(script));
  int passed_on[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
  for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++) signal(passed_on[i], pass_on);
  int status = await_shell();
  end_others();
  int deepest = 0;
  for (char *folder = strtok(folders, " "); folder != NULL && deepest >= 0; folder = strtok(NULL, " ")) {
    int levels = depth_below(folder);
    if (levels < 0 || levels > deepest) deepest = levels;
  }
  if (deepest >= 0) dprintf(STDERR_FILENO, "\006%s %d\n", token, deepest);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int main(void) {
  static char line[MAX_LINE];
  static char script[MAX_SCRIPT + 1];
  int read = read_line(line);
  if (read == 0) return 125;
  char *rest = line;
  long length = read < 0 ? -1 : parse_length(strsep(&rest, " "));
  char *token = strsep(&rest, " ");
  if (length < 0 || (token != NULL && rest == NULL))
    return fail(125, "stdin does not start with the length of a script (at most 131071 bytes)");
  if (!read_exactly(script, (size_t)length)) return 125;
  if (memchr(script, '\0', (size_t)length)) return fail(125, "the script holds a NUL byte");
  return token == NULL ? become_shell(script) : run_and_measure(script, token, rest);
}
