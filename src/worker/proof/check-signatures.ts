import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { HaloError } from '../../core/failure/errors.ts';
import type { Note } from '../../git/commit/notes.ts';
import { publicKeyOf } from '../../git/commit/public-key.ts';
import { checkSignature, isSigned, type Signature } from '../../git/commit/commit-signing.ts';
import { readRegularText } from '../../lib/read-file.ts';
import type { Check } from '../check.ts';

const MOST_BYTES = 1024 * 1024;

/**
 * The file of those whose signatures count, by this machine's configuration; undefined where it asks for none. One that
 * names the own signing key alone is made in `folder`. Throws CONFIG_INVALID when it cannot be read.
 */
export async function findSigners(
  { sign, signingKey, allowedSigners }: Config['git'],
  folder: string,
): Promise<string | undefined> {
  if (allowedSigners !== undefined) {
    await readText(allowedSigners, 'git.allowed_signers');
    return allowedSigners;
  }
  if (sign !== 'ssh' || signingKey === undefined) return undefined;
  const key =
    publicKeyOf(await readText(signingKey, 'git.signing_key')) ??
    (await readText(`${signingKey}.pub`, 'The public part of git.signing_key')).trim();
  const file = join(folder, 'allowed_signers');
  await writeFile(file, `halo namespaces="git" ${key}\n`);
  return file;
}

async function readText(path: string, what: string): Promise<string> {
  return readRegularText(path, MOST_BYTES).catch((cause: NodeJS.ErrnoException) => {
    throw new HaloError('CONFIG_INVALID', `${what}, ${path}, cannot be read (${cause.code ?? cause.message}).`, {
      hint: 'Name whose signatures count: git.allowed_signers, a file as of gpg.ssh.allowedSignersFile.',
      cause,
    });
  });
}

export interface SignatureQuery {
  gitDir: string;
  commit: string;
  note: Note | undefined;
  /** From `findSigners`. */
  signers: string | undefined;
}

/** Whether commit and record are signed by somebody who is allowed; where nobody is named, a row that only tells. */
export async function checkSignatures({ gitDir, commit, note, signers }: SignatureQuery): Promise<Check[]> {
  const origin = note?.broughtBy;
  if (signers === undefined) {
    const signed = origin !== undefined && (await isSigned(gitDir, origin));
    const found = signed ? 'the record is signed, by whom is not checked' : 'the record is unsigned';
    return [{ what: 'signature', recorded: 'none is asked for', found, ok: null }];
  }
  const signatures: [string, Signature][] = [
    ['commit', await checkSignature(gitDir, commit, signers)],
    ['record', origin === undefined ? 'none' : await checkSignature(gitDir, origin, signers)],
  ];
  return signatures.map(([what, signature]) => ({
    what: `signature of ${what}`,
    recorded: FOUND.good,
    found: FOUND[signature],
    ok: signature === 'good',
  }));
}

const FOUND: Record<Signature, string> = {
  good: 'by an allowed signer',
  none: 'unsigned',
  foreign: 'by a key that is not allowed',
  invalid: 'not valid',
};
