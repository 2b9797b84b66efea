#ifndef HALO_DEPTH_H
#define HALO_DEPTH_H

/*
 * How many levels of entries are below the folder `path`: 0 when it is empty. -1 when there are more than 256, when a part
 * cannot be read, and when it takes longer than two seconds. Follows no symbolic link, and changes nothing.
 */
int depth_below(const char *path);

#endif
