/* Measures how deep folders are nested. Holds one file open for each level. */
#define _GNU_SOURCE
#include "depth.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_LEVELS 256
#define MAX_SECONDS 2

static DIR *open_folder(int parent, const char *name) {
  int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  return fd < 0 ? NULL : fdopendir(fd);
}

static int is_folder(DIR *parent, const struct dirent *entry) {
  if (entry->d_type != DT_UNKNOWN) return entry->d_type == DT_DIR;
  struct stat facts;
  return fstatat(dirfd(parent), entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(facts.st_mode);
}

static time_t seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

int depth_below(const char *path) {
  DIR *open_folders[MAX_LEVELS + 1];
  time_t latest = seconds() + MAX_SECONDS;
  int level = 0;
  int deepest = 0;
  open_folders[0] = open_folder(AT_FDCWD, path);
  if (open_folders[0] == NULL) return -1;
  while (level >= 0) {
    DIR *folder = open_folders[level];
    errno = 0;
    const struct dirent *entry = readdir(folder);
    if (entry == NULL) {
      if (errno != 0) return -1;
      closedir(folder);
      level--;
      continue;
    }
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    if (level + 1 > deepest) deepest = level + 1;
    if (!is_folder(folder, entry)) continue;
    if (level == MAX_LEVELS || seconds() > latest) return -1;
    open_folders[++level] = open_folder(dirfd(folder), entry->d_name);
    if (open_folders[level] == NULL) return -1;
  }
  return deepest;
}
