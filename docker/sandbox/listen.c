#define _GNU_SOURCE
#include "listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static void refuse(const char *program, const char *place, const char *why) {
  dprintf(2, "%s: %s: %s\n", program, place, why);
  exit(125);
}

int port_of(const char *program, const char *text) {
  char *end;
  long port = strtol(text, &end, 10);
  if (*end != '\0' || port < 1 || port > 65535) refuse(program, text, "not a port");
  return (int)port;
}

int listen_on(const char *program, const char *text) {
  int port = port_of(program, text);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  int on = 1;
  if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
      bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 512) < 0)
    refuse(program, text, strerror(errno));
  return fd;
}

int listen_at(const char *program, const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) refuse(program, path, "too long for the path of a socket");
  memcpy(address.sun_path, path, strlen(path) + 1);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  unlink(path);
  if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || chmod(path, 0666) < 0 ||
      listen(fd, 512) < 0)
    refuse(program, path, strerror(errno));
  return fd;
}
