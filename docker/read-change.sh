# Reads what an agent has changed in a workspace, by content, and nothing else. halo sources this in a sandbox of its own
# image that mounts the workspace read-only, with a repository and an index of its own: nothing of the workspace's `.git`
# is loaded.
#
# `open_repository`, `read_entries` and, if commands such as setup have run in the workspace, `record` are called before the agent starts,
# `print_change` after it has ended. What the workspace was before is that record; without one, a fresh checkout of the
# commit, and the snapshot in /halo/snapshot if there is one. The change is applied to the commit's own entries, so that
# the tree has what the agent changed, and is the commit's in all else, whatever conversions or setup made of it.
#
#   GIT_DIR, GIT_WORK_TREE   the repository of this program, and the workspace
#   FROM                     the commit that was checked out
#   BASE                     the commit whose objects halo has
export LC_ALL=C
ENTRIES=/tmp/entries.index
SUBMODULES=/tmp/submodules
RECORD=/tmp/record
CHANGES=/tmp/changes
SNAPSHOT=/halo/snapshot
# Folders at the top into which setup installs packages, or links: they count as ignored, as before a gate.
INSTALLED='node_modules .venv venv .tox'
# Caches, which are not named.
CACHES='(^|/)(__pycache__|\.(pytest|mypy|ruff)_cache|node_modules|\.venv|venv|\.tox)/?$|\.py[co]$'
CACHES_WITHIN='/(__pycache__|\.(pytest|mypy|ruff)_cache|node_modules|\.venv|venv|\.tox)/|\.py[co]$'
NAMED=20
NAMED_IN_FOLDER=3
NAMED_BYTES=32768

# open_repository <format of objects>: a repository without objects
open_repository() {
  git init -q --template= --object-format="$1"
  git config core.quotePath false
  mkdir -p "$GIT_DIR/objects/info" "$GIT_DIR/info"
}

# read_entries: those of the commit, whose objects the repository has
read_entries() {
  GIT_INDEX_FILE=$ENTRIES git read-tree "$FROM"
  cp "$ENTRIES" "$GIT_DIR/index"
  assume_submodules
  exclude_installed $SNAPSHOT
}

# exclude_installed <folder>: what setup has installed there, unless the commit has files in it
exclude_installed() {
  for name in $INSTALLED; do
    if [ ! -e "$1/$name" ] && [ ! -L "$1/$name" ]; then continue; fi
    git ls-files -z -- "$name" | grep -qz . || echo "/$name" >> "$GIT_DIR/info/exclude"
  done
}

# `git add` of a whole tree starts git in each submodule of the index, with a `.git` that the agent wrote; assume-unchanged
# prevents that. If submodules are named one by one, git starts no process and only reads their HEAD. Repositories that
# setup has left are such submodules, too, once they are recorded.
assume_submodules() {
  git ls-files -s -z | sed -zn 's/^160000 [^\t]*\t//p' > $SUBMODULES
  if [ -s $SUBMODULES ]; then git update-index -z --assume-unchanged --stdin < $SUBMODULES; fi
}

add_all() {
  git add -A . || return 1
  [ -s $SUBMODULES ] || return 0
  git update-index -z --no-assume-unchanged --stdin < $SUBMODULES
  git update-index -z --add --remove --stdin < $SUBMODULES
}

# What git ignores: files, and folders as a whole.
list_ignored() {
  git ls-files --others --ignored --exclude-standard --directory -z | grep -zvE "$CACHES" | sort -z
}

# Folders with a repository of their own, but for submodules, what setup has left, and folders with tracked files, which
# git reads as any other folder.
list_repositories() {
  [ -f $RECORD.repositories ] || : > $RECORD.repositories
  find . -mindepth 2 -name .git -prune -printf '%h\0' | sed -z 's,^\./,,' | sort -z > /tmp/repositories
  sort -z $SUBMODULES $RECORD.repositories | comm -z -13 - /tmp/repositories | xargs -0r sh -c '
    for path; do git ls-files -z -- ":(literal)$path" | grep -qz . || printf "%s\0" "$path"; done' sh
}

# The ignored files, each with its inode: a folder that the agent moves in their place has files that are as old. Caches
# are large and hold no sources, so their files are not listed.
list_older() {
  sed -z 's,^,./,' $RECORD.ignored |
    xargs -0r sh -c 'find "$@" ! -type d ! -path "*
*" -printf "%i %p\n"' sh | sort > $RECORD.older
}

# Whether git could not read something.
lacks_permission() {
  grep -q ': Permission denied$' /tmp/complaint
}

# list_unreadable [<condition>...]: files that may not be read, and folders that may not be entered. Git leaves such a
# folder out with only a warning.
list_unreadable() {
  { find . -mindepth 1 -name .git -prune -o \( -type f ! -readable -o -type d ! \( -readable -executable \) \) \
    -prune "$@" -printf '%P\0' || true; } 2> /dev/null | sort -z
}

# Those that the agent has left or changed: not what setup has left, here or in the snapshot.
list_own_unreadable() {
  if [ -f $RECORD ]; then
    list_unreadable -cnewer $RECORD
  else
    if [ -d $SNAPSHOT ]; then (cd $SNAPSHOT && list_unreadable) > $RECORD.unreadable; else : > $RECORD.unreadable; fi
    list_unreadable | comm -z -13 $RECORD.unreadable -
  fi
}

# record: what the workspace is before the agent
record() {
  cd "$GIT_WORK_TREE"
  exclude_installed .
  list_ignored > $RECORD.ignored
  if ! add_all 2> /tmp/complaint; then
    # Git adds no repository without a commit. What setup has left is not the agent's.
    list_repositories | sed -z 's,[][\\*?!# ],\\&,g' | tr '\0' '\n' | sed 's,.*,/&/,' >> "$GIT_DIR/info/exclude"
    list_ignored > $RECORD.ignored
    add_all
  fi
  list_older
  list_repositories > /tmp/found
  mv /tmp/found $RECORD.repositories
  git write-tree --missing-ok > $RECORD.tree
  assume_submodules
  mv $RECORD.tree $RECORD
  touch $RECORD
}

# record_or_complain: records, or prints what git says of the files that setup has left
record_or_complain() {
  sh -ec '. /tmp/read-change.sh; record' 2> /tmp/complaint || tail -c 500 /tmp/complaint
}

# Git compares only the seconds of times. A file that has changed in the second of the record may have the time and the size
# that are recorded, so git is made to read it.
forget_times() {
  git ls-files -z | sed -z 's,^,./,' | SINCE=$(($(stat -c %Y $RECORD) - 1)) xargs -0r sh -c '
    find "$@" -maxdepth 0 ! -type d -newerct "@$SINCE.999999999" -print0' sh 2> /dev/null | sed -z 's,^\./,,' |
    xargs -0r git --literal-pathspecs ls-files -s -z -- | git update-index -z --index-info
}

# Removes from $CHANGES the files that have the content with which the workspace began.
drop_unchanged() {
  : > /tmp/unchanged
  grep -E '^:(100[0-7]*) \1 [^	]* M	' $CHANGES > /tmp/lines || true
  if [ -s /tmp/lines ] && [ -n "$(git ls-files -- .gitattributes '*/.gitattributes' | head -n 1)" ]; then
    fresh=/tmp/fresh
    mkdir -p $fresh
    cut -f 2- /tmp/lines > /tmp/paths
    # Without attributes in its tree, git reads those of the commit.
    (cd $fresh && GIT_INDEX_FILE=$ENTRIES GIT_WORK_TREE=$fresh git checkout-index -f --stdin < /tmp/paths)
    compare $fresh
  fi
  if [ -d $SNAPSHOT ]; then
    sed -n '/^:000000 100/p' $CHANGES | while IFS= read -r line; do
      if [ -f "$SNAPSHOT/${line#*	}" ]; then printf '%s\n' "$line"; fi
    done > /tmp/lines
    cut -f 2- /tmp/lines > /tmp/paths
    compare $SNAPSHOT
  fi
  remove_unchanged
}

# Removes from $CHANGES what setup has left and git ignored then: the agent has changed the rules, not the files. A file
# that the agent has moved there, alone or with its folder, is a change.
drop_older() {
  : > /tmp/unchanged
  if grep -q '\.gitignore$' $CHANGES; then
    sed -n 's,^:000000 [^	]*	,./,p' $CHANGES | tr '\n' '\0' | RECORD=$RECORD xargs -0r sh -c '
      find "$@" -maxdepth 0 ! -cnewer "$RECORD" -printf "%i %p\n"' sh 2> /dev/null | sort > /tmp/older
    grep -E "$CACHES_WITHIN" /tmp/older | sort - $RECORD.older | comm -12 - /tmp/older | sed 's,^[0-9]* \./,,' > /tmp/paths
    awk -F '\t' 'NR == FNR { older[$0] = 1; next } /^:000000 / && $2 in older' /tmp/paths $CHANGES > /tmp/unchanged
  fi
  remove_unchanged
}

remove_unchanged() {
  [ -s /tmp/unchanged ] || return 0
  grep -vxFf /tmp/unchanged $CHANGES > $CHANGES.left || true
  mv $CHANGES.left $CHANGES
}

# compare <folder>: notes the lines of /tmp/lines whose files, in /tmp/paths, are the same, byte by byte
compare() {
  [ -s /tmp/paths ] || return 0
  (cd "$1" && GIT_WORK_TREE=$1 git hash-object --no-filters --stdin-paths < /tmp/paths) > /tmp/before
  git hash-object --no-filters --stdin-paths < /tmp/paths > /tmp/now
  paste /tmp/before /tmp/now /tmp/lines | sed -nE 's/^([0-9a-f]+)\t\1\t//p' >> /tmp/unchanged
}

# The new files that git ignores, with the rule: source, line, pattern and path, NUL-terminated.
name_ignored() {
  [ -f $RECORD.ignored ] || : > $RECORD.ignored
  comm -z -13 $RECORD.ignored /tmp/ignored | SNAPSHOT=$SNAPSHOT LIMIT=$NAMED_IN_FOLDER xargs -0r sh -c '
    for path; do
      if [ -e "$SNAPSHOT/$path" ] || [ -e "$path/CACHEDIR.TAG" ]; then continue; fi
      case $path in
        */) find "./$path" -type f -print0 | head -z -n "$LIMIT" ;;
        *) printf "%s\0" "./$path" ;;
      esac
    done' sh | head -z -n $NAMED | git check-ignore -v -z --stdin --no-index | head -c $NAMED_BYTES
}

# answer <word> <file>: a line with the word and the size of the file, and the file
answer() {
  printf '%s %s\n' "$1" "$(wc -c < "$2")"
  cat "$2"
}

# print_change: the answer with the tree and what is ignored, a pack, and `done`; or, and 9, `repositories` with their folders
# or `unreadable` with files and folders
print_change() {
  cd "$GIT_WORK_TREE"
  if [ -f $RECORD ]; then forget_times; fi
  list_ignored > /tmp/ignored 2> /dev/null &
  added=0
  add_all 2> /tmp/complaint || added=$?
  : > /tmp/found
  if lacks_permission; then
    list_own_unreadable | head -z -n $NAMED | head -c $NAMED_BYTES > /tmp/found
  fi
  if [ -s /tmp/found ]; then
    answer unreadable /tmp/found
    exit 9
  fi
  if [ $added -ne 0 ]; then
    cat /tmp/complaint >&2
    if grep -q 'does not have a commit checked out' /tmp/complaint; then list_repositories | head -z -n $NAMED | head -c $NAMED_BYTES > /tmp/found; fi
    answer repositories /tmp/found
    exit 9
  fi
  git diff-index --cached --raw --no-renames --no-abbrev "$(cat $RECORD 2> /dev/null || echo "$FROM")" > $CHANGES
  if [ -f $RECORD ]; then drop_older; elif [ -s $CHANGES ]; then drop_unchanged; fi
  if [ -s $CHANGES ]; then
    sed -E 's/^:[0-7]+ ([0-7]+) [0-9a-f]+ ([0-9a-f]+) [A-Z]\t/\1 \2\t/' $CHANGES |
      GIT_INDEX_FILE=$ENTRIES git update-index --index-info
  fi
  tree=$(GIT_INDEX_FILE=$ENTRIES git write-tree --missing-ok)
  wait
  : > /tmp/named
  if [ -s /tmp/ignored ]; then name_ignored > /tmp/named; fi
  answer "$tree" /tmp/named
  # With --shallow, git knows the trees of the base, although no commit on it is wanted.
  printf '%s\n' "$tree" "^$BASE" | git pack-objects --revs --thin --shallow --stdout -q --delta-base-offset
  printf 'done\n'
}
