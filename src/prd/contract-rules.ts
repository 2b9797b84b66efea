import type { DialectId } from './dialect-registry.ts';
import type { Diagnostics } from './diagnostics.ts';
import type { JsonDocument, PrdDocument } from './dialect.ts';
import type { JsonValue } from './json/json-positions.ts';
import { describeKind } from './json/object-reader.ts';
import { didYouMean } from '../core/text/did-you-mean.ts';

/** Adds a problem for each rule of a tool that a file breaks; halo itself reads more than the tool does. Pure. */
type ContractRules = (document: JsonDocument, diagnostics: Diagnostics) => void;

/** The dialects whose tools have rules of their own. */
const RULES: Partial<Record<DialectId, ContractRules>> = {
  daedalus: addDaedalusDiagnostics,
  swanson: addSwansonDiagnostics,
};

/** Checks a document with the rules of the tool that the dialect is named after; other dialects have none. */
export function addContractDiagnostics(dialect: string, document: PrdDocument, diagnostics: Diagnostics): void {
  if (document.format === 'json') RULES[dialect as DialectId]?.(document, diagnostics);
}

const TYPES = ['feature', 'bug', 'enhancement', 'spike', 'chore', 'tech-debt'];
/** The two editions of the schema call the second one differently. */
const COMPLEXITIES = ['simple', 'medium', 'moderate', 'complex'];

function addSwansonDiagnostics({ json }: JsonDocument, diagnostics: Diagnostics): void {
  const file = checkerOf(json, diagnostics);
  file.text('type');
  file.oneOf('type', TYPES);
  file.text('name');
  file.text('description');
  const stories = storiesOf(json, diagnostics);
  for (const at of stories) {
    const story = checkerOf(at, diagnostics);
    addFieldDiagnostics(story, /^(?:US|BUG|TECH)-\d{3,}$/, 'US-001, BUG-001 or TECH-001');
    story.wholeNumber('priority', 1);
    story.oneOf('complexity', COMPLEXITIES);
  }
  addRepeatedDiagnostics(stories, 'id', diagnostics);
}

function addDaedalusDiagnostics({ json }: JsonDocument, diagnostics: Diagnostics): void {
  const file = checkerOf(json, diagnostics);
  file.text('project');
  file.string('description');
  const stories = storiesOf(json, diagnostics);
  for (const at of stories) {
    const story = checkerOf(at, diagnostics);
    addFieldDiagnostics(story, /^US-\d{3,}$/, 'US-001');
    story.wholeNumber('priority', 1);
    const [passes, inProgress] = [at.members.get('passes'), at.members.get('inProgress')];
    if (inProgress !== undefined && passes?.value === true && inProgress.value === true)
      story.problem(inProgress, 'must not be true for a story that passes');
  }
  addRepeatedDiagnostics(stories, 'id', diagnostics);
  addRepeatedDiagnostics(stories, 'priority', diagnostics);
}

/** The fields that both tools require of a story. */
function addFieldDiagnostics(story: Checker, id: RegExp, example: string): void {
  story.text('id');
  story.matches('id', id, `must have the form ${example}`);
  story.text('title');
  story.text('description');
  story.texts('acceptanceCriteria');
  story.boolean('passes');
}

/** The items of `userStories` that are objects. */
function storiesOf(json: JsonValue, diagnostics: Diagnostics): JsonValue[] {
  const file = checkerOf(json, diagnostics);
  const list = file.require('userStories', 'array', 'a list of stories');
  if (list?.items.length === 0) file.problem(list, 'must have at least one story');
  return (list?.items ?? []).filter(({ kind }) => kind === 'object');
}

/** A repeated value is reported at each story after the first. */
function addRepeatedDiagnostics(stories: readonly JsonValue[], key: string, diagnostics: Diagnostics): void {
  const first = new Map<unknown, JsonValue>();
  for (const { members } of stories) {
    const member = members.get(key);
    if (member === undefined) continue;
    const earlier = first.get(member.value);
    if (earlier === undefined) first.set(member.value, member);
    else addOnce(diagnostics, member, `must be unique; ${earlier.where} has the same`);
  }
}

type Checker = ReturnType<typeof checkerOf>;

/** Checks of the members of one object, each under exactly the name that the tool reads. */
function checkerOf(object: JsonValue, diagnostics: Diagnostics) {
  const problem = (at: { where: string; offset: number }, rule: string) => addOnce(diagnostics, at, rule);
  const require = (key: string, kind: JsonValue['kind'], what: string): JsonValue | undefined => {
    const member = object.members.get(key);
    const where = object.where === '' ? key : `${object.where}.${key}`;
    if (member === undefined) problem({ where, offset: object.offset }, 'is missing');
    else if (member.kind !== kind) problem(member, `must be ${what}, not ${describeKind(member)}`);
    return member?.kind === kind ? member : undefined;
  };
  const takeRequiredText = (key: string) => {
    const member = require(key, 'string', 'a string');
    if (member !== undefined && isBlank(member)) problem(member, 'is empty');
  };
  return {
    problem,
    require,
    text: takeRequiredText,
    string: (key: string) => void require(key, 'string', 'a string'),
    boolean: (key: string) => void require(key, 'boolean', 'true or false'),
    wholeNumber(key: string, least: number) {
      const member = require(key, 'number', 'a number');
      if (member !== undefined && !(Number.isInteger(member.value) && Number(member.value) >= least))
        problem(member, `must be a whole number of at least ${least}`);
    },
    texts(key: string) {
      const list = require(key, 'array', 'a list of strings');
      if (list?.items.length === 0) problem(list, 'must have at least one criterion');
      for (const item of list?.items ?? []) {
        if (item.kind !== 'string') problem(item, `must be a string, not ${describeKind(item)}`);
        else if (isBlank(item)) problem(item, 'is empty');
      }
    },
    oneOf(key: string, words: readonly string[]) {
      const member = object.members.get(key);
      if (member !== undefined && !words.includes(member.value as string))
        problem(member, `must be one of ${words.join(', ')}${didYouMean(member.value, words)}`);
    },
    matches(key: string, pattern: RegExp, rule: string) {
      const member = object.members.get(key);
      if (member?.kind === 'string' && !isBlank(member) && !pattern.test(member.value as string)) problem(member, rule);
    },
  };
}

function isBlank({ value }: JsonValue): boolean {
  return (value as string).trim() === '';
}

/** The dialect may have found the same problem, in the same or in other words. */
function addOnce({ problems }: Diagnostics, { where, offset }: { where: string; offset: number }, rule: string): void {
  if (!problems.some((each) => each.where === where && each.offset === offset)) problems.push({ where, offset, rule });
}
