import { toPrunedError } from '../../../core/retention/retention.ts';
import type { Operation } from '../operation.ts';

interface Input {
  runId: string;
  /** As in the list of artifacts. */
  path: string;
  /** Number of bytes to read from its end, at most 65,536; absent: the whole file. */
  last: number | undefined;
}

export const readArtifactOperation: Operation<Input, Buffer> = {
  name: 'readArtifact',
  method: 'GET',
  path: '/v1/runs/{runId}/artifacts/{path*}',
  access: 'read',
  summary:
    'Returns a file of at most 16 MiB, or the `last` bytes of any file. Known secrets are masked; hidden characters are not.',
  input: (z) => z.strictObject({ last: z.coerce.number().int().min(1).max(65_536).optional() }),
  example: { last: 4096 },
  // Containers wrote it: a browser must not interpret it.
  output: { kind: 'bytes', mediaType: 'application/octet-stream' },
  async run({ store, masker, learnSecrets }, { path, last, ...input }) {
    const runId = await store.find(input.runId);
    const reading = last === undefined ? store.readArtifactFile(runId, path) : store.readArtifactEnd(runId, path);
    const [bytes, { config }] = await Promise.all([
      reading.catch(async (error: unknown) => {
        throw toPrunedError(await store.readState(runId), error);
      }),
      store.readRecord(runId),
    ]);
    await learnSecrets(config);
    // Text that looks like a secret was masked when the file was written, except in patches.
    const masked = masker.known(bytes);
    return last === undefined ? masked : masked.subarray(-last);
  },
};
