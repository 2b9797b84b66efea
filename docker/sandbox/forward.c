/*
 * forward PORT SOCKET -- COMMAND [ARGUMENT...]
 *
 * Runs COMMAND while 127.0.0.1:PORT leads to the unix socket SOCKET. The port accepts before COMMAND starts.
 * Three processes with one duty each: this one only waits for COMMAND and forwards signals to it, so that exit codes
 * and signals are exact; a second one moves the bytes; the third is COMMAND.
 * Exits with COMMAND's code, 128 + signal when it was killed, 127 when it is missing, 126 when it cannot be run,
 * 125 when the arguments are wrong or the port is taken.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "listen.h"
#include "relay.h"

static void die(const char *what, const char *why) {
  dprintf(STDERR_FILENO, "forward: %s: %s\n", what, why);
  exit(125);
}

/* Neither helper may outlive this process, however it ends. */
static void die_with_parent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(125);
}

/* Only COMMAND may hold the streams, else its readers and writers would not notice that it closed them. */
static void let_go_of_streams(void) {
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd <= 2; fd++)
    if (null < 0 || dup2(null, fd) < 0) close(fd);
}

static pid_t start_relay(int listener, const char *socket_path) {
  pid_t parent = getpid();
  pid_t pid = fork();
  if (pid < 0) die("fork", strerror(errno));
  if (pid > 0) return pid;
  setsid(); /* a terminal's signals are for COMMAND */
  die_with_parent(parent);
  let_go_of_streams();
  relay(listener, socket_path);
}

static pid_t start_command(char **argv, const sigset_t *mask) {
  pid_t parent = getpid();
  pid_t pid = fork();
  if (pid < 0) die("fork", strerror(errno));
  if (pid > 0) return pid;
  die_with_parent(parent);
  sigprocmask(SIG_SETMASK, mask, NULL);
  execvp(argv[0], argv);
  int missing = errno == ENOENT || errno == ENOTDIR;
  dprintf(STDERR_FILENO, "forward: %s: %s\n", argv[0], strerror(errno));
  _exit(missing ? 127 : 126);
}

/* The status of `command` once it ended; until then every signal that comes is passed on. */
static int supervise(pid_t command, const sigset_t *signals) {
  for (;;) {
    int signal = sigwaitinfo(signals, NULL);
    if (signal < 0) continue;
    if (signal != SIGCHLD) {
      kill(command, signal);
      continue;
    }
    int status;
    pid_t ended;
    while ((ended = waitpid(-1, &status, WNOHANG)) > 0)
      if (ended == command) return status;
  }
}

int main(int argc, char **argv) {
  if (argc < 5 || strcmp(argv[3], "--") != 0) die("usage", "forward PORT SOCKET -- COMMAND [ARGUMENT...]");
  if (strlen(argv[2]) > RELAY_MAX_PATH) die(argv[2], "too long for the path of a socket");
  int listener = listen_on("forward", argv[1]);
  sigset_t signals, inherited;
  sigemptyset(&signals);
  const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD};
  for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++) sigaddset(&signals, passed_on[i]);
  sigprocmask(SIG_BLOCK, &signals, &inherited);
  /* An inherited "ignore" would reap COMMAND unseen. */
  signal(SIGCHLD, SIG_DFL);

  pid_t relay_pid = start_relay(listener, argv[2]);
  close(listener);
  pid_t command = start_command(argv + 4, &inherited);
  let_go_of_streams();
  int status = supervise(command, &signals);
  kill(relay_pid, SIGKILL);
  waitpid(relay_pid, NULL, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
