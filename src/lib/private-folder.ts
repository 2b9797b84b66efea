import { chmod, mkdir } from 'node:fs/promises';

/** Makes a folder that only its owner can enter, with the folders above it that are missing; closes one that is there. */
export async function makePrivateFolder(dir: string): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await chmod(dir, 0o700);
}
