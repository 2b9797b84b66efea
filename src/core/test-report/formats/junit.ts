import type { CollectedTests, TestCase } from './collect-tests.ts';

const MAX_TAG_LENGTH = 10_000;

/** Reads JUnit XML. Scans tags without an XML parser, so that entities and doctypes of untrusted files have no effect. */
export function readJunit(text: string, tests: CollectedTests): boolean {
  const start = text.search(/<testsuites?[\s>/]/);
  if (start < 0) return false;
  let current: TestCase | undefined;
  for (const tag of tagsOf(text, start)) {
    const name = /^\/?[\w:-]+/.exec(tag)?.[0];
    if (name === 'testcase') {
      if (tests.isFull()) break;
      current = addCase(tag, tests);
      if (tag.endsWith('/')) current = undefined;
    } else if (name === '/testcase') current = undefined;
    else if (current !== undefined && (name === 'skipped' || name === 'disabled')) current.skipped = true;
    else if (current !== undefined && (name === 'failure' || name === 'error')) current.failed = true;
  }
  return true;
}

/** Yields the text between `<` and `>`, without comments and CDATA. */
function* tagsOf(text: string, start: number): Generator<string> {
  for (let at = text.indexOf('<', start); at >= 0; at = text.indexOf('<', at)) {
    const [opening, closing] = text.startsWith('<!--', at)
      ? ['<!--', '-->']
      : text.startsWith('<![CDATA[', at)
        ? ['<![CDATA[', ']]>']
        : ['<', '>'];
    const end = text.indexOf(closing, at + opening.length);
    if (end < 0) return;
    if (opening === '<') yield text.slice(at + 1, Math.min(end, at + MAX_TAG_LENGTH));
    at = end + closing.length;
  }
}

function addCase(tag: string, tests: CollectedTests): TestCase {
  const attributes = new Map(
    [...tag.matchAll(/\s([\w:-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g)].map(([, key = '', double, single]) => [
      key,
      plain(double ?? single ?? ''),
    ]),
  );
  const suite = attributes.get('classname') ?? '';
  const name = attributes.get('name') ?? '';
  const asserts = Number(attributes.get('assertions') ?? NaN);
  return tests.add(suite === '' || name.startsWith(suite) ? [name] : [suite, name], {
    skipped: /^(?:skipped|disabled|notrun)$/i.test(attributes.get('status') ?? ''),
    ...(Number.isInteger(asserts) ? { asserts } : {}),
  });
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function plain(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|apos);/g, (_whole, name: string) => ENTITIES[name] ?? '');
}
