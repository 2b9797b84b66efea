import { describe, expect, test } from 'vitest';
import { HaloError } from '../../src/core/failure/errors.ts';
import { parsePrd, parsePrdStrictly, readPrdFile } from '../../src/prd/parse-prd.ts';

describe('what is not a PRD', () => {
  test('bytes that are not UTF-8 are refused with line and offset', () => {
    const bytes = Buffer.concat([Buffer.from('{\n"é": "'), Buffer.from([0x96]), Buffer.from('"}')]);
    expect(refusal(bytes).message).toBe('prd.json:2: The text is not UTF-8: byte 0x96 at offset 9.');
    expect(refusal(Buffer.from([0xe2, 0x80])).message).toBe(
      'prd.json:1: The text is not UTF-8: byte 0xe2 at offset 0.',
    );
    expect(refusal(Buffer.concat([Buffer.from('🛒'), Buffer.from([0xff])])).message).toContain('0xff at offset 4.');
  });

  test('an empty or blank file is refused', () => {
    expect(refusal('').message).toBe('prd.json: The file is empty.');
    expect(refusal('\uFEFF \n').message).toBe('prd.json: The file is empty.');
  });

  test.each([
    ['{"a": 1,}', '1:9', 'expected a key in double quotes'],
    ['{\n  "a" 1}', '2:7', 'expected a colon'],
    ['{\n  "userStories": [', '2:19', 'expected a closing ]'],
    ['[1] // no', '1:5', 'comments are not allowed'],
    ['a line of prose', '1:1', 'unexpected character or word'],
    ['[01]', '1:3', 'expected a comma'],
    ['{"a": "x\ny"}', '1:7', 'unterminated string'],
  ])('the syntax error in %j is reported with line and column', (text, place, what) => {
    expect(refusal(text).message).toBe(`prd.json:${place}: The text is not valid JSON: ${what}.`);
  });

  test('deeply nested brackets are refused without recursion', () => {
    expect(refusal('['.repeat(1_000_000)).message).toContain('more than 64 levels of brackets');
  });

  test('an unknown document is refused with its top-level keys and the known dialects', () => {
    const error = refusal('{"title": "x", "phases": []}');
    expect(error.message).toBe(
      'prd.json: The file is in no known PRD dialect; its top-level keys are "title", "phases".',
    );
    expect(error.hint).toContain(
      'Run `halo import prd.json` to have an agent write a PRD from a document. Supported dialects: hanuman, lever,',
    );
    expect(error.hint).not.toContain('markdown');
    expect(refusal('{}').message).toContain('the top level is an empty object');
  });

  test('a Markdown file without boxes or story headings is refused', () => {
    const { message, hint } = refusal('# Plan\n\n- a bullet\n\n| a | table |\n\nStatus: COMPLETE\n', 'plan.md');
    expect(message).toBe(
      'plan.md: The file is in no known PRD dialect; it has no checkbox ("- [ ] text") and no story heading.',
    );
    expect(hint).toContain('`halo import plan.md`');
  });

  test('checkboxes in a file that is called YAML are Markdown', () => {
    expect(parse('- [ ] a task', 'tasks.yml').dialect).toBe('markdown-checkbox');
  });

  test('content decides, not the name: Markdown called .json and JSON called .md', () => {
    expect(parse('- [ ] a task').dialect).toBe('markdown-checkbox');
    expect(parse('[link](x)\n- [ ] a task').dialect).toBe('markdown-checkbox');
    expect(parse('{"userStories": []}', 'PRD.md').dialect).toBe('ralph');
    expect(parse('[]', 'PRD.md').stories).toEqual([]);
  });

  test('a file over the limit of bytes or stories is refused', () => {
    expect(refusal(Buffer.alloc(4 * 1024 * 1024 + 1, 0x20)).message).toContain(
      'The file has 4194305 bytes; the limit is 4',
    );
    const userStories = Array.from({ length: 5001 }, (_, index) => ({
      id: index,
      title: 'x',
      acceptanceCriteria: ['y'],
    }));
    expect(refusal(JSON.stringify({ userStories })).message).toContain('5001 stories; the limit is 5000');
  });
});

describe('messages', () => {
  test('list the first ten problems in file order and the number of others', () => {
    const userStories = Array.from({ length: 14 }, (_, index) => ({ id: `s${index}`, acceptanceCriteria: ['y'] }));
    const lines = refusal(JSON.stringify({ userStories }, null, 1)).message.split('\n');
    expect(lines).toHaveLength(11);
    expect(lines[0]).toBe('prd.json:3: userStories[0].title: is missing, and so is the description');
    expect(lines[1]).toMatch(/^prd\.json:9: userStories\[1\]/);
    expect(lines[10]).toBe('and 4 more problems');
    expect(refusal(JSON.stringify({ userStories: userStories.slice(3) })).message).toMatch(/\nand 1 more problem$/);
  });

  test('name the dialect that the file was read as', () => {
    expect(refusal('{"userStories": 1}').hint).toBe('Fix these problems. The file was read as ralph (userStories).');
  });

  test('contain no control characters of the file', () => {
    const text = '{"userStories": [{"title": "x", "a\\u001b[2J": [1], "a\\u001b[2J": [2]}]}';
    expect(refusal(text).message).toBe('prd.json:1: userStories[0].a [2J: duplicate key with a different value');
  });
});

describe('unusual files', () => {
  test('a byte order mark is ignored with a warning', () => {
    const prd = parse('\uFEFF{"userStories": []}');
    expect(prd.warnings).toEqual(['the byte order mark is ignored', 'userStories has no stories']);
  });

  test('a raw control character inside a string is kept with a warning that names the line', () => {
    const prd = parse('{"userStories": [\n{"id": "1", "title": "don\u0019t", "acceptanceCriteria": ["x\u0019y"]}]}');
    expect(prd.stories[0]).toMatchObject({ title: 'don t', acceptance: ['x\u0019y'] });
    expect(prd.warnings).toEqual(['raw control characters in a string, line 2']);
  });

  test.each(['"passes": true,\n"passes": false', '"id": "1",\n"id": "2"', '"dependsOn": "",\n"dependsOn": []'])(
    'a duplicate decisive key with another value is refused: %j',
    (members) => {
      const key = /"(\w+)"/.exec(members)?.[1];
      expect(refusal(`{"userStories": [{\n"title": "x",\n${members}}]}`).message).toBe(
        `prd.json:4: userStories[0].${key}: duplicate key with a different value`,
      );
    },
  );

  test('the last value of any other duplicate key is used, with a warning', () => {
    const prd = parse('{"userStories": [{"id": 1, "title": "x", "steps": ["y"],\n"title": "z"}]}');
    expect(prd.stories[0]?.title).toBe('z');
    expect(prd.warnings).toEqual(['line 2: duplicate key userStories[0].title; the last value is used']);
    expect(parse('{"userStories": [{"id": 1, "title": "x", "steps": ["y"], "id": 1}]}').stories).toHaveLength(1);
  });

  test('a duplicate list is refused, so that no story is lost', () => {
    expect(refusal('{"tasks": [{"title": "a"}], "tasks": [{"title": "b"}]}').message).toContain('duplicate key');
  });
});

describe('fields of single dialects', () => {
  test('a recommendation that has more than an approach stays in extra', () => {
    const read = (recommended: object) =>
      parse(JSON.stringify({ tasks: [{ id: 'a', title: 'x', definition_of_done: ['y'], recommended }] })).stories[0];
    const more = { approach: 'Reuse it', files: ['a.ts'] };
    expect(read(more)).toMatchObject({ description: 'Recommended approach: Reuse it', extra: { recommended: more } });
    expect(read({ approach: 'Reuse it' })?.extra).toEqual({});
  });

  test('a group with nothing but a name and an id has no context', () => {
    const phases = [{ id: 'p', name: 'Core', tasks: [{ id: 'a', title: 'x' }] }];
    expect(parse(JSON.stringify({ phases })).context).toEqual([]);
  });

  test('a list of texts is not a list of stories, where there are others', () => {
    const phases = [{ name: 'Core', tasks: [{ id: 'a', title: 'x' }] }];
    const prd = parse(JSON.stringify({ tasks: ['Be careful'], phases }));
    expect(prd).toMatchObject({ stories: [{ id: 'a' }], context: [{ label: 'tasks', text: '- Be careful' }] });
  });

  test('the order of daedalus has a warning if it is not clear', () => {
    const criteria = { description: 'y', acceptanceCriteria: ['z'], passes: false };
    const warnings = (...stories: object[]) => {
      const userStories = stories.map((story, index) => ({
        id: `US-00${index + 1}`,
        title: 'x',
        ...criteria,
        ...story,
      }));
      const bytes = new TextEncoder().encode(JSON.stringify({ project: 'Shop', description: '', userStories }));
      return readPrdFile(bytes, 'prd', { as: 'daedalus' }).prd.warnings;
    };
    expect(warnings({ priority: 1, inProgress: true }, { priority: 2 })).toEqual([]);
    expect(warnings({ priority: 1 }, { priority: 1 })).toEqual([
      'US-001, US-002: priority 1 is not unique; these stories run in file order',
    ]);
  });

  test('the rules of swanson name a missing field of the file', () => {
    const bytes = new TextEncoder().encode('{"type": "feature", "name": "Shop", "userStories": []}');
    expect(() => parsePrdStrictly(bytes, 'prd', 'swanson')).toThrow(/^prd:1: description: is missing/);
  });
});

function parse(text: string | Uint8Array, path = 'prd.json') {
  return parsePrd(typeof text === 'string' ? new TextEncoder().encode(text) : text, path);
}

function refusal(text: string | Uint8Array, path?: string): HaloError {
  try {
    parse(text, path);
  } catch (error) {
    if (error instanceof HaloError && error.code === 'PRD_INVALID') return error;
    throw error;
  }
  throw new Error('the PRD was accepted');
}
