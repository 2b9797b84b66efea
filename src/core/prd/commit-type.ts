import type { Prd, Story } from './prd.ts';

/** Words for kinds of work, by the type of a conventional commit. */
const TYPES: Record<string, readonly string[]> = {
  feat: ['feat', 'feature', 'enhancement', 'improvement', 'story', 'us'],
  fix: ['fix', 'bug', 'bugfix', 'defect', 'hotfix'],
  docs: ['docs', 'doc', 'documentation'],
  refactor: ['refactor', 'refactoring', 'techdebt', 'tech', 'cleanup'],
  test: ['test', 'tests', 'testing'],
  perf: ['perf', 'performance'],
  chore: ['chore', 'maintenance', 'spike', 'research', 'dependencies', 'deps'],
  build: ['build'],
  ci: ['ci'],
  style: ['style'],
};

const TYPE_OF = new Map(Object.entries(TYPES).flatMap(([type, words]) => words.map((word) => [word, type])));

const TYPE_FIELDS = ['type', 'kind', 'workType', 'work_type', 'label'];
const SCOPE_FIELDS = ['scope', 'component', 'area', 'module'];

/**
 * The type of the commit of a story: a field of the story, the prefix of its id (`BUG-001`), the field `type` of the PRD,
 * else `feat`. Always one of a fixed list.
 */
export function commitTypeOf({ id, extra }: Pick<Story, 'id' | 'extra'>, { context }: Pick<Prd, 'context'>): string {
  const prefix = /^([A-Za-z]+)[-_]?\d/.exec(id)?.[1] ?? '';
  const ofFile = context.find(({ label, stories }) => label === 'type' && stories === undefined)?.text ?? '';
  // An ordinary id says less than the file.
  const words = [...textsOf(extra, TYPE_FIELDS), ...(/^us$/i.test(prefix) ? [] : [prefix]), ofFile];
  for (const word of words) {
    const type = TYPE_OF.get(word.toLowerCase().replace(/[^a-z]/g, ''));
    if (type !== undefined) return type;
  }
  return 'feat';
}

/** The scope of the commit of a story: a field of the story, as one short word; empty if it has none. */
export function commitScopeOf({ extra }: Pick<Story, 'extra'>): string {
  const [text = ''] = textsOf(extra, SCOPE_FIELDS);
  const word = text.trim().toLowerCase().replace(/\s+/g, '-');
  return /^[a-z0-9][a-z0-9._/-]{0,39}$/.test(word) ? word : '';
}

function textsOf(extra: Story['extra'], fields: readonly string[]): string[] {
  return fields.flatMap((field) => {
    const value = Object.hasOwn(extra, field) ? extra[field] : undefined;
    return typeof value === 'string' && value.length <= 100 ? [value] : [];
  });
}
