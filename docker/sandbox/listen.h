#ifndef HALO_LISTEN_H
#define HALO_LISTEN_H

/*
 * A non-blocking socket that listens on 127.0.0.1; `text` is the number of its port. Ends the process with 125 when that
 * cannot be, and says so in the name of `program`.
 */
int listen_on(const char *program, const char *text);

/* The number of a port; ends the process like `listen_on`. */
int port_of(const char *program, const char *text);

/* The same for a unix socket at `path`, to which every user may connect. What is there is replaced. */
int listen_at(const char *program, const char *path);

#endif
