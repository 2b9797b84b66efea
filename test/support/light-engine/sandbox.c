/*
 * sandbox: what a container runtime does, as far as the tests of halo's decisions need it, in milliseconds.
 *
 *   sandbox run [OPTION VALUE...] -- COMMAND [ARGUMENT...]
 *   sandbox enter [--cgroup DIR...] PID UID GID -- COMMAND [ARGUMENT...]
 *
 * `run` gives COMMAND namespaces, a read-only root, a user without rights and limits of its own, and an init that forwards
 * signals, reaps and ends with COMMAND. Options, in the order in which they take effect:
 *   --cgroup DIR           joins it
 *   --root LAYERS DIR      the root file system: overlay of LAYERS and of what is written to DIR/upper, at DIR/root
 *   --host NAME            the name of the machine inside
 *   --bind SRC DST ro|rw   mounts a folder or file
 *   --tmpfs DST OPTIONS    mounts a file system in memory
 *   --devpts DST OPTIONS   mounts terminals
 *   --nofile N --fsize N   limits of open files and of the size of a file
 *   --user N --group N     user and group id; a supplementary group
 *   --cwd DIR --env NAME=VALUE
 *   --sealed               makes the root read-only
 * Descriptor 3 receives the process id of the init, and what is wrong if COMMAND cannot be started; it is closed by exec.
 * Exit: the code of COMMAND, 128 + signal if it was killed, 125 if it could not be started.
 *
 * `enter` executes COMMAND in the namespaces of a running sandbox, with the environment of this process.
 *
 * It is not meant to hold a hostile program: only the engine of the user does that, and its own tests run there.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#define REPORT 3
#define MAX_ENV 256
#define MAX_GROUPS 16

static void die(const char *what, const char *about) {
  dprintf(REPORT, "error %s %s: %s\n", what, about, strerror(errno));
  _exit(125);
}

static void must(int result, const char *what, const char *about) {
  if (result < 0) die(what, about);
}

/* Creates the folders of a path below the current one; the last part is a file if `file`. */
static void make_place(const char *path, int file) {
  char copy[4096];
  snprintf(copy, sizeof copy, "%s", path);
  for (char *at = strchr(copy, '/'); at; at = strchr(at + 1, '/')) {
    *at = 0;
    mkdir(copy, 0755);
    *at = '/';
  }
  if (!file) mkdir(copy, 0755);
  else {
    int fd = open(copy, O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd >= 0) close(fd);
  }
}

static const char *relative(const char *path) {
  while (*path == '/') path++;
  return *path ? path : ".";
}

static void bind_mount(const char *from, const char *to, int read_only) {
  struct stat facts;
  must(stat(from, &facts), "stat", from);
  to = relative(to);
  struct stat place;
  if (stat(to, &place) < 0) make_place(to, !S_ISDIR(facts.st_mode));
  must(mount(from, to, NULL, MS_BIND | MS_REC, NULL), "bind", to);
  if (!read_only) return;
  struct statvfs system;
  must(statvfs(to, &system), "statvfs", to);
  unsigned long kept = system.f_flag & (ST_NOSUID | ST_NODEV | ST_NOEXEC);
  must(mount(NULL, to, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY | kept, NULL), "remount", to);
}

/* Options of mount(8) that set or clear flags of the system call. */
static const struct {
  const char *name;
  unsigned long set, clear;
} FLAGS[] = {{"nosuid", MS_NOSUID, 0}, {"nodev", MS_NODEV, 0}, {"noexec", MS_NOEXEC, 0}, {"exec", 0, MS_NOEXEC}, {"rw", 0, MS_RDONLY}, {"ro", MS_RDONLY, 0}};

static void mount_special(const char *type, const char *to, const char *options) {
  char data[1024] = "", copy[1024];
  unsigned long flags = 0;
  snprintf(copy, sizeof copy, "%s", options);
  for (char *save, *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
    size_t index = 0;
    while (index < sizeof FLAGS / sizeof *FLAGS && strcmp(FLAGS[index].name, word)) index++;
    if (index < sizeof FLAGS / sizeof *FLAGS) flags = (flags | FLAGS[index].set) & ~FLAGS[index].clear;
    else snprintf(data + strlen(data), sizeof data - strlen(data), "%s%s", *data ? "," : "", word);
  }
  to = relative(to);
  struct stat place;
  int existed = stat(to, &place) == 0;
  if (!existed) make_place(to, 0);
  must(mount(type, to, type, flags, data), type, to);
  if (existed && !strcmp(type, "tmpfs") && !strstr(data, "mode=")) must(chmod(to, place.st_mode & 07777), "chmod", to);
}

/* Each sandbox has a layer of its own: the kernel forgets the mount with the namespace. */
static void enter_root(const char *layers, const char *dir) {
  char options[4096], root[1024];
  int size = snprintf(options, sizeof options, "lowerdir=%s,upperdir=%s/upper,workdir=%s/work", layers, dir, dir);
  if (size >= (int)sizeof options) errno = E2BIG, die("overlay", dir);
  snprintf(root, sizeof root, "%s/root", dir);
  must(mount("overlay", root, "overlay", 0, options), "overlay", root);
  must(chdir(root), "chdir", root);
}

static void make_devices(void) {
  static const struct {
    const char *name;
    int minor;
  } NODES[] = {{"null", 3}, {"zero", 5}, {"full", 7}, {"random", 8}, {"urandom", 9}};
  mount_special("tmpfs", "dev", "nosuid,mode=755,size=65536k");
  mode_t before = umask(0);
  for (size_t index = 0; index < sizeof NODES / sizeof *NODES; index++) {
    char path[32];
    snprintf(path, sizeof path, "dev/%s", NODES[index].name);
    must(mknod(path, S_IFCHR | 0666, makedev(1, NODES[index].minor)), "mknod", path);
  }
  must(mknod("dev/tty", S_IFCHR | 0666, makedev(5, 0)), "mknod", "tty");
  umask(before);
  static const char *const LINKS[][2] = {{"pts/ptmx", "dev/ptmx"}, {"/proc/self/fd", "dev/fd"}, {"/proc/self/fd/0", "dev/stdin"}, {"/proc/self/fd/1", "dev/stdout"}, {"/proc/self/fd/2", "dev/stderr"}};
  for (size_t index = 0; index < sizeof LINKS / sizeof *LINKS; index++)
    must(symlink(LINKS[index][0], LINKS[index][1]), "symlink", LINKS[index][1]);
  mount_special("devpts", "dev/pts", "nosuid,noexec,newinstance,ptmxmode=0666,mode=0620,gid=5");
  mount_special("mqueue", "dev/mqueue", "nosuid,nodev,noexec");
}

/* What an engine hides of /proc and makes read-only. */
static void hide(void) {
  static const char *const FILES[] = {"proc/kcore", "proc/keys", "proc/timer_list", "proc/sched_debug", "proc/latency_stats"};
  static const char *const FOLDERS[] = {"proc/acpi", "proc/asound", "proc/scsi", "sys/firmware"};
  static const char *const READ_ONLY[] = {"proc/bus", "proc/fs", "proc/irq", "proc/sys", "proc/sysrq-trigger"};
  for (size_t index = 0; index < sizeof FILES / sizeof *FILES; index++) mount("/dev/null", FILES[index], NULL, MS_BIND, NULL);
  for (size_t index = 0; index < sizeof FOLDERS / sizeof *FOLDERS; index++) mount("tmpfs", FOLDERS[index], "tmpfs", MS_RDONLY, NULL);
  for (size_t index = 0; index < sizeof READ_ONLY / sizeof *READ_ONLY; index++) {
    if (mount(READ_ONLY[index], READ_ONLY[index], NULL, MS_BIND | MS_REC, NULL) == 0)
      mount(NULL, READ_ONLY[index], NULL, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
  }
}

static void bring_up_loopback(void) {
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
  must(fd, "socket", "lo");
  must(ioctl(fd, SIOCSIFFLAGS, &request), "ioctl", "lo");
  close(fd);
}

/* The system calls that the isolation check of halo tries, and those that would leave the namespaces. */
static void filter_calls(void) {
  static const int DENIED[] = {SYS_io_uring_setup, SYS_unshare, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_bpf, SYS_keyctl, SYS_add_key, SYS_request_key, SYS_userfaultfd, SYS_ptrace, SYS_perf_event_open, SYS_setns, SYS_open_by_handle_at, SYS_process_vm_readv, SYS_process_vm_writev};
  enum { DENIED_COUNT = sizeof DENIED / sizeof *DENIED };
  struct sock_filter program[DENIED_COUNT + 9];
  int at = 0;
  program[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (int index = 0; index < DENIED_COUNT; index++)
    program[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, DENIED[index], DENIED_COUNT - index + 6, 0);
  program[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 5);
  program[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0]));
  program[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 3, 0);
  program[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 2, 0);
  program[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 1, 0);
  program[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 0, 1);
  program[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  program[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
  struct sock_fprog filter = {.len = (unsigned short)at, .filter = program};
  must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), "prctl", "seccomp");
}

static void drop_rights(uid_t user, gid_t group) {
  for (int capability = 0; capability <= 63; capability++) prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  must(setgroups(group ? 2 : 1, (gid_t[]){user, group}), "setgroups", "");
  must(setresgid(user, user, user), "setresgid", "");
  must(setresuid(user, user, user), "setresuid", "");
  must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl", "no_new_privs");
  filter_calls();
}

static void limit(int resource, const char *value) {
  if (!value) return;
  rlim_t number = strtoull(value, NULL, 10);
  must(setrlimit(resource, &(struct rlimit){number, number}), "setrlimit", value);
}

/* Of the main process, as numbers of signals go; the first process of a namespace ignores what it does not handle. */
static pid_t main_process;
static void forward_signal(int signal) { kill(main_process, signal); }

static int code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

/* The init: starts the command, reaps, and ends with it, which ends all other processes. */
static void start_command(char **command, char **env) {
  main_process = fork();
  must(main_process, "fork", command[0]);
  if (main_process == 0) {
    setpgid(0, 0);
    execvpe(command[0], command, env);
    dprintf(REPORT, "error exec %s: %s\n", command[0], strerror(errno));
    _exit(127);
  }
  close(REPORT);
  /* Nothing outlives the engine. */
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int signal = 1; signal < NSIG; signal++)
    if (signal != SIGKILL && signal != SIGSTOP && signal != SIGCHLD)
      sigaction(signal, &(struct sigaction){.sa_handler = forward_signal, .sa_flags = SA_RESTART}, NULL);
  for (;;) {
    int status;
    pid_t ended = wait(&status);
    if (ended == main_process) _exit(code_of(status));
    if (ended < 0 && errno != EINTR) _exit(125);
  }
}

static void write_file(const char *dir, const char *name, const char *text) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  must(fd, "open", path);
  if (write(fd, text, strlen(text)) < 0) die("write", path);
  close(fd);
}

/* The nth word after an option. */
static const char *value(char **at, int n) {
  for (int index = 1; index <= n; index++)
    if (!at[index]) errno = EINVAL, die("option", at[0]);
  return at[n];
}

/* Opens the control groups of --cgroup options while their folders can be seen; returns what follows these. */
static int groups[MAX_GROUPS], group_count;
static char **open_groups(char **at) {
  for (; *at && !strcmp(*at, "--cgroup"); at += 2) {
    char path[4096];
    snprintf(path, sizeof path, "%s/cgroup.procs", value(at, 1));
    if (group_count == MAX_GROUPS) errno = E2BIG, die("open", path);
    must(groups[group_count++] = open(path, O_WRONLY | O_CLOEXEC), "open", path);
  }
  return at;
}

/* Joins them: this process counts, its parent does not. */
static void join_groups(void) {
  while (group_count > 0)
    if (write(groups[--group_count], "0", 1) < 0) die("write", "cgroup.procs");
    else close(groups[group_count]);
}

static int run(char **argv) {
  const char *nofile = NULL, *fsize = NULL, *cwd = "/";
  uid_t user = 65534;
  gid_t group = 0;
  char *env[MAX_ENV + 1];
  int variables = 0, has_root = 0, is_sealed = 0;
#define VALUE(n) value(at, n)
  char **at = open_groups(argv);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  must(unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS), "unshare", "");
  pid_t init = fork();
  must(init, "fork", "init");
  if (init > 0) {
    dprintf(REPORT, "pid %d\n", init);
    for (int fd = 0; fd <= REPORT; fd++) close(fd);
    int status;
    while (waitpid(init, &status, 0) < 0)
      if (errno != EINTR) return 125;
    return code_of(status);
  }
  must(fcntl(REPORT, F_SETFD, FD_CLOEXEC), "fcntl", "report");
  join_groups();
  must(unshare(CLONE_NEWCGROUP), "unshare", "cgroup");
  must(setsid(), "setsid", "");
  must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "mount", "private");
  bring_up_loopback();
  umask(0022);
  for (; *at && strcmp(*at, "--"); at++) {
    if (!strcmp(*at, "--root")) {
      enter_root(VALUE(1), VALUE(2)), at += 2;
      make_devices();
      mount_special("proc", "proc", "nosuid,nodev,noexec");
      mount_special("sysfs", "sys", "ro,nosuid,nodev,noexec");
      hide();
      has_root = 1;
    } else if (!strcmp(*at, "--sealed")) {
      is_sealed = 1;
    } else if (!strcmp(*at, "--host")) {
      must(sethostname(VALUE(1), strlen(at[1])), "sethostname", at[1]), at++;
    } else if (!strcmp(*at, "--bind")) {
      bind_mount(VALUE(1), VALUE(2), !strcmp(VALUE(3), "ro")), at += 3;
    } else if (!strcmp(*at, "--tmpfs")) {
      mount_special("tmpfs", VALUE(1), VALUE(2)), at += 2;
    } else if (!strcmp(*at, "--devpts")) {
      mount_special("devpts", VALUE(1), VALUE(2)), at += 2;
    } else if (!strcmp(*at, "--nofile")) nofile = VALUE(1), at++;
    else if (!strcmp(*at, "--fsize")) fsize = VALUE(1), at++;
    else if (!strcmp(*at, "--user")) user = (uid_t)atoi(VALUE(1)), at++;
    else if (!strcmp(*at, "--group")) group = (gid_t)atoi(VALUE(1)), at++;
    else if (!strcmp(*at, "--cwd")) cwd = VALUE(1), at++;
    else if (!strcmp(*at, "--env") && variables < MAX_ENV) {
      env[variables++] = *++at;
      if (!strncmp(*at, "PATH=", 5)) putenv(*at);
    } else errno = EINVAL, die("option", *at);
  }
  if (!*at || !at[1] || !has_root) errno = EINVAL, die("arguments", "root, --, command");
  env[variables] = NULL;
  if (is_sealed) must(mount(NULL, ".", NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL), "remount", "root");
  must((int)syscall(SYS_pivot_root, ".", "."), "pivot_root", "");
  must(umount2(".", MNT_DETACH), "umount", "old root");
  must(chdir(cwd), "chdir", cwd);
  write_file("/proc/self", "oom_score_adj", "500");
  limit(RLIMIT_NOFILE, nofile);
  limit(RLIMIT_FSIZE, fsize);
  limit(RLIMIT_CORE, "0");
  drop_rights(user, group);
  start_command(at + 1, env);
  return 125;
}

static int enter(char **argv) {
  argv = open_groups(argv);
  for (int index = 0; index < 4; index++)
    if (!argv[index]) return dprintf(STDERR_FILENO, "enter PID UID GID -- COMMAND\n"), 125;
  const char *pid = argv[0];
  static const char *const KINDS[] = {"cgroup", "ipc", "uts", "net", "pid", "mnt"};
  for (size_t index = 0; index < sizeof KINDS / sizeof *KINDS; index++) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%s/ns/%s", pid, KINDS[index]);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, 0) < 0) return dprintf(STDERR_FILENO, "enter %s: %s\n", path, strerror(errno)), 126;
    close(fd);
  }
  pid_t child = fork();
  if (child == 0) {
    join_groups();
    if (chdir("/") < 0) _exit(126);
    drop_rights((uid_t)atoi(argv[1]), (gid_t)atoi(argv[2]));
    execvp(argv[4], argv + 4);
    dprintf(STDOUT_FILENO, "OCI runtime exec failed: exec: \"%s\": %s\n", argv[4], strerror(errno));
    _exit(126);
  }
  for (int fd = 0; fd <= 2; fd++) close(fd);
  int status;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return 125;
  return code_of(status);
}

int main(int argc, char **argv) {
  if (argc > 2 && !strcmp(argv[1], "run")) return run(argv + 2);
  if (argc > 2 && !strcmp(argv[1], "enter")) return enter(argv + 2);
  dprintf(STDERR_FILENO, "sandbox run|enter …\n");
  return 125;
}
