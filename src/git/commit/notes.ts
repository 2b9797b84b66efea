import { randomBytes } from 'node:crypto';
import { HaloError } from '../../core/failure/errors.ts';
import { syncRef } from '../repository/sync-repository.ts';
import { git, gitText, lastWords, tryGit } from '../process/git.ts';
import { readRef } from '../land/land-commit.ts';
import { assertObjectId, isObjectId, zeroId } from '../process/object-id.ts';
import { commitTreeArgs, type SigningKey } from './commit-signing.ts';

/** Where halo's records of landed commits are, in the repository that has the commits. */
export const NOTES_REF = 'refs/notes/halo';

export interface NoteRequest {
  gitDir: string;
  commit: string;
  text: string;
  /** Signs the commit of the notes. */
  key?: SigningKey | undefined;
}

/** No commit of a story has this message: those end with trailers. */
const MESSAGE = 'halo: record of a landed commit';
const TRIES = 8;
const IDENTITY = 'halo <halo@localhost>';
const IDENTITY_ENV = {
  GIT_AUTHOR_NAME: 'halo',
  GIT_AUTHOR_EMAIL: 'halo@localhost',
  GIT_COMMITTER_NAME: 'halo',
  GIT_COMMITTER_EMAIL: 'halo@localhost',
};

/**
 * Makes `text` the note of a commit. Notes that others write at the same time stay: the ref only moves forward from
 * where it was read. Throws GIT_FAILED.
 */
export async function writeNote(request: NoteRequest): Promise<void> {
  assertObjectId(request.commit, 'The commit');
  let why: string | undefined;
  for (let tries = 0; tries < TRIES; tries += 1) {
    const tip = await readRef(request.gitDir, NOTES_REF);
    why = await (request.key === undefined ? addNote(request, NOTES_REF, tip) : addSigned(request, request.key, tip));
    if (why === undefined) return syncRef(request.gitDir, NOTES_REF);
  }
  throw new HaloError('GIT_FAILED', `The note on ${request.commit.slice(0, 12)} could not be written: ${why ?? ''}`, {
    hint: 'The commit has landed; its record is in the run directory.',
  });
}

/** One process: it keeps the fan-out of the notes, and refuses when the ref moved meanwhile. Answers why it failed. */
async function addNote(request: NoteRequest, ref: string, tip: string | undefined): Promise<string | undefined> {
  const { gitDir, commit, text } = request;
  const message = `${MESSAGE}\n`;
  const input = [
    `commit ${ref}\n`,
    `committer ${IDENTITY} ${Math.floor(Date.now() / 1000)} +0000\n`,
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
  return exitCode === 0 ? undefined : (lastWords(stderr) ?? 'git gave no reason');
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
    const signed = await gitText(args, { gitDir, env: IDENTITY_ENV, durable: true });
    const swap = ['update-ref', '--no-deref', '-m', 'halo: note', NOTES_REF, signed, tip ?? zeroId(commit)];
    const moved = await tryGit(swap, { gitDir, env: IDENTITY_ENV, durable: true });
    return moved.exitCode === 0 ? undefined : (lastWords(moved.stderr) ?? 'the ref moved');
  } finally {
    await git(['update-ref', '--no-deref', '-d', aside], { gitDir });
  }
}

/** A note as it stands. */
export interface Note {
  /** undefined: it is larger than a record ever is. */
  text: string | undefined;
  /** The commit of the notes that brought this text in, whose signature speaks for it; undefined where none can be told. */
  broughtBy: string | undefined;
}

const LARGEST_NOTE = 1024 * 1024;

/** The note of a commit; undefined when it has none. Throws GIT_FAILED. */
export async function readNote(gitDir: string, commit: string): Promise<Note | undefined> {
  assertObjectId(commit, 'The commit');
  const listed = await git(['notes', `--ref=${NOTES_REF}`, 'list', commit], { gitDir, ok: [0, 1] });
  const blob = listed.stdout.toString('latin1').trim();
  if (listed.exitCode !== 0 || !isObjectId(blob)) return undefined;
  const size = Number(await gitText(['cat-file', '-s', blob], { gitDir }));
  const small = size <= LARGEST_NOTE;
  return {
    text: small ? (await git(['cat-file', 'blob', blob], { gitDir })).stdout.toString('utf8') : undefined,
    broughtBy: await findOrigin(gitDir, blob),
  };
}

/**
 * The first commit of the notes that has a text. A later one says nothing about it: whoever writes a note signs a tree
 * with all notes in it, also those that somebody else pushed before.
 */
async function findOrigin(gitDir: string, blob: string): Promise<string | undefined> {
  const args = ['-c', 'log.showRoot=true', 'log', '--topo-order', '--format=%H %P', `--find-object=${blob}`, NOTES_REF];
  const commits = await gitText(args, { gitDir });
  const [origin = '', ...parents] = (commits.split('\n').at(-1) ?? '').split(' ').filter((id) => id !== '');
  if (!isObjectId(origin)) return undefined;
  const raw = (await git(['cat-file', 'commit', origin], { gitDir })).stdout.toString('latin1');
  const headerEnd = raw.indexOf('\n\n');
  // In a shallow repository a commit may only look like the first one.
  if (parents.length === 0 && raw.slice(0, headerEnd).includes('\nparent ')) return undefined;
  // Commits of stories are signed by the same key, and their trees hold what an agent wrote.
  return raw.slice(headerEnd + 2).trimEnd() === MESSAGE ? origin : undefined;
}
