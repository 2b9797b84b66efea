import type { TestCase } from '../../test-case.ts';
import type { Tests } from '../../test-formats/collect.ts';

const LONGEST_TAG = 10_000;

/** JUnit XML. Read tag by tag: entities and doctypes of a hostile file have no meaning here. */
export function readJunit(text: string, tests: Tests): boolean {
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
  }
  return true;
}

/** What stands between `<` and `>`; comments and CDATA are left out. */
function* tagsOf(text: string, start: number): Generator<string> {
  for (let at = text.indexOf('<', start); at >= 0; at = text.indexOf('<', at)) {
    const [opening, closing] = text.startsWith('<!--', at)
      ? ['<!--', '-->']
      : text.startsWith('<![CDATA[', at)
        ? ['<![CDATA[', ']]>']
        : ['<', '>'];
    const end = text.indexOf(closing, at + opening.length);
    if (end < 0) return;
    if (opening === '<') yield text.slice(at + 1, Math.min(end, at + LONGEST_TAG));
    at = end + closing.length;
  }
}

function addCase(tag: string, tests: Tests): TestCase {
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
