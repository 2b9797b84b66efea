import { toPrunedError } from '../../core/run/pruned.ts';
import { findLines } from '../../core/text/safe-text.ts';
import { operation } from './operation.ts';
import { flagSchema } from './schemas.ts';

export const logOperations = {
  readLog: operation({
    method: 'GET',
    path: '/v1/runs/{runId}/log-lines/{path*}',
    access: 'read',
    summary:
      'Returns lines of a file of an attempt, of any size. Known secrets are masked; hidden characters and colors are not.',
    input: (z) =>
      z.strictObject({
        from: z.coerce.number().int().min(0).default(0).describe('The first line, from 0.'),
        lines: z.coerce.number().int().min(1).max(1_000).default(500),
      }),
    example: { from: 2_000, lines: 500 },
    output: {
      kind: 'json',
      schema: (z) =>
        z.object({
          total: z.number().int().describe('Lines of the whole file.'),
          from: z.number().int(),
          lines: z
            .array(z.string())
            .describe('At most 1 MiB; continue after the last one. Lines of more than 4,096 bytes are cut.'),
        }),
    },
    async run({ store, masker, learnSecrets }, { path, from, lines, ...input }) {
      const runId = await store.find(input.runId);
      await learnSecrets((await store.readRecord(runId)).config);
      const page = await store.readLogLines(runId, path, { from, count: lines }).catch(async (error: unknown) => {
        throw toPrunedError(await store.readState(runId), error);
      });
      if (page.lines.length === 0) return { total: page.total, from, lines: [] };
      // Together, because a secret may have several lines.
      const joined = Buffer.concat(page.lines.flatMap((line) => [line, Buffer.from('\n')])).subarray(0, -1);
      return { total: page.total, from, lines: masker.known(joined).toString('utf8').split('\n') };
    },
  }),
  searchLog: operation({
    method: 'GET',
    path: '/v1/runs/{runId}/log-matches/{path*}',
    access: 'read',
    summary:
      'Returns the numbers of the lines of a file of an attempt that contain a text, in upper or lower case. Colors in the file do not matter.',
    input: (z) => z.strictObject({ text: z.string().min(1).max(200) }),
    example: { text: 'error' },
    output: {
      kind: 'json',
      schema: (z) =>
        z.object({
          count: z.number().int(),
          lines: z.array(z.number().int()).describe('From 0; the first 10,000.'),
        }),
    },
    async run({ store, masker, learnSecrets }, { path, text, ...input }) {
      const runId = await store.find(input.runId);
      await learnSecrets((await store.readRecord(runId)).config);
      // Masked first, so that no search finds out a secret.
      return store.searchLog(runId, path, (lines) => findLines(masker.known(lines).toString('utf8'), text));
    },
  }),
  followLog: operation({
    method: 'GET',
    path: '/v1/runs/{runId}/log-changes/{path*}',
    access: 'read',
    summary: 'Streams the size of a file of an attempt; with `follow` also each time that it has grown.',
    input: (z) => z.strictObject({ follow: flagSchema(z) }),
    example: { follow: false },
    output: { kind: 'stream', schema: (z) => z.object({ lines: z.number().int(), bytes: z.number().int() }) },
    async run({ store }, { runId, path, follow }, signal) {
      return store.followLog(await store.find(runId), path, { follow, ...(signal && { signal }) });
    },
  }),
};
