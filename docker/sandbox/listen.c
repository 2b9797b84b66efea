#define _GNU_SOURCE
#include "listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static void refuse(const char *program, const char *port, const char *why) {
  dprintf(2, "%s: %s: %s\n", program, port, why);
  exit(125);
}

int listen_on(const char *program, const char *text) {
  char *end;
  long port = strtol(text, &end, 10);
  if (*end != '\0' || port < 1 || port > 65535) refuse(program, text, "not a port");
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  int on = 1;
  if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
      bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 512) < 0)
    refuse(program, text, strerror(errno));
  return fd;
}
