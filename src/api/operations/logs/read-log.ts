import { toPrunedError } from '../../../core/retention/retention.ts';
import type { Operation } from '../operation.ts';

interface Input {
  runId: string;
  /** As in the list of artifacts. */
  path: string;
  /** The first line, from 0. */
  from: number;
  lines: number;
}

interface Page {
  total: number;
  from: number;
  lines: string[];
}

export const readLogOperation: Operation<Input, Page> = {
  name: 'readLog',
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
};
