import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../../config/config.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import type { Note } from '../../../git/commit/notes.ts';
import { isSigned, publicKeyOf, verifySignature, type Signature } from '../../../git/commit/create-commit.ts';
import { readRegularText } from '../../../lib/fs.ts';
import type { FactCheck } from './compare-proof.ts';

const MAX_BYTES = 1024 * 1024;

/**
 * The allowed signers file of this machine's configuration; undefined if signatures are not required. If only a signing key
 * is configured, creates a file for it in `folder`. Throws CONFIG_INVALID if a file cannot be read.
 */
export async function findSigners(
  { sign, signingKey, allowedSigners }: Config['git'],
  folder: string,
): Promise<string | undefined> {
  if (allowedSigners !== undefined) {
    await readSignersText(allowedSigners, 'git.allowed_signers');
    return allowedSigners;
  }
  if (sign !== 'ssh' || signingKey === undefined) return undefined;
  const key =
    publicKeyOf(await readSignersText(signingKey, 'git.signing_key')) ??
    (await readSignersText(`${signingKey}.pub`, 'The public part of git.signing_key')).trim();
  const file = join(folder, 'allowed_signers');
  await writeFile(file, `halo namespaces="git" ${key}\n`);
  return file;
}

async function readSignersText(path: string, what: string): Promise<string> {
  return readRegularText(path, MAX_BYTES).catch((cause: NodeJS.ErrnoException) => {
    throw new HaloError('CONFIG_INVALID', `${what}, ${path}, cannot be read (${cause.code ?? cause.message}).`, {
      hint: 'Set git.allowed_signers to a file in the format of gpg.ssh.allowedSignersFile.',
      cause,
    });
  });
}

interface SignatureQuery {
  gitDir: string;
  commit: string;
  note: Note | undefined;
  /** From `findSigners`. */
  signers: string | undefined;
}

/** Checks that commit and proof are signed by an allowed signer. Without allowed signers, returns an informational row. */
export async function checkSignatures({ gitDir, commit, note, signers }: SignatureQuery): Promise<FactCheck[]> {
  const origin = note?.addedBy;
  if (signers === undefined) {
    const signed = origin !== undefined && (await isSigned(gitDir, origin));
    const found = signed ? 'the proof is signed; the signer is not checked' : 'the proof is unsigned';
    return [{ what: 'signature', recorded: 'not required', found, ok: null }];
  }
  const signatures: [string, Signature][] = [
    ['commit', await verifySignature(gitDir, commit, signers)],
    ['proof', origin === undefined ? 'none' : await verifySignature(gitDir, origin, signers)],
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
