import { Readable } from 'node:stream';
import { toPrunedError } from '../../../core/retention/retention.ts';
import type { Operation } from '../operation.ts';
import { flagSchema } from '../schemas.ts';

interface Input {
  runId: string;
  /** As in the list of artifacts. */
  path: string;
  /** Number of bytes to read from its end, at most 65,536; absent: the whole file. */
  last: number | undefined;
  /** Streams the whole file, whatever its size. */
  whole?: boolean;
}

export const readArtifactOperation: Operation<Input, Buffer | Readable> = {
  name: 'readArtifact',
  method: 'GET',
  path: '/v1/runs/{runId}/artifacts/{path*}',
  access: 'read',
  summary:
    'Returns a file of at most 16 MiB, or with `whole` of any size, or the `last` bytes of any file. Known secrets are masked; hidden characters are not.',
  input: (z) => z.strictObject({ last: z.coerce.number().int().min(1).max(65_536).optional(), whole: flagSchema(z) }),
  example: { last: 4096 },
  // Containers wrote it: a browser must not interpret it.
  output: { kind: 'bytes', mediaType: 'application/octet-stream' },
  async run({ store, masker, learnSecrets }, { path, last, whole = false, ...input }) {
    const runId = await store.find(input.runId);
    const read = (): Promise<Buffer | AsyncIterable<Buffer>> => {
      if (whole) return store.streamArtifact(runId, path);
      return last === undefined ? store.readArtifactFile(runId, path) : store.readArtifactEnd(runId, path);
    };
    const [content, { config }] = await Promise.all([
      read().catch(async (error: unknown) => {
        throw toPrunedError(await store.readState(runId), error);
      }),
      store.readRecord(runId),
    ]);
    await learnSecrets(config);
    // The server masks streams.
    if (!Buffer.isBuffer(content)) return Readable.from(content);
    // Text that looks like a secret was masked when the file was written, except in patches.
    const masked = masker.known(content);
    return last === undefined ? masked : masked.subarray(-last);
  },
};
