import { randomBytes } from 'node:crypto';
import { HaloError } from '../core/errors.ts';
import { syncRef } from './durable.ts';
import { git, gitText, lastWords, tryGit } from './git.ts';
import { readRef } from './land.ts';
import { assertObjectId, zeroId } from './object-id.ts';
import { commitTreeArgs, type SigningKey } from './sign.ts';

/** Where halo's records of landed commits are, in the repository that has the commits. */
export const NOTES_REF = 'refs/notes/halo';

export interface NoteRequest {
  gitDir: string;
  commit: string;
  text: string;
  /** Signs the commit of the notes. */
  key?: SigningKey | undefined;
}

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
  const message = 'halo: record of a landed commit\n';
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
    const args = [...commitTreeArgs(key), tree, ...parent, '-m', 'halo: record of a landed commit'];
    const signed = await gitText(args, { gitDir, env: IDENTITY_ENV, durable: true });
    const swap = ['update-ref', '--no-deref', '-m', 'halo: note', NOTES_REF, signed, tip ?? zeroId(commit)];
    const moved = await tryGit(swap, { gitDir, env: IDENTITY_ENV, durable: true });
    return moved.exitCode === 0 ? undefined : (lastWords(moved.stderr) ?? 'the ref moved');
  } finally {
    await git(['update-ref', '--no-deref', '-d', aside], { gitDir });
  }
}

/** The note of a commit; undefined when it has none. At most 1 MiB. */
export async function readNote(gitDir: string, commit: string): Promise<string | undefined> {
  assertObjectId(commit, 'The commit');
  const args = ['notes', `--ref=${NOTES_REF}`, 'show', commit];
  const shown = await git(args, { gitDir, maxBytes: 1024 * 1024, ok: [0, 1] });
  return shown.exitCode === 0 ? shown.stdout.toString('utf8') : undefined;
}
