/*
 * bridge PORT
 *
 * Carries every connection to 127.0.0.1:PORT over stdin and stdout, for sandboxes into which no socket can be mounted.
 * It speaks in frames of 8 bytes: type, a value of 3 bytes, the number of a connection (both big-endian); DATA is
 * followed by as many bytes as its value says. Numbers begin with 1 and grow. HELLO comes once, when the port listens.
 * Each side may have WINDOW bytes of a connection under way, and more when the other gives CREDIT for what it took in.
 * So stdin is always read, whatever a connection waits for: neither side can wait for the other in a circle.
 * END: no more bytes in this direction. RESET: the connection is over, once the bytes before it are delivered.
 * Exits 0 at the end of stdin, 125 when the port is taken, stdout is gone or stdin makes no sense.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "listen.h"

#define VERSION 1
#define HEADER 8
#define WINDOW (256 * 1024)
#define MAX_DATA (32 * 1024)
#define MAX_CONNECTIONS 128
/* What is kept free for frames without data: at most four for each connection. */
#define RESERVE (MAX_CONNECTIONS * 4 * HEADER)
#define OUT_BYTES (4 * MAX_DATA + RESERVE)
#define PAUSE_MS 50

enum type { HELLO = 1, OPEN, DATA, END, RESET, CREDIT };

struct connection {
  int fd;
  uint32_t id;
  uint32_t credit; /* bytes that the other side still takes */
  uint32_t owed;   /* bytes taken in for which it was given no credit yet */
  size_t start, length;
  int announced;
  int client_ended, end_sent;
  int server_ended, passed_on; /* the client received the end */
  int unwanted;                /* RESET came: what the client sends is dropped */
  int broken;                  /* the client is gone: RESET is to be sent */
  char bytes[WINDOW];          /* a ring, for the client */
};

static struct connection *connections[MAX_CONNECTIONS];
static size_t count;
static uint32_t last_id;

static char out[OUT_BYTES];
static size_t out_start, out_length;

/* A header that came, and what is still to come of its data. */
static unsigned char header[HEADER];
static size_t header_bytes, data_left;
static struct connection *data_for;

static _Noreturn void fail(const char *why) {
  dprintf(STDERR_FILENO, "bridge: %s\n", why);
  exit(125);
}

static int may_go_on(void) { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

static size_t room(void) { return OUT_BYTES - out_length; }

/* Where the next bytes go; makes the room one piece. */
static char *out_end(void) {
  if (out_start > 0) memmove(out, out + out_start, out_length);
  out_start = 0;
  return out + out_length;
}

static void put_header(enum type type, uint32_t value, uint32_t id) {
  unsigned char *to = (unsigned char *)out_end();
  uint32_t first = htonl((uint32_t)type << 24 | value), second = htonl(id);
  memcpy(to, &first, 4);
  memcpy(to + 4, &second, 4);
  out_length += HEADER;
}

/* Frames without data, as far as there is room; the rest is found again in the next turn. */
static void tell(struct connection *c) {
  if (room() < 4 * HEADER) return;
  if (!c->announced) {
    put_header(OPEN, 0, c->id);
    c->announced = 1;
  }
  if (c->unwanted) return;
  if (c->owed >= WINDOW / 4 && !c->server_ended) {
    put_header(CREDIT, c->owed, c->id);
    c->owed = 0;
  }
  if (c->client_ended && !c->end_sent && !c->broken) {
    put_header(END, 0, c->id);
    c->end_sent = 1;
  }
  if (c->broken) {
    put_header(RESET, 0, c->id);
    c->unwanted = 1;
  }
}

static int may_take(const struct connection *c) {
  if (c->client_ended || c->broken) return 0;
  return c->unwanted || (c->announced && c->credit > 0 && room() >= RESERVE + HEADER + MAX_DATA);
}

static void take(struct connection *c) {
  static char dropped[MAX_DATA];
  size_t most = c->unwanted || c->credit > MAX_DATA ? MAX_DATA : c->credit;
  char *to = c->unwanted ? dropped : out_end() + HEADER;
  ssize_t n = read(c->fd, to, most);
  if (n < 0) {
    if (!may_go_on()) c->broken = 1;
  } else if (n == 0) {
    c->client_ended = 1;
  } else if (!c->unwanted) {
    put_header(DATA, (uint32_t)n, c->id);
    out_length += (size_t)n;
    c->credit -= (uint32_t)n;
  }
}

static void give(struct connection *c) {
  if (c->length > 0) {
    size_t first = c->start + c->length > WINDOW ? WINDOW - c->start : c->length;
    struct iovec parts[2] = {{c->bytes + c->start, first}, {c->bytes, c->length - first}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t n = sendmsg(c->fd, &message, MSG_NOSIGNAL);
    if (n < 0) {
      if (!may_go_on()) c->broken = 1;
      return;
    }
    c->start = (c->start + (size_t)n) % WINDOW;
    c->length -= (size_t)n;
    c->owed += (uint32_t)n;
  }
  if (c->length == 0 && (c->server_ended || c->unwanted) && !c->passed_on) {
    shutdown(c->fd, SHUT_WR);
    c->passed_on = 1;
  }
}

static int is_over(const struct connection *c) {
  if (c->broken) return c->unwanted;
  return c->passed_on && (c->unwanted ? c->client_ended : c->end_sent);
}

static struct connection *find(uint32_t id) {
  for (size_t i = 0; i < count; i++)
    if (connections[i]->id == id) return connections[i];
  return NULL;
}

/* A frame for a connection that is gone was under way when it went. */
static void obey(enum type type, uint32_t value, uint32_t id) {
  struct connection *c = find(id);
  if (id == 0 || id > last_id) fail("a frame for no connection");
  if (type == DATA) {
    data_left = value;
    data_for = c == NULL || c->broken ? NULL : c;
    if (value == 0 || value > MAX_DATA) fail("data of a wrong size");
    if (data_for && (c->server_ended || c->unwanted || WINDOW - c->length - c->owed < value))
      fail("unexpected data");
  } else if (c == NULL) {
    return;
  } else if (type == END) {
    c->server_ended = 1;
  } else if (type == RESET) {
    c->unwanted = 1;
  } else if (type == CREDIT && c->credit + value <= WINDOW) {
    c->credit += value;
  } else {
    fail("a frame that makes no sense");
  }
}

static void store(const char *from, size_t n) {
  struct connection *c = data_for;
  data_left -= n;
  if (c == NULL) return;
  size_t at = (c->start + c->length) % WINDOW;
  size_t first = at + n > WINDOW ? WINDOW - at : n;
  memcpy(c->bytes + at, from, first);
  memcpy(c->bytes, from + first, n - first);
  c->length += n;
}

/* Reads what there is on stdin; 0 at its end. */
static int read_frames(void) {
  static char in[65536];
  ssize_t n = read(STDIN_FILENO, in, sizeof in);
  if (n < 0 && may_go_on()) return 1;
  if (n <= 0) return 0;
  for (size_t at = 0, length = (size_t)n; at < length;) {
    if (data_left > 0) {
      size_t part = data_left < length - at ? data_left : length - at;
      store(in + at, part);
      at += part;
      continue;
    }
    header[header_bytes++] = (unsigned char)in[at++];
    if (header_bytes < HEADER) continue;
    header_bytes = 0;
    uint32_t first, id;
    memcpy(&first, header, 4);
    memcpy(&id, header + 4, 4);
    obey(ntohl(first) >> 24, ntohl(first) & 0xffffff, ntohl(id));
  }
  return 1;
}

static void write_out(void) {
  ssize_t n = write(STDOUT_FILENO, out + out_start, out_length);
  if (n < 0 && !may_go_on()) fail("stdout is gone");
  if (n <= 0) return;
  out_start += (size_t)n;
  out_length -= (size_t)n;
}

/* 0 when we ran out of something that only time brings back. */
static int accept_all(int listener) {
  while (count < MAX_CONNECTIONS) {
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      return errno == EAGAIN || errno == EWOULDBLOCK;
    }
    struct connection *c = calloc(1, sizeof *c);
    if (!c) {
      close(fd);
      return 0;
    }
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    c->fd = fd;
    c->id = ++last_id;
    c->credit = WINDOW;
    connections[count++] = c;
  }
  return 1;
}

static struct pollfd interest(const struct connection *c) {
  struct pollfd p = {.fd = c->fd};
  if (may_take(c)) p.events |= POLLIN;
  if (c->length > 0 && !c->broken) p.events |= POLLOUT;
  /* What is closed on both sides is reported for ever. */
  if (c->broken || (p.events == 0 && c->passed_on)) p.fd = -1;
  return p;
}

static void move_bytes(struct connection *c, const struct pollfd *p) {
  if (p->events == 0 && p->revents != 0) c->broken = 1; /* reset by the client */
  if (p->revents != 0 && (p->events & POLLIN) && may_take(c)) take(c);
  if (!c->broken) give(c);
}

static void drop_what_is_over(void) {
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    struct connection *c = connections[i];
    /* The one whose data is still coming in is needed for a little longer. */
    if (!is_over(c) || c == data_for) {
      connections[kept++] = c;
      continue;
    }
    close(c->fd);
    free(c);
  }
  count = kept;
}

int main(int argc, char **argv) {
  if (argc != 2) fail("usage: bridge PORT");
  int listener = listen_on("bridge", argv[1]);
  signal(SIGPIPE, SIG_IGN);
  fcntl(STDIN_FILENO, F_SETFL, fcntl(STDIN_FILENO, F_GETFL) | O_NONBLOCK);
  fcntl(STDOUT_FILENO, F_SETFL, fcntl(STDOUT_FILENO, F_GETFL) | O_NONBLOCK);
  put_header(HELLO, VERSION, 0);
  int accepting = 1;
  for (;;) {
    struct pollfd polls[3 + MAX_CONNECTIONS];
    for (size_t i = 0; i < count; i++) tell(connections[i]);
    polls[0] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    polls[1] = (struct pollfd){.fd = STDOUT_FILENO, .events = out_length > 0 ? POLLOUT : 0};
    polls[2] = (struct pollfd){.fd = accepting && count < MAX_CONNECTIONS ? listener : -1, .events = POLLIN};
    for (size_t i = 0; i < count; i++) polls[3 + i] = interest(connections[i]);
    if (poll(polls, 3 + count, accepting ? -1 : PAUSE_MS) < 0 && errno != EINTR) fail(strerror(errno));

    if (polls[1].revents & (POLLERR | POLLNVAL)) fail("stdout is gone");
    if (out_length > 0) write_out();
    /* First, because what it says of a connection may be the last that ever happens to it. */
    if (polls[0].revents != 0 && !read_frames()) return 0;
    for (size_t i = 0; i < count; i++) move_bytes(connections[i], &polls[3 + i]);
    if (data_left == 0) data_for = NULL;
    drop_what_is_over();
    accepting = accept_all(listener);
  }
}
