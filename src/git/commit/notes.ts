import { randomBytes } from 'node:crypto';
import { lstat, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { ignore } from '../../lib/async.ts';
import { releaseAbandonedLock, syncRef } from '../repository/sync-repository.ts';
import { HALO_IDENTITY } from '../process/environment.ts';
import { git, gitText, tryGit } from '../process/git.ts';
import { assertObjectId, isObjectId, lastErrorLine, reasonOf, splitNul, zeroId } from '../process/git-output.ts';
import { commitTreeArgs, type SigningKey } from './create-commit.ts';

/** The ref of halo's proofs, in the repository that has the landed commits. */
export const NOTES_REF = 'refs/notes/halo';

interface NoteRequest {
  gitDir: string;
  commit: string;
  text: string;
  /** Signs the commit of the notes. */
  key?: SigningKey | undefined;
}

/** Stored in repositories, and compared. Commits of stories never have this message because theirs end with trailers. */
const MESSAGE = 'halo: record of a landed commit';
const TRIES = 8;

/**
 * Sets the note of a commit. Concurrent writes of other notes are preserved: the ref is updated by compare-and-swap.
 * Throws GIT_FAILED.
 */
export async function writeNote(request: NoteRequest): Promise<void> {
  assertObjectId(request.commit, 'The commit');
  let why: string | undefined;
  for (let tries = 0; tries < TRIES; tries += 1) {
    const tip = await readNotesTip(request.gitDir);
    why = await (request.key === undefined ? addNote(request, NOTES_REF, tip) : addSigned(request, request.key, tip));
    if (why === undefined) return syncRef(request.gitDir, NOTES_REF);
    await releaseAbandonedLock(request.gitDir, NOTES_REF);
  }
  throw new HaloError('GIT_FAILED', `The note on ${request.commit.slice(0, 12)} could not be written: ${why ?? ''}`, {
    hint: 'Use the proof in the run directory; the commit has landed.',
  });
}

/**
 * The commit of the notes, if there are any. Throws GIT_FAILED if their ref is another name of one, such as of a branch of
 * the user, which fast-import would move.
 */
async function readNotesTip(gitDir: string): Promise<string | undefined> {
  const path = join(gitDir, NOTES_REF);
  // As git stores a ref that was written last: a file with an id, which names no other ref. It takes no process to read.
  const isFile = await lstat(path).then((found) => found.isFile(), ignore);
  const id = isFile === true ? (await readFile(path, 'latin1').catch(() => '')).replace(/\n$/, '') : '';
  if (isObjectId(id)) return id;
  const format = '--format=%(refname) %(objectname) %(symref)';
  const listed = await gitText(['for-each-ref', format, NOTES_REF], { gitDir });
  const line = listed.split('\n').find((each) => each.startsWith(`${NOTES_REF} `));
  const [, tip, other = ''] = line?.split(' ') ?? [];
  if (other === '') return tip;
  throw new HaloError('GIT_FAILED', `${NOTES_REF} of ${gitDir} is a symbolic ref to ${other}.`, {
    hint: `Remove it: git symbolic-ref --delete ${NOTES_REF}.`,
  });
}

/** Uses fast-import, which keeps the fan-out of the notes and fails when the ref moved. Returns the error, if any. */
async function addNote(request: NoteRequest, ref: string, tip: string | undefined): Promise<string | undefined> {
  const { gitDir, commit, text } = request;
  const message = `${MESSAGE}\n`;
  const { GIT_COMMITTER_NAME, GIT_COMMITTER_EMAIL } = HALO_IDENTITY;
  const input = [
    `commit ${ref}\n`,
    `committer ${GIT_COMMITTER_NAME} <${GIT_COMMITTER_EMAIL}> ${Math.floor(Date.now() / 1000)} +0000\n`,
    `data ${Buffer.byteLength(message)}\n${message}`,
    tip === undefined ? '' : `from ${tip}\n`,
    `N inline ${commit}\ndata ${Buffer.byteLength(text)}\n${text}\n`,
    'done\n',
  ].join('');
  const { exitCode, stderr } = await tryGit(['fast-import', '--quiet', '--done', '--date-format=raw'], {
    gitDir,
    input,
    durable: true,
  });
  return exitCode === 0 ? undefined : (lastErrorLine(stderr) ?? 'git gave no reason');
}

async function addSigned(request: NoteRequest, key: SigningKey, tip: string | undefined): Promise<string | undefined> {
  const { gitDir, commit } = request;
  const aside = `refs/halo/notes-${randomBytes(6).toString('hex')}`;
  const failure = await addNote(request, aside, tip);
  if (failure !== undefined) return failure;
  try {
    const tree = await gitText(['rev-parse', '--verify', `${aside}^{tree}`], { gitDir });
    const parent = tip === undefined ? [] : ['-p', tip];
    const args = [...commitTreeArgs(key), tree, ...parent, '-m', MESSAGE];
    const signed = await gitText(args, { gitDir, env: HALO_IDENTITY, durable: true });
    const swap = ['update-ref', '--no-deref', '-m', 'halo: note', NOTES_REF, signed, tip ?? zeroId(commit)];
    const moved = await tryGit(swap, { gitDir, env: HALO_IDENTITY, durable: true });
    return moved.exitCode === 0 ? undefined : (reasonOf(moved) ?? 'the ref moved');
  } finally {
    await git(['update-ref', '--no-deref', '-d', aside], { gitDir });
  }
}

/** A note of a commit. */
export interface Note {
  /** Undefined when the note is larger than any proof. */
  text: string | undefined;
  /** The notes commit that added this text, whose signature covers it; undefined when it cannot be determined. */
  addedBy: string | undefined;
}

const MAX_NOTE_BYTES = 1024 * 1024;

/** Reads the note of a commit; undefined when it has none. Throws GIT_FAILED. */
export async function readNote(gitDir: string, commit: string): Promise<Note | undefined> {
  assertObjectId(commit, 'The commit');
  const listed = await git(['notes', `--ref=${NOTES_REF}`, 'list', commit], { gitDir, ok: [0, 1] });
  const blob = listed.stdout.toString('latin1').trim();
  if (listed.exitCode !== 0 || !isObjectId(blob)) return undefined;
  return readNoteBlob(gitDir, blob, NOTES_REF);
}

/** The notes of commits, as of `notes`, a commit of notes; those without one are absent. Throws GIT_FAILED. */
export async function readNotesAt(
  gitDir: string,
  notes: string,
  commits: readonly string[],
): Promise<ReadonlyMap<string, Note>> {
  if (notes === '') return new Map();
  const listed = await git(['ls-tree', '-r', '-z', '--end-of-options', notes], { gitDir, ok: [0, 128] });
  const wanted = new Set(commits);
  const found = new Map<string, Note>();
  for (const entry of splitNul(listed.stdout)) {
    const [, blob = '', path = ''] = /^\d+ blob ([0-9a-f]+)\t(.*)$/.exec(entry) ?? [];
    const commit = path.replaceAll('/', '');
    if (wanted.has(commit)) found.set(commit, await readNoteBlob(gitDir, blob, notes));
  }
  return found;
}

/** `notes`: the ref or commit that has the note. */
async function readNoteBlob(gitDir: string, blob: string, notes: string): Promise<Note> {
  const size = Number(await gitText(['cat-file', '-s', blob], { gitDir }));
  const small = size <= MAX_NOTE_BYTES;
  return {
    text: small ? (await git(['cat-file', 'blob', blob], { gitDir })).stdout.toString('utf8') : undefined,
    addedBy: await findOrigin(gitDir, blob, notes),
  };
}

/**
 * Finds the first notes commit that contains a text. Later signatures do not vouch for it: writing a note signs a tree
 * with all notes, including those that someone else pushed before.
 */
async function findOrigin(gitDir: string, blob: string, notes: string): Promise<string | undefined> {
  const args = ['-c', 'log.showRoot=true', 'log', '--topo-order', '--format=%H %P', `--find-object=${blob}`, notes];
  const commits = await gitText(args, { gitDir });
  const [origin = '', ...parents] = (commits.split('\n').at(-1) ?? '').split(' ').filter((id) => id !== '');
  if (!isObjectId(origin)) return undefined;
  const raw = (await git(['cat-file', 'commit', origin], { gitDir })).stdout.toString('latin1');
  const headerEnd = raw.indexOf('\n\n');
  // In a shallow repository a commit may only look like the first one.
  if (parents.length === 0 && raw.slice(0, headerEnd).includes('\nparent ')) return undefined;
  // Commits of stories are signed with the same key, and their trees contain what an agent wrote.
  return raw.slice(headerEnd + 2).trimEnd() === MESSAGE ? origin : undefined;
}
