import * as z from 'zod';
import { OPERATIONS } from '../../api/operations.ts';
import { safeOutput, truncate } from '../../core/text/safe-text.ts';
import { transcribe } from '../../core/transcript/transcript.ts';
import { defineTool, fieldOf, RUN_REFERENCE } from '../tool.ts';
import { MAX_TEXT } from '../tool-result.ts';

/** Characters of the text of a page, so that its end is in the result when hidden characters are spelled. */
const PAGE = MAX_TEXT / 2;

const MAX_LINES = 200;
const MAX_LINE_LENGTH = 300;

export const logsTool = defineTool({
  name: 'halo_logs',
  title: 'Read the log of a run',
  description:
    'Returns the last lines of the log of a run, or of one story. For the whole output of a gate or an agent, use halo_files.',
  uses: [OPERATIONS.followEvents],
  input: z.strictObject({
    runId: RUN_REFERENCE,
    story: fieldOf(OPERATIONS.readDiff, 'story'),
    lines: z.int().min(1).max(MAX_LINES).default(60).describe('The number of lines.'),
  }),
  output: z.object({ text: z.string(), omittedLines: z.number().int().describe('Earlier lines.') }),
  async run(operations, { runId, story, lines }, signal) {
    let kept: string[] = [];
    let total = 0;
    let startedAt: string | undefined;
    for await (const { event } of await operations.followEvents({ runId, after: 0, follow: false }, signal)) {
      startedAt ??= event.at;
      if (story !== undefined && !('story' in event && event.story === story)) continue;
      const found = transcribe(event, startedAt).map((line) => truncate(line, MAX_LINE_LENGTH));
      total += found.length;
      kept = [...kept, ...found].slice(-lines);
    }
    while (kept.length > 1 && kept.join('\n').length > PAGE) kept.shift();
    return { text: kept.join('\n'), omittedLines: total - kept.length };
  },
});

export const diffTool = defineTool({
  name: 'halo_diff',
  title: 'Read the diff of a run',
  description: `${OPERATIONS.readDiff.summary} At most ${PAGE} characters; \`next\` is the offset of the rest.`,
  uses: [OPERATIONS.readDiff],
  input: z.strictObject({
    runId: RUN_REFERENCE,
    story: fieldOf(OPERATIONS.readDiff, 'story'),
    offset: z.int().min(0).default(0).describe('Where to begin: `next` of the result before.'),
  }),
  output: z.object({
    text: z.string(),
    total: z.number().int().describe('Characters of the whole diff.'),
    next: z.number().int().optional(),
  }),
  async run(operations, { runId, story, offset }) {
    const whole = (await operations.readDiff({ runId, story })).toString('utf8');
    const end = endOfPage(whole, offset);
    return { text: whole.slice(offset, end), total: whole.length, ...(end < whole.length && { next: end }) };
  },
});

/** The end of a page: after a whole line if there is one, and never within a character. */
function endOfPage(text: string, offset: number): number {
  const end = Math.min(offset + PAGE, text.length);
  if (end === text.length) return end;
  const line = text.lastIndexOf('\n', end - 1) + 1;
  if (line > offset) return line;
  return /[\ud800-\udbff]/.test(text.charAt(end - 1)) ? end - 1 : end;
}

const MAX_FILES = 200;

export const filesTool = defineTool({
  name: 'halo_files',
  title: 'Read the files of a run',
  description:
    'Without `path`, lists the files of all attempts: prompts, logs of setup and gates, patches. With `path`, reads the end of one.',
  uses: [OPERATIONS.listArtifacts, OPERATIONS.readArtifact],
  input: z.strictObject({
    runId: RUN_REFERENCE,
    path: z.string().min(1).max(1000).optional().describe('A path from the list.'),
    last: z
      .int()
      .min(1)
      .max(PAGE)
      .default(PAGE / 2)
      .describe('Number of bytes, from the end.'),
  }),
  output: z.object({
    files: z.array(z.object({ path: z.string(), bytes: z.number().int() })).optional(),
    omittedFiles: z.number().int().optional(),
    text: z.string().optional(),
  }),
  async run(operations, { runId, path, last }) {
    if (path !== undefined)
      return {
        text: safeOutput((await operations.readArtifact({ runId, path, last, whole: false })).toString('utf8')),
      };
    const all = (await operations.listArtifacts({ runId })).artifacts;
    const files = all.slice(0, MAX_FILES).map((file) => ({ path: truncate(file.path, 300), bytes: file.bytes }));
    return { files, omittedFiles: all.length - files.length };
  },
});
