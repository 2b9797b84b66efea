import { findLines } from '../../../core/text/safe-text.ts';
import type { LogMatches } from '../../../store/run/log-lines.ts';
import type { Operation } from '../operation.ts';

interface Input {
  runId: string;
  /** As in the list of artifacts. */
  path: string;
  text: string;
}

export const searchLogOperation: Operation<Input, LogMatches> = {
  name: 'searchLog',
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
};
