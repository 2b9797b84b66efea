import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openHome, type Ended, type HaloHome } from '../support/halo-process.ts';

const PRD = JSON.stringify({
  project: 'Shop',
  description: 'A shop.',
  userStories: [
    { id: 'US-001', title: 'Cart', description: '', acceptanceCriteria: ['It adds.'], priority: 1, passes: false },
    { id: 'US-002', title: 'Pay', description: '', acceptanceCriteria: ['It pays.'], priority: 2, passes: false },
  ],
});

let home: HaloHome;
let folder: string;

beforeAll(() => {
  home = openHome();
});
afterAll(() => home.close());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'halo-import-'));
  writeFileSync(join(folder, 'idea.md'), '# A shop\n\nPeople put things into a cart and pay.\n');
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Imports with an agent that is this shell script; it finds the document beside it. */
function importWith(script: string, words: string[] = ['idea.md', '--yes']): Promise<Ended> {
  const agent = `cat > /dev/null; ${script}; echo '{"status":"ok","summary":"Wrote the PRD."}'`;
  const settings = [
    '-c',
    'agent=command',
    '-c',
    `agents.command.run=${JSON.stringify(agent)}`,
    '-c',
    'retry.attempts=1',
  ];
  return home.halo(['import', ...words, ...settings], { cwd: folder });
}

describe('halo import', () => {
  it('has the agent write a PRD of the document, shows it as a diff and writes it', async () => {
    const ended = await importWith(`grep -q cart document.md && printf %s '${PRD}' > prd.json`);
    expect(ended).toMatchObject({ code: 0 });
    expect(ended.stdout).toContain('+{"project":"Shop"');
    expect(ended.stderr).toContain('Next: halo prd validate prd.json');
    expect(readFileSync(join(folder, 'prd.json'), 'utf8')).toBe(PRD);
    expect(await home.halo(['prd', 'validate', 'prd.json'], { cwd: folder })).toMatchObject({ code: 0 });
    expect(readdirSync(join(home.dir, 'imports'))).toEqual([]);
  });

  it('lets the agent change the PRD that is there, with the settings of this folder', async () => {
    writeFileSync(join(folder, 'prd.json'), PRD);
    writeFileSync(join(folder, 'halo.toml'), 'setup = ["false"]\ngates = ["false"]\n');
    const ended = await importWith(`sed -i s/Pay/Checkout/ prd.json`);
    expect(ended).toMatchObject({ code: 0 });
    expect(readFileSync(join(folder, 'prd.json'), 'utf8')).toBe(PRD.replace('Pay', 'Checkout'));
  });

  it('writes nothing when what the agent made is no PRD', async () => {
    const ended = await importWith(`echo '{"userStories":[{"id":"A"}]}' > prd.json`);
    expect(ended.code).toBe(6);
    expect(ended.stderr).toContain('prd.json');
    expect(existsSync(join(folder, 'prd.json'))).toBe(false);
  });

  it('refuses what is no text, what is not there, and to ask where nobody is', async () => {
    writeFileSync(join(folder, 'picture'), Buffer.from([0x89, 0x50, 0, 0xff]));
    expect(await importWith('true', ['picture', '--yes'])).toMatchObject({ code: 6 });
    expect((await importWith('true', ['nothing.md', '--yes'])).stderr).toContain('There is no file');
    const unasked = await importWith('true', ['idea.md']);
    expect(unasked).toMatchObject({ code: 2 });
    expect(unasked.stderr).toContain('--yes');
  });
});
