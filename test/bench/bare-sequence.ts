/** What a story takes at the least, typed by hand: the containers of a story without halo. */

/** Flags of `docker create` that seal a container as halo does, as far as the CLI can. */
export const SEALED = [
  ...['-i', '--init', '--network', 'none', '--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'],
  ...['--user', '23456:23456', '--memory', '4g', '--memory-swap', '4g', '--pids-limit', '512', '--cpus', '2'],
  ...['--tmpfs', '/tmp:exec,mode=1777', '--tmpfs', '/home/agent:exec,uid=23456', '-e', 'HOME=/home/agent'],
];

/** Into the work volume, from the mirror at /m. */
export const CLONE = 'cd /workspace && git clone -q --shared /m .';

/** Git refuses the repository of another user, and a commit without a name, unless it is configured. */
const IN_CLONE =
  'git config --global safe.directory "*" && git config --global user.name a && git config --global user.email a@b && ' +
  'cd /workspace && git clone -q /m .';

/** What the workspace has, as a pack on stdout. */
export const EXPORT =
  'export GIT_DIR=/tmp/x GIT_WORK_TREE=/workspace; git init -q; echo /m/objects > /tmp/x/objects/info/alternates; ' +
  'cd /workspace; git add -A; t=$(git write-tree); echo $t | git pack-objects --revs --stdout -q';

/**
 * The same as a shell script: $1 is the mirror, $2 a name for the volumes, $3 where the pack goes. Agent, export and gate,
 * with a clone for each workspace, one after the other.
 */
export const SEQUENCE = `set -e
work=halo-bench-$2-work clean=halo-bench-$2-clean
docker volume create "$work" >&2
docker volume create "$clean" >&2
agent=$(docker create ${quoted(SEALED)} -v "$work:/workspace" -v "$1:/m:ro" halo-sandbox sh -c '${CLONE} && date +%N > file')
docker start -a "$agent"
exporter=$(docker create ${quoted(SEALED)} -v "$work:/workspace:ro" -v "$1:/m:ro" halo-sandbox sh -c '${EXPORT}')
docker start -a "$exporter" > "$3"
gate=$(docker create ${quoted(SEALED)} -v "$clean:/workspace" -v "$1:/m:ro" halo-sandbox sh -c '${CLONE} && true')
docker start -a "$gate"
docker rm "$agent" "$exporter" "$gate" >&2
docker volume rm "$work" "$clean" >&2
`;

/** The least that a script of two commands does for a story: $1 is the bare repository to which the work is pushed. */
export const PAIR = `set -e
docker run --rm ${quoted(SEALED)} -v /workspace -v "$1:/m" halo-sandbox sh -c '${IN_CLONE} && date +%N > file && \
  git add -A && git commit -q -m story && git push -q origin HEAD:refs/heads/story'
docker run --rm ${quoted(SEALED)} -v /workspace -v "$1:/m" halo-sandbox sh -c '${IN_CLONE} && git checkout -q story && true'
`;

function quoted(words: readonly string[]): string {
  return words.map((word) => `'${word}'`).join(' ');
}
