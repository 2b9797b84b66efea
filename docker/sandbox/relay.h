#ifndef HALO_RELAY_H
#define HALO_RELAY_H

#include <sys/un.h>

#define RELAY_MAX_PATH (sizeof ((struct sockaddr_un *)0)->sun_path - 1)

/* Where connections go: to a unix socket, or to a port of 127.0.0.1 if `path` is NULL. */
struct destination {
  const char *path; /* at most RELAY_MAX_PATH bytes */
  int port;
};

/* A new connection, non-blocking; -1 if there is none. */
int connect_to(const struct destination *to);

/* Joins every connection accepted on `listener` (non-blocking) with a new one to the destination; never returns. */
_Noreturn void relay(int listener, const struct destination *to);

#endif
