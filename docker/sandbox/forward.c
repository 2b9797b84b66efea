/*
 * forward PORT SOCKET [PORT SOCKET...] -- COMMAND [ARGUMENT...]
 * forward --serve CHECK SIGNAL PORT SOCKET [PORT SOCKET...] -- COMMAND [ARGUMENT...]
 *
 * Runs COMMAND while each 127.0.0.1:PORT leads to the unix socket SOCKET. The ports accept before COMMAND starts.
 * With --serve, it is the other way around: each SOCKET leads to the port, on which COMMAND listens. The sockets accept,
 * and "ready" is printed on stdout, as soon as one of the ports accepts and the shell command CHECK exits 0, or if it is
 * empty, as soon as all ports accept. What COMMAND prints goes to stderr; so does how CHECK fails, if it changes, at most
 * once a second. At the end of stdin, COMMAND gets SIGNAL, a number.
 * Each process has one duty: this one only waits for COMMAND and forwards signals to it, so that exit codes and signals
 * are exact; others move the bytes; one is COMMAND.
 * Exits with COMMAND's code, 128 + signal when it was killed, 127 when it is missing, 126 when it cannot be run,
 * 125 when the arguments are wrong or a port is taken.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "listen.h"
#include "relay.h"

#define MAX_PAIRS 64
#define CHECK_EVERY_MS 50
/* Bytes of what a check prints, of which the log has the start. */
#define CHECK_OUTPUT 512

struct pair {
  const char *port, *socket;
};

static void die(const char *what, const char *why) {
  dprintf(STDERR_FILENO, "forward: %s: %s\n", what, why);
  exit(125);
}

/* No helper may outlive this process, however it ends. */
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

/* 0 in the new process, which ends with its parent. */
static pid_t fork_helper(void) {
  pid_t parent = getpid();
  pid_t pid = fork();
  if (pid < 0) die("fork", strerror(errno));
  if (pid == 0) die_with_parent(parent);
  return pid;
}

static pid_t start_relay(int listener, struct destination to) {
  pid_t pid = fork_helper();
  if (pid > 0) return pid;
  setsid(); /* a terminal's signals are for COMMAND */
  let_go_of_streams();
  relay(listener, &to);
}

static pid_t start_command(char **argv, const sigset_t *mask, int serves) {
  pid_t pid = fork_helper();
  if (pid > 0) return pid;
  sigprocmask(SIG_SETMASK, mask, NULL);
  if (serves) {
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) _exit(126);
  }
  execvp(argv[0], argv);
  int missing = errno == ENOENT || errno == ENOTDIR;
  dprintf(STDERR_FILENO, "forward: %s: %s\n", argv[0], strerror(errno));
  _exit(missing ? 127 : 126);
}

static int accepts(const char *port) {
  int fd = connect_to(&(struct destination){.port = port_of("forward", port)});
  if (fd >= 0) close(fd);
  return fd >= 0;
}

/* The start of what a shell command prints, until it ends. Returns its status. */
static int run_check(const char *check, const sigset_t *mask, char *said, size_t size) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC)) die("pipe", strerror(errno));
  pid_t pid = fork_helper();
  if (pid == 0) {
    sigprocmask(SIG_SETMASK, mask, NULL);
    let_go_of_streams();
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    execl("/bin/sh", "sh", "-c", check, (char *)NULL);
    _exit(127);
  }
  close(ends[1]);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  size_t kept = 0;
  int status = -1;
  /* What it leaves in the background may hold the pipe. */
  for (int ended = 0; !ended;) {
    poll(&(struct pollfd){.fd = ends[0], .events = POLLIN}, 1, CHECK_EVERY_MS);
    ended = waitpid(pid, &status, WNOHANG) == pid;
    char bytes[4096];
    ssize_t n;
    while ((n = read(ends[0], bytes, sizeof bytes)) > 0) {
      size_t fits = (size_t)n < size - 1 - kept ? (size_t)n : size - 1 - kept;
      memcpy(said + kept, bytes, fits);
      kept += fits;
      if (ended) break;
    }
    if (n == 0 && !ended) ended = waitpid(pid, &status, 0) == pid;
  }
  close(ends[0]);
  while (kept > 0 && said[kept - 1] == '\n') kept--;
  said[kept] = 0;
  return status;
}

/* Whether the shell command exits 0. If not, the log says how it ends and what it prints, whenever that changes. */
static int succeeds(const char *check, const sigset_t *mask) {
  static char before[CHECK_OUTPUT];
  static int status_before = 0;
  static time_t reported = 0;
  char said[CHECK_OUTPUT];
  int status = run_check(check, mask, said, sizeof said);
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  int is_news = status != status_before || strcmp(said, before);
  if (status == 0 || !is_news || now.tv_sec == reported) return status == 0;
  int is_killed = WIFSIGNALED(status);
  int code = is_killed ? WTERMSIG(status) : WEXITSTATUS(status);
  dprintf(STDERR_FILENO, "the ready check %s %d%s%s\n", is_killed ? "got signal" : "exited", code, *said ? ": " : "", said);
  strcpy(before, said);
  status_before = status;
  reported = now.tv_sec;
  return 0;
}

/* A database that still makes its data answers to checks in its container, but at no port. */
static int is_ready(const char *check, const struct pair *pairs, size_t count, const sigset_t *mask) {
  size_t open = 0;
  for (size_t i = 0; i < count; i++) open += (size_t)accepts(pairs[i].port);
  return *check ? open > 0 && succeeds(check, mask) : open == count;
}

/* Opens the sockets once COMMAND is ready. */
static pid_t start_server(const char *check, const struct pair *pairs, size_t count, const sigset_t *mask) {
  pid_t pid = fork_helper();
  if (pid > 0) return pid;
  setsid();
  while (!is_ready(check, pairs, count, mask)) nanosleep(&(struct timespec){.tv_nsec = CHECK_EVERY_MS * 1000000L}, NULL);
  for (size_t i = 0; i < count; i++) {
    int listener = listen_at("forward", pairs[i].socket);
    start_relay(listener, (struct destination){.port = port_of("forward", pairs[i].port)});
    close(listener);
  }
  dprintf(STDOUT_FILENO, "ready\n");
  let_go_of_streams();
  for (;;) pause();
}

static pid_t start_stopper(pid_t command, int signal) {
  pid_t pid = fork_helper();
  if (pid > 0) return pid;
  setsid();
  int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  let_go_of_streams();
  char bytes[512];
  for (ssize_t n = 1; n > 0 || (n < 0 && errno == EINTR);) n = read(in, bytes, sizeof bytes);
  kill(command, signal);
  for (;;) pause();
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

static const char USAGE[] = "forward [--serve CHECK SIGNAL] PORT SOCKET [PORT SOCKET...] -- COMMAND [ARGUMENT...]";

int main(int argc, char **argv) {
  struct pair pairs[MAX_PAIRS];
  pid_t helpers[MAX_PAIRS + 2];
  size_t count = 0, helped = 0;
  char **at = argv + 1;
  const char *check = NULL;
  int stop = 0;
  if (argc > 3 && !strcmp(*at, "--serve")) {
    check = at[1];
    stop = atoi(at[2]);
    if (stop < 1 || stop >= NSIG) die(at[2], "not the number of a signal");
    at += 3;
  }
  for (; at < argv + argc && strcmp(*at, "--"); at += 2) {
    if (at + 1 >= argv + argc || count == MAX_PAIRS) die("usage", USAGE);
    if (strlen(at[1]) > RELAY_MAX_PATH) die(at[1], "too long for the path of a socket");
    pairs[count++] = (struct pair){at[0], at[1]};
  }
  if (count == 0 || at + 1 >= argv + argc) die("usage", USAGE);
  char **command_line = at + 1;

  int listeners[MAX_PAIRS];
  for (size_t i = 0; i < count; i++)
    if (check) port_of("forward", pairs[i].port);
    else listeners[i] = listen_on("forward", pairs[i].port);
  sigset_t signals, inherited;
  sigemptyset(&signals);
  const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD};
  for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++) sigaddset(&signals, passed_on[i]);
  sigprocmask(SIG_BLOCK, &signals, &inherited);
  /* An inherited "ignore" would reap COMMAND unseen. */
  signal(SIGCHLD, SIG_DFL);

  for (size_t i = 0; !check && i < count; i++) {
    helpers[helped++] = start_relay(listeners[i], (struct destination){.path = pairs[i].socket});
    close(listeners[i]);
  }
  pid_t command = start_command(command_line, &inherited, check != NULL);
  if (check) {
    helpers[helped++] = start_server(check, pairs, count, &inherited);
    helpers[helped++] = start_stopper(command, stop);
  }
  let_go_of_streams();
  int status = supervise(command, &signals);
  for (size_t i = 0; i < helped; i++) {
    kill(helpers[i], SIGKILL);
    waitpid(helpers[i], NULL, 0);
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
