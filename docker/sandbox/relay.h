#ifndef HALO_RELAY_H
#define HALO_RELAY_H

#include <sys/un.h>

#define RELAY_MAX_PATH (sizeof ((struct sockaddr_un *)0)->sun_path - 1)

/* Joins every connection accepted on `listener` (non-blocking) with a new one to the unix socket; never returns. */
_Noreturn void relay(int listener, const char *socket_path);

#endif
