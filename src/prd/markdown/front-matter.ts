import { HaloError } from '../../core/failure/errors.ts';
import type { Diagnostics } from '../diagnostics.ts';
import type { JsonValue } from '../json/json-positions.ts';
import { parseYamlWithPositions } from '../json/parse-yaml.ts';
import type { MarkdownDocument } from './blocks.ts';

/** The names of the top-level keys of the front matter; empty if there is none. Cheap: for the detection of dialects. */
export function frontMatterKeys({ frontMatter }: MarkdownDocument): ReadonlySet<string> {
  return new Set([...frontMatter.text.matchAll(/^([A-Za-z_][\w-]{0,60}):(?=\s|$)/gm)].map(([, key = '']) => key));
}

/** Reads the front matter, with the place of each value in the file; a syntax error in it is a problem. */
export function readFrontMatter(
  { text, frontMatter, lines }: MarkdownDocument,
  diagnostics: Diagnostics,
): JsonValue | undefined {
  const end = lines[0]?.offset ?? text.length;
  const yaml = text.slice(frontMatter.offset, end).replace(/(?:---|\.\.\.)[ \t]*(?:\r?\n)?$/, '');
  try {
    const root = parseYamlWithPositions(yaml, 'front matter', frontMatter.offset);
    return root.kind === 'object' ? root : undefined;
  } catch (error) {
    if (!(error instanceof HaloError)) throw error;
    // One line for `---`.
    const problems = error.problems ?? [];
    const offset = offsetOfLine(text, 1 + (problems[0]?.line ?? 1));
    diagnostics.problems.push({ where: 'front matter', offset, rule: problems[0]?.rule ?? error.message });
    return undefined;
  }
}

function offsetOfLine(text: string, line: number): number {
  let offset = 0;
  for (let at = 1; at < line; at++) {
    const next = text.indexOf('\n', offset);
    if (next < 0) return offset;
    offset = next + 1;
  }
  return offset;
}
