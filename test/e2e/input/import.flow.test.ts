import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { composeServices } from '../../../src/cli/compose.ts';
import { skipFor } from '../../support/skip.ts';
import { belowFull } from '../../support/suite/level.ts';
import { callHalo } from '../../support/terminal/call-halo.ts';
import { runCli } from '../../support/terminal/cli-world.ts';
import { openHome, type Ended, type HaloHome } from '../../support/halo/halo-process.ts';
import { openMemory } from '../../support/memory-operations.ts';
import { tempDir } from '../../support/temp-dir.ts';

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
  folder = tempDir('halo-import');
  writeFileSync(join(folder, 'idea.md'), '# A shop\n\nPeople put things into a cart and pay.\n');
});

/** An agent that is this shell script; it finds the document beside it. */
function agentOf(script: string): string[] {
  const agent = `cat > /dev/null; ${script}; echo '{"status":"ok","summary":"Wrote the PRD."}'`;
  const settings = ['agent=command', `agents.command.run=${JSON.stringify(agent)}`, 'retry.attempts=1'];
  return settings.flatMap((each) => ['-c', each]);
}

function halo(words: string[]): Promise<Ended> {
  return callHalo(words, { cwd: folder, env: { HALO_HOME: home.dir } });
}

function importWith(script: string, words: string[] = ['idea.md', '--yes']): Promise<Ended> {
  return halo(['import', ...words, ...agentOf(script)]);
}

/** The same with a person at the terminal. */
function importAsking(answer: () => Promise<string>) {
  const words = ['import', 'idea.md', ...agentOf(`printf %s '${PRD}' > prd.json`)];
  return runCli(words, { operations: openMemory(), services: composeServices([]), cwd: folder, ask: answer });
}

describe('halo import', () => {
  it('makes the agent write a PRD from the document, shows it as a diff and writes it', async () => {
    const ended = await importWith(`grep -q cart document.md && printf %s '${PRD}' > prd.json`);
    expect(ended).toMatchObject({ code: 0 });
    expect(ended.stdout).toContain('+{"project":"Shop"');
    expect(ended.stderr).toContain('Next: halo prd validate prd.json');
    expect(readFileSync(join(folder, 'prd.json'), 'utf8')).toBe(PRD);
    expect(await halo(['prd', 'validate', 'prd.json'])).toMatchObject({ code: 0 });
    expect(readdirSync(join(home.dir, 'imports'))).toEqual([]);
    expect(`${ended.stdout}${ended.stderr}`).not.toMatch(/halo land|fast-forward/);
    expect((await halo(['status'])).stdout).not.toMatch(/halo land|halo retry/);
  });

  it('lets the agent change the existing PRD, with the settings of this folder', async () => {
    writeFileSync(join(folder, 'prd.json'), PRD);
    chmodSync(join(folder, 'prd.json'), 0o664);
    writeFileSync(join(folder, 'halo.toml'), 'setup = ["false"]\ngates = ["false"]\n');
    const ended = await importWith(`sed -i s/Pay/Checkout/ prd.json`);
    expect(ended).toMatchObject({ code: 0 });
    expect(readFileSync(join(folder, 'prd.json'), 'utf8')).toBe(PRD.replace('Pay', 'Checkout'));
    expect(statSync(join(folder, 'prd.json')).mode & 0o777).toBe(0o664);
  });

  it('creates a named PRD, and applies the same rules to it as all commands', async () => {
    const out = '.halo/prds/shop/prd.json';
    const words = ['idea.md', '--yes', '--out', out];
    const lax = await importWith(`printf %s '${PRD.replaceAll('"description":"",', '')}' > prd.json`, words);
    expect(lax).toMatchObject({ code: 6, stderr: expect.stringContaining('description: is missing') as string });
    expect(existsSync(join(folder, '.halo'))).toBe(false);
    const ended = await importWith(`printf %s '${PRD}' > prd.json`, words);
    expect(ended.stderr).toContain(`Next: halo prd validate ${out}\n`);
    expect(await halo(['prd', 'validate', 'shop'])).toMatchObject({ code: 0 });
  });

  it(
    'asks at the terminal, and writes nothing without a confirmation or over a file that has changed',
    skipFor(belowFull()),
    async () => {
      vi.stubEnv('HALO_HOME', home.dir);
      const said = 'Nothing was written.\n';
      expect(await importAsking(() => Promise.resolve('n'))).toMatchObject({
        code: 4,
        stderr: expect.stringContaining(said) as string,
      });
      expect(await importAsking(() => Promise.reject(new Error('the end of the input')))).toMatchObject({
        code: 130,
        stderr: expect.stringContaining(said) as string,
      });
      expect(existsSync(join(folder, 'prd.json'))).toBe(false);
      const meanwhile = await importAsking(() => {
        writeFileSync(join(folder, 'prd.json'), 'mine');
        return Promise.resolve('y');
      });
      expect(meanwhile).toMatchObject({
        code: 6,
        stderr: expect.stringContaining('has changed in the meantime') as string,
      });
      expect(readFileSync(join(folder, 'prd.json'), 'utf8')).toBe('mine');
      rmSync(join(folder, 'prd.json'));
      expect(await importAsking(() => Promise.resolve(' Yes\n'))).toMatchObject({ code: 0 });
      expect(readFileSync(join(folder, 'prd.json'), 'utf8')).toBe(PRD);
      vi.unstubAllEnvs();
    },
  );

  it('fails if the agent wrote an invalid PRD or none', async () => {
    const ended = await importWith(`echo '{"userStories":[{"id":"A"}]}' > prd.json`);
    expect(ended.code).toBe(6);
    expect(ended.stdout).not.toContain('SUCCESS');
    expect(ended.stderr).toContain('FAILED  the agent wrote no valid PRD; nothing was written\n');
    expect(ended.stderr).toContain('prd.json:1: userStories[0].title: is missing');
    expect((await halo(['ls'])).stdout.split('\n')[1]).toContain('rejected');
    const idle = await importWith('echo idle > notes.txt');
    expect(idle.code).toBe(10);
    expect(idle.stderr).toMatch(/^FAILED {2}no PRD was written: .*test -s prd\.json/m);
    expect(existsSync(join(folder, 'prd.json'))).toBe(false);
  });

  it('never replaces done stories without a question that names them', async () => {
    const before = PRD.replace('"passes":false', '"passes":true');
    writeFileSync(join(folder, 'prd.json'), before);
    const ended = await importWith(`printf %s '${PRD}' > prd.json`);
    expect(ended.code).toBe(4);
    expect(ended.stderr).toContain(
      `This finished story would be replaced in ${join(folder, 'prd.json')}:\n  US-001  Cart\n`,
    );
    expect(ended.stderr).toContain('Nothing was written.\n');
    expect(readFileSync(join(folder, 'prd.json'), 'utf8')).toBe(before);
    vi.stubEnv('HALO_HOME', home.dir);
    expect(await importAsking(() => Promise.resolve('y'))).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('US-001  Cart\n') as string,
    });
    expect(readFileSync(join(folder, 'prd.json'), 'utf8')).toBe(PRD);
    vi.unstubAllEnvs();
  });

  it('refuses a binary or missing file, and a question without a terminal', async () => {
    writeFileSync(join(folder, 'picture'), Buffer.from([0x89, 0x50, 0, 0xff]));
    writeFileSync(join(folder, 'blank.md'), ' \n\n');
    writeFileSync(join(folder, 'latin.md'), Buffer.from('Gesch\u00e4ft', 'latin1'));
    writeFileSync(join(folder, 'long.md'), 'x'.repeat(512 * 1024 + 1));
    mkdirSync(join(folder, 'notes'));
    const faults = { picture: 'is not a text file', 'blank.md': 'is empty', 'latin.md': 'is not a text file in UTF-8' };
    for (const [file, says] of Object.entries({ ...faults, 'long.md': 'larger than 512 KiB', notes: 'is a folder' }))
      expect(await importWith('true', [file, '--yes'])).toMatchObject({
        code: 6,
        stderr: expect.stringMatching(new RegExp(`The document .*${file} .*${says}`)) as string,
      });
    const nowhere = ['idea.md', '--yes', '--out', 'latin.md/prd.json'];
    expect((await importWith('true', nowhere)).stderr).toContain('latin.md is a file');
    expect((await importWith('true', ['nothing.md', '--yes'])).stderr).toContain('There is no file');
    const unasked = await importWith('true', ['idea.md']);
    expect(unasked).toMatchObject({ code: 2 });
    expect(unasked.stderr).toContain('--yes');
  });
});
