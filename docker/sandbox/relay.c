/*
 * One process and one poll loop for all connections. Each direction has its own buffer, which is filled only when it is
 * empty, as back-pressure. The end of one direction is passed on while the other continues.
 */
#define _GNU_SOURCE
#include "relay.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define BUFFER_BYTES 65536
#define CONNECT_SECONDS 10
#define PAUSE_MS 50

enum side { CLIENT, SERVER };

/* Bytes on their way from one side to the other. */
struct direction {
  size_t start, length;
  int ended;     /* the source said so */
  int passed_on; /* the destination received the end */
  int unwanted;  /* the destination takes no more, the bytes are dropped */
  char bytes[BUFFER_BYTES];
};

struct connection {
  int fd[2];
  struct direction from[2];
};

struct table {
  struct connection **connections;
  struct pollfd *polls; /* [0] is the listener, then two for each connection */
  size_t count, room;
};

/* 0 when there is no memory. */
static int grow(struct table *t) {
  size_t room = t->room ? t->room * 2 : 16;
  void *connections = realloc(t->connections, room * sizeof *t->connections);
  if (connections) t->connections = connections;
  void *polls = realloc(t->polls, (1 + 2 * room) * sizeof *t->polls);
  if (polls) t->polls = polls;
  if (!connections || !polls) return 0;
  t->room = room;
  return 1;
}

int connect_to(const struct destination *to) {
  struct sockaddr_un local = {.sun_family = AF_UNIX};
  struct sockaddr_in port = {.sin_family = AF_INET, .sin_port = htons((uint16_t)to->port)};
  port.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (to->path) memcpy(local.sun_path, to->path, strlen(to->path) + 1);
  const struct sockaddr *address = to->path ? (struct sockaddr *)&local : (struct sockaddr *)&port;
  socklen_t size = to->path ? sizeof local : sizeof port;
  int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  /* Blocking, because a full backlog makes a non-blocking connect fail immediately. */
  struct timeval limit = {.tv_sec = CONNECT_SECONDS};
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  int on = 1;
  if (!to->path) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  int result;
  do result = connect(fd, address, size);
  while (result < 0 && errno == EINTR);
  if (result == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0) return fd;
  close(fd);
  return -1;
}

static void join(struct table *t, int client, const struct destination *to) {
  int on = 1;
  setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  int server = connect_to(to);
  struct connection *c = server < 0 ? NULL : calloc(1, sizeof *c);
  if (!c || (t->count == t->room && !grow(t))) {
    free(c);
    if (server >= 0) close(server);
    close(client);
    return;
  }
  c->fd[CLIENT] = client;
  c->fd[SERVER] = server;
  t->connections[t->count++] = c;
}

/* 0 when we ran out of something that only time brings back. */
static int accept_all(struct table *t, int listener, const struct destination *to) {
  for (;;) {
    int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client >= 0) join(t, client, to);
    else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) return 0;
    else if (errno != EINTR && errno != ECONNABORTED) return 1;
  }
}

static int may_go_on(void) { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

/* 0 when the connection is broken. */
static int fill(struct direction *d, int source, enum side side) {
  ssize_t n = read(source, d->bytes, BUFFER_BYTES);
  /* A unix socket says once that its peer closed without having read all, and only then gives what the peer sent. */
  if (n < 0) return may_go_on() || (side == SERVER && errno == ECONNRESET);
  d->start = 0;
  d->length = d->unwanted ? 0 : (size_t)n;
  d->ended = n == 0;
  return 1;
}

/* 0 when the connection is broken. */
static int drain(struct direction *d, int destination, enum side side) {
  if (d->length > 0) {
    ssize_t n = send(destination, d->bytes + d->start, d->length, MSG_NOSIGNAL);
    if (n < 0) {
      if (may_go_on()) return 1;
      /* A server that answers early and closes must not cost the client the answer. */
      if (side == CLIENT) return 0;
      d->unwanted = 1;
      n = (ssize_t)d->length;
    }
    d->start += (size_t)n;
    d->length -= (size_t)n;
  }
  if (d->length == 0 && d->ended && !d->passed_on) {
    shutdown(destination, SHUT_WR);
    d->passed_on = 1;
  }
  return 1;
}

static struct pollfd interest(const struct connection *c, enum side side) {
  const struct direction *in = &c->from[side], *out = &c->from[!side];
  struct pollfd p = {.fd = c->fd[side]};
  if (!in->ended && in->length == 0) p.events |= POLLIN;
  if (out->length > 0) p.events |= POLLOUT;
  /* A closed peer is reported for ever, while bytes may still be on their way to the other side. */
  if (p.events == 0 && (side == SERVER || out->passed_on)) p.fd = -1;
  return p;
}

/* 0 when the connection is over. */
static int move_bytes(struct connection *c, const struct pollfd polls[2]) {
  for (int side = CLIENT; side <= SERVER; side++) {
    short events = polls[side].events, happened = polls[side].revents;
    if (happened == 0) continue;
    if (events == 0) return 0; /* reset by the client */
    if ((events & POLLIN) && (happened & (POLLIN | POLLHUP | POLLERR))) {
      if (!fill(&c->from[side], c->fd[side], side)) return 0;
    }
  }
  for (int side = CLIENT; side <= SERVER; side++)
    if (!drain(&c->from[side], c->fd[!side], !side)) return 0;
  return !(c->from[CLIENT].passed_on && c->from[SERVER].passed_on);
}

static void end(struct connection *c) {
  close(c->fd[CLIENT]);
  close(c->fd[SERVER]);
  free(c);
}

_Noreturn void relay(int listener, const struct destination *to) {
  struct table t = {0};
  int accepting = 1;
  signal(SIGPIPE, SIG_IGN);
  if (!grow(&t)) _exit(125);
  for (;;) {
    t.polls[0] = (struct pollfd){.fd = accepting ? listener : -1, .events = POLLIN};
    for (size_t i = 0; i < t.count; i++)
      for (int side = CLIENT; side <= SERVER; side++) t.polls[1 + 2 * i + side] = interest(t.connections[i], side);
    if (poll(t.polls, 1 + 2 * t.count, accepting ? -1 : PAUSE_MS) < 0 && errno != EINTR) _exit(125);

    size_t kept = 0;
    for (size_t i = 0; i < t.count; i++) {
      struct connection *c = t.connections[i];
      if (move_bytes(c, &t.polls[1 + 2 * i])) t.connections[kept++] = c;
      else end(c);
    }
    t.count = kept;
    accepting = accept_all(&t, listener, to);
  }
}
