/** One field of a story: under which names files have it, and what is done with it. */
interface Field {
  /**
   * JSON keys; the first one present is used. Case, spaces, `-` and `_` are ignored, except where that exact spelling is
   * listed here (prd/json/object-reader.ts).
   */
  keys: readonly string[];
  /** Labels of lines and sections in Markdown, in lower case and without signs; the first one is written. */
  labels: readonly string[];
  /** Maximum characters in a prompt; longer texts are cut. */
  limit?: number;
  /** The part of a text that is cut in `$defs` of the JSON Schemas. */
  schema: string;
  /** The field says what to build: a change of it is a change of the work. */
  isSpecification: boolean;
}

/** A field that is one optional text, which all dialects, prompts and displays handle in the same way. */
interface TextField extends Field {
  schema: 'prose';
  limit: number;
  /** What is left of a text over the limit. */
  keeps: 'start' | 'end';
  /** Its name in prompts, on screens and in new Markdown files: one of its labels. */
  title: string;
}

/** Keeps the names of the rows as types. */
function table<Row>(): <Name extends string>(rows: Record<Name, Row>) => Record<Name, Row> {
  return (rows) => rows;
}

/** The optional texts of a story. A new one is one row: it is read, written, compared, shown and part of the prompt. */
export const TEXT_FIELDS = table<TextField>()({
  // Newer notes are at the end. Agents write them, so they are not part of the specification.
  notes: {
    keys: ['notes'],
    labels: ['notes'],
    limit: 20_000,
    keeps: 'end',
    title: 'Notes',
    schema: 'prose',
    isSpecification: false,
  },
});

export type TextFieldName = keyof typeof TEXT_FIELDS;

/** The texts of a story; an absent one is empty. */
export type StoryTexts = { notes: string } & { [Name in TextFieldName]?: string };

export const TEXT_FIELD_NAMES = Object.keys(TEXT_FIELDS) as TextFieldName[];

/** All fields of a story that have a meaning of their own; any other is passed to the agent under its own name. */
export const FIELDS = table<Field>()({
  id: {
    keys: ['id', 'ID', 'key', 'taskId', 'storyId', 'task_id', 'story_id'],
    labels: [],
    schema: 'id',
    isSpecification: true,
  },
  title: {
    keys: ['title', 'name', 'task', 'text', 'summary'],
    labels: [],
    schema: 'text',
    isSpecification: true,
  },
  description: {
    keys: ['description', 'desc', 'user_visible_behavior'],
    labels: ['description', 'user story'],
    limit: 40_000,
    schema: 'prose',
    isSpecification: true,
  },
  acceptance: {
    keys: [
      ...['acceptanceCriteria', 'acceptance_criteria', 'acceptance', 'criteria', 'steps', 'verification', 'testSteps'],
      ...['verificationCriteria', 'successCriteria', 'doneWhen', 'definition_of_done', 'subtasks', 'testStrategy'],
      ...['tests'],
    ],
    labels: [
      ...['acceptance criteria', 'acceptance test', 'acceptance tests', 'acceptance', 'criteria'],
      ...['definition of done', 'done when'],
      ...['critères d acceptation', 'criterios de aceptación', 'critérios de aceitação', 'criteri di accettazione'],
      ...['akzeptanzkriterien', 'abnahmekriterien', 'acceptatiecriteria', 'критерии приёмки', 'критерии приемки'],
      ...[
        '完了条件',
        '受け入れ条件',
        '受け入れ基準',
        '受入条件',
        '验收标准',
        '验收条件',
        '完成标准',
        '驗收標準',
        '인수 조건',
        '완료 조건',
      ],
    ],
    limit: 40_000,
    schema: 'criteria',
    isSpecification: true,
  },
  priority: { keys: ['priority'], labels: ['priority'], schema: 'priority', isSpecification: true },
  dependsOn: {
    keys: ['dependsOn', 'dependencies', 'depends_on', 'depends', 'deps', 'blockedBy', 'blocked_by'],
    labels: ['depends on', 'depends', 'dependencies', 'deps', 'blocked by'],
    schema: 'needs',
    isSpecification: true,
  },
  /** They may also name other things; what is not a story is text for the agent. */
  looseNeeds: {
    keys: ['requires', 'needs', 'after', 'prerequisites'],
    labels: ['requires', 'needs', 'prerequisites'],
    schema: 'looseNeeds',
    isSpecification: true,
  },
  /** Whether a story is done. */
  flag: {
    keys: ['passes', 'passed', 'done', 'complete', 'completed', 'tested'],
    labels: [],
    schema: 'flag',
    isSpecification: false,
  },
  /** The same, but only if the value is a boolean; other values have another meaning. */
  booleanFlag: {
    keys: [
      ...['isDone', 'isComplete', 'isCompleted', 'isFinished', 'isPassed', 'isPassing'],
      ...['finished', 'implemented', 'closed', 'resolved', 'merged', 'shipped', 'passing', 'checked'],
    ],
    labels: [],
    schema: 'booleanFlag',
    isSpecification: false,
  },
  /** Words for progress; `progress` only with a known word. */
  status: {
    keys: ['status', 'state', 'progress'],
    labels: ['status', 'state'],
    schema: 'status',
    isSpecification: false,
  },
  started: { keys: ['inProgress', 'started'], labels: [], schema: 'any', isSpecification: false },
  skip: { keys: ['skip', 'wontfix'], labels: [], schema: 'any', isSpecification: true },
  supersededBy: { keys: ['supersededBy'], labels: [], schema: 'any', isSpecification: true },
  userStory: { keys: ['user_story', 'userStory'], labels: [], schema: 'any', isSpecification: true },
  details: { keys: ['details'], labels: [], schema: 'prose', isSpecification: true },
  testsFirst: { keys: [], labels: ['tests first'], schema: 'any', isSpecification: true },
  ...TEXT_FIELDS,
});

/** All keys under which a story can have a field, in the order of the table. */
export const STORY_KEYS: readonly string[] = Object.values(FIELDS).flatMap(({ keys }) => keys);

/** All labels of fields in Markdown. */
export const FIELD_LABELS: readonly string[] = Object.values(FIELDS).flatMap(({ labels }) => labels);

/** Keys whose values say how far a story is. */
export const PROGRESS_FIELD_KEYS: readonly string[] = Object.values(FIELDS).flatMap(({ keys, isSpecification }) =>
  isSpecification ? [] : keys,
);

/** The JSON Schema of the value of each key, as the name of a part. */
export const KEY_SCHEMAS: readonly [key: string, part: string][] = Object.values(FIELDS).flatMap(({ keys, schema }) =>
  keys.map((key): [string, string] => [key, schema]),
);

/** The texts of a story that are not empty, by name. */
export function filledTexts(story: Partial<StoryTexts>): Partial<StoryTexts> {
  return Object.fromEntries(TEXT_FIELD_NAMES.flatMap((name) => (story[name] ? [[name, story[name]]] : [])));
}
