// Makes a workspace hold exactly one commit again, whatever ran in it: halo runs this before a gate, in a sandbox of its
// own image and while nothing else uses the workspace.
//
//   node restore-tree.mjs <workspace> <repository> <commit> [<report file>...]
//
// <repository> is the `.git` of a new clone with the commit, where nothing that runs in the workspace can write. Tracked
// files that differ from the commit are put back, each byte and mode compared: their times and the workspace's own index
// say nothing. What is neither tracked nor ignored by the commit's own rules is removed, but for the report files and the
// folders at the top into which tools install. Caches of checkers go as well. `.git` becomes a copy of <repository>.
// Ignored files and the contents of submodules stay. What does not differ is not written.
//
// Prints one line of JSON: {"changed": […], "removed": […], "more": <paths that are not named>}, {"error": "…"} for what
// only the workspace can be the reason of, or {"fault": "…"} for what it runs on: disk, memory, processes.
import * as fs from 'node:fs';
import {
  at,
  FILE,
  FOLDER,
  isFault,
  isSame,
  isSameContent,
  look,
  makeFolder,
  PROGRAM,
  remove,
  run,
  setMode,
} from './restore-files.mjs';

const NAMED = 5;
const NAME_LENGTH = 200;
/** Beyond this length and depth, folders that are not tracked are removed with all that they hold. */
const PATH_LENGTH = 3000;
const DEPTH = 20;
const BATCH = 20_000;
const SUBMODULE = '160000';
/** They tell git what to do: only those of the commit count. */
const RULES = ['.git', '.gitignore', '.gitattributes'];
/** Folders at the top into which tools install packages, and links in their place: they count as ignored, because their rules are in the folder itself, or name only a folder. */
const INSTALLED = /^(?:\.venv|venv|node_modules|\.tox)$/;
/** What checkers remember, and Python compiles. They believe it without a look at the source, so it goes, ignored or not. */
const CACHES = /^(?:__pycache__|\.(?:pytest|mypy|ruff)_cache|.*\.py[co])$/;
/** Conversions make no file larger than this; reading what is larger could take for ever. */
const LARGEST = (bytes) => 16 * bytes + 2 ** 20;
/** What may be in a `.git` that a checkout does not make, and that decides what git runs. */
const PLANTED = ['hooks', 'modules', 'worktrees', 'commondir', 'info/attributes', 'info/exclude', 'info/grafts'];
/** Contents are compared as they are, whatever conversions the commit asks for. */
const CONVERSIONS = ['eol', 'ident', 'working-tree-encoding'];
const PLAIN = ['unspecified', 'unset', 'lf'];
const RAW = '* -text -ident !eol !filter !working-tree-encoding\n';

const [workspace, repository, commit, ...named] = process.argv.slice(2);
const reports = named.map((path) => Buffer.from(path).toString('latin1'));
const sealed = [
  'core.fsmonitor=false',
  'core.hooksPath=/dev/null',
  'core.attributesFile=/dev/null',
  'core.excludesFile=/dev/null',
  'submodule.recurse=false',
  'diff.ignoreSubmodules=all',
].flatMap((setting) => ['-c', setting]);

const changed = [];
const removed = new Map();

function git(args, { tree = workspace, dir = repository, ...options } = {}) {
  const place = [`--git-dir=${dir}`, `--work-tree=${tree}`];
  return run('git', [...sealed, ...place, ...args], { cwd: tree, ...options });
}

function split(text) {
  return text.split('\0').filter((part) => part !== '');
}

/** The commit's paths with their modes and objects, folders before what is in them. */
function readCommit() {
  const lines = split(git(['ls-tree', '-r', '-t', '-l', '-z', '--full-tree', commit]));
  const entries = lines.map((line) => {
    const tab = line.indexOf('\t');
    const [mode, , object, size] = line.slice(0, tab).split(/ +/);
    return [line.slice(tab + 1), { mode, object, size: Number(size) }];
  });
  return new Map(entries);
}

/** Paths whose files are not, byte for byte, the commit's objects. */
function findDifferent() {
  fs.mkdirSync(`${repository}/info`, { recursive: true });
  fs.writeFileSync(`${repository}/info/attributes`, RAW);
  // Without what an index remembers of times and sizes, every file is read.
  fs.rmSync(`${repository}/index`, { force: true });
  git(['read-tree', commit]);
  git(['update-index', '-q', '--refresh'], { ok: [0, 1] });
  const different = split(git(['diff-files', '-z', '--name-only', '--ignore-submodules=all']));
  fs.rmSync(`${repository}/info`, { recursive: true });
  return different;
}

/** Paths that a checkout does not write as the commit has them. */
function findConverted(tracked) {
  if (![...tracked.keys()].some((path) => /(^|\/)\.gitattributes$/.test(path))) return [];
  const files = [...tracked].filter(([, { mode }]) => mode.startsWith('100')).map(([path]) => path);
  const args = ['check-attr', '--cached', '-z', '--stdin', ...CONVERSIONS];
  const facts = git(args, { input: files.join('\0') }).split('\0');
  return files.filter((_path, index) =>
    CONVERSIONS.some((_name, nth) => !PLAIN.includes(facts[(index * CONVERSIONS.length + nth) * 3 + 2])),
  );
}

/** Compares with a fresh checkout of the same paths, because a checkout may convert what the objects hold. */
function restore(paths, tracked) {
  const fresh = `${workspace}/.git/fresh`;
  fs.mkdirSync(fresh, { recursive: true, mode: 0o755 });
  for (let start = 0; start < paths.length; start += BATCH) {
    const batch = paths.slice(start, start + BATCH);
    git(['checkout-index', '-f', '-z', '--stdin'], { tree: fresh, input: batch.join('\0') });
    for (const path of batch) {
      if (isSame(path, fresh)) continue;
      remove(path);
      fs.renameSync(at(path, fresh), at(path));
      changed.push(path);
    }
  }
  remove('.git');
  // The index has the times and sizes of the replaced files.
  const forgotten = paths.map((path) => `${tracked.get(path).mode} ${tracked.get(path).object}\t${path}\0`);
  git(['update-index', '-z', '--index-info'], { input: forgotten.join('') });
}

/** Removes what the commit neither has nor ignores, folder by folder, so that no rule is read that is not the commit's. */
function sweep(tracked) {
  const folders = [...tracked].filter(([, { mode }]) => mode === '040000').map(([path]) => path);
  let level = ['', ...folders].map((folder) => ({ folder, root: undefined }));
  const added = [];
  for (let depth = 0; level.length > 0; depth += 1) {
    const next = [];
    const unknown = [];
    const judge = () => {
      const found = unknown.splice(0);
      const ignored = findIgnored(found.map(({ path }) => path));
      for (const { path, root } of found) {
        if (ignored.has(path)) continue;
        if (look(path)?.isDirectory() && path.length < PATH_LENGTH && depth < DEPTH) next.push({ folder: path, root });
        else drop(path, root);
      }
    };
    const names = level.flatMap((each) => namesIn(each, tracked));
    for (const each of names) {
      const { path, name, root } = each;
      if (RULES.includes(name)) drop(path, root);
      else if (CACHES.test(name)) remove(path);
    }
    for (const each of names) {
      if (!RULES.includes(each.name) && !CACHES.test(each.name)) unknown.push(each);
      if (unknown.length === BATCH) judge();
    }
    judge();
    for (const { folder } of next) setMode(folder, FOLDER);
    added.push(...next);
    level = next;
  }
  for (const { folder, root } of added.reverse()) dropWhenEmpty(folder, root);
}

/** What is in a folder and not in the commit; `root` is the topmost path that the commit does not have. */
function namesIn({ folder, root }, tracked) {
  return fs
    .readdirSync(at(folder), 'latin1')
    .map((name) => ({ name, path: folder === '' ? name : `${folder}/${name}` }))
    .filter(({ path }) => !tracked.has(path) && path !== '.git' && !isReport(path))
    .map((entry) => ({ ...entry, root: root ?? entry.path }));
}

function isReport(path) {
  return reports.includes(path) && look(path)?.isFile() === true;
}

function findIgnored(paths) {
  const isInstalled = (path) => INSTALLED.test(path) && look(path)?.isFile() !== true;
  return new Set([...paths.filter(isInstalled), ...askIgnored(paths.filter((path) => !isInstalled(path)))]);
}

function askIgnored(paths) {
  if (paths.length === 0) return [];
  const args = ['check-ignore', '--no-index', '-z', '--stdin'];
  // With a folder in front, no name is taken for a pattern with magic.
  const input = paths.map((path) => `./${path}\0`).join('');
  return split(git(args, { input, ok: [0, 1] })).map((path) => path.slice(2));
}

function drop(path, root) {
  const isFolder = look(root)?.isDirectory() === true;
  remove(path);
  removed.set(root, `${root}${isFolder ? '/' : ''}`);
}

function dropWhenEmpty(folder, root) {
  if (fs.readdirSync(at(folder)).length > 0) return;
  drop(folder, root);
}

/** What commands left in `.git` that would decide what a gate's git runs. */
function lookIntoGit() {
  try {
    if (look('.git')?.isDirectory() !== true) return [''];
    setMode('.git', FOLDER);
    const planted = PLANTED.filter((name) => look(`.git/${name}`) !== undefined);
    return hasOwnConfig() ? ['config', ...planted] : planted;
  } catch {
    return [''];
  }
}

function hasOwnConfig() {
  const [wanted, found] = [look('config', repository), look('.git/config')];
  if (!found?.isFile() || found.size !== wanted.size || (found.mode & 0o400) === 0) return true;
  return !isSameContent(at('config', repository), at('.git/config'));
}

/** Git would wait for ever for a pipe in the place of its rules. */
function clearRules(folder, tracked) {
  for (const path of RULES.map((name) => `${folder}${name}`)) {
    const found = look(path);
    const isLink = found?.isSymbolicLink() === true && tracked.get(path)?.mode === '120000';
    if (found === undefined || found.isFile() || isLink) continue;
    if (tracked.has(path)) remove(path);
    else drop(path, path);
  }
}

function main() {
  changed.push(...lookIntoGit().map((name) => `.git/${name}`));
  remove('.git');
  const tracked = readCommit();
  clearRules('', tracked);
  for (const [path, { mode, size }] of tracked) {
    if (mode === '040000' || mode === SUBMODULE) makeFolder(path);
    if (mode === '040000') clearRules(`${path}/`, tracked);
    if (mode === SUBMODULE) remove(`${path}/.git`);
    if (look(path)?.size > LARGEST(size)) remove(path);
    if (!mode.startsWith('100') || !look(path)?.isFile()) continue;
    if (setMode(path, mode === '100755' ? PROGRAM : FILE)) changed.push(path);
  }
  const suspects = new Set([...findDifferent(), ...findConverted(tracked)]);
  if (suspects.size > 0) restore([...suspects], tracked);
  sweep(tracked);
  fs.cpSync(repository, `${workspace}/.git`, { recursive: true });
  if (suspects.size > 0) git(['update-index', '-q', '--refresh'], { dir: `${workspace}/.git`, ok: [0, 1] });
}

function show(path) {
  return Buffer.from(path, 'latin1').toString('utf8').slice(0, NAME_LENGTH);
}

try {
  main();
  const all = [...new Set(changed)].sort();
  const [named, gone] = [all.slice(0, NAMED), [...removed.values()].sort().slice(0, NAMED)];
  const more = all.length + removed.size - named.length - gone.length;
  process.stdout.write(`${JSON.stringify({ changed: named.map(show), removed: gone.map(show), more })}\n`);
} catch (error) {
  const kind = isFault(error) ? 'fault' : 'error';
  process.stdout.write(`${JSON.stringify({ [kind]: String(error.message ?? error).slice(0, NAME_LENGTH) })}\n`);
}
