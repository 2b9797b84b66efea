import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { applyDefaults } from '../../../src/config/apply-defaults.ts';
import type { Host } from '../../../src/config/config.ts';
import { parseProof, readProofText, type Proof } from '../../../src/core/review/proof.ts';
import { readNote, writeNote } from '../../../src/git/commit/notes.ts';
import { checkSignatures, findSigners } from '../../../src/features/evidence/worker/check-signatures.ts';
import { runCli } from '../../support/terminal/cli-world.ts';
import { openMemory } from '../../support/memory-operations.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { hostOf } from '../../support/halo/host.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

/** A user who can push to a repository can write commits and notes; the person who verifies them has only a clone. */

const IMAGE = execFileSync('docker', ['image', 'inspect', '-f', '{{.Id}}', 'halo-sandbox'], {
  encoding: 'utf8',
}).trim();

let folder: string;
let repository: TestRepository;
let gitDir: string;
let commit: string;
let host: Host;

beforeAll(() => {
  folder = tempDir('halo-proofs');
  for (const name of ['own', 'other'])
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', join(folder, name)]);
});

beforeEach(() => {
  repository = newRepository({ 'halo.toml': 'gates = ["./check.sh"]\n', 'check.sh': '! grep -r BACKDOOR .\n' });
  gitDir = join(repository.root, '.git');
  repository.write('code.js', 'BACKDOOR\n');
  commit = repository.commit('feat: [US-001] - Add a cart');
  const home = mkdtempSync(join(folder, 'home-'));
  host = hostOf(home);
});

function record(changes: Partial<Proof> = {}, of = commit): string {
  const at = new Date().toISOString();
  const proof: Proof = {
    v: 1,
    commit: of,
    base: repository.git('rev-parse', `${of}^`),
    tree: repository.git('rev-parse', `${of}^{tree}`),
    run: '0tbq0000000000a',
    story: { id: 'US-001', title: 'Add a cart', attempt: 1 },
    prd: { hash: 'x', specHash: 'x' },
    image: { name: 'halo-sandbox', id: IMAGE },
    agent: { name: 'codex' },
    setup: [],
    env: {},
    allow: [],
    registries: [],
    gates: [{ command: './check.sh', exitCode: 0, ms: 1, sha256: '0'.repeat(64) }],
    usage: { requests: 1, inputTokens: 1, cachedTokens: 0, outputTokens: 1 },
    ...{ halo: '0.1.0', startedAt: at, provenAt: at },
    ...changes,
  };
  return JSON.stringify(proof);
}

function push(text: string, on = commit): void {
  repository.git('-c', 'user.name=e', '-c', 'user.email=e@e', 'notes', '--ref=halo', 'add', '-f', '-m', text, on);
}

async function halo(...words: string[]) {
  const services = { readHost: () => Promise.resolve(host) };
  return runCli(['verify', commit, '--repo', repository.root, ...words], { operations: openMemory(), services });
}

const gate = (command: string): Pick<Proof, 'gates'> => ({
  gates: [{ command, exitCode: 0, ms: 1, sha256: '0'.repeat(64) }],
});

describe('incident forged-proof: a proof in refs/notes/halo that its author forged', () => {
  it.each<[string, Partial<Proof>, RegExp]>([
    ['gate', gate('true # ./check.sh'), /✗ +gate 1 +true # \.\/check\.sh +halo\.toml: \.\/check\.sh$/m],
    ['missing gate', { gates: [] }, /✗ +gate 1 +none +halo\.toml: \.\/check\.sh$/m],
    ['gate called none', gate('none'), /✗ +gate 1 +none +halo\.toml: \.\/check\.sh$/m],
    ['setup', { setup: ['echo true > check.sh'] }, /✗ +setup 1 +echo true > check\.sh +halo\.toml: none$/m],
    ['variable', { env: { PATH: '/tmp/x' } }, /✗ +env PATH +\/tmp\/x +halo\.toml: none$/m],
    ['host', { allow: ['evil.example:443'] }, /✗ +hosts +evil\.example:443 +halo\.toml: none$/m],
    ['registry', { registries: ['npm'] }, /✗ +registries +npm +halo\.toml: none$/m],
    [
      'image',
      { image: { name: 'halo-sandbox', id: `sha256:${'0'.repeat(64)}` } },
      /✗ +image id +sha256:0+ *…? +halo\.toml: sha256:/m,
    ],
  ])('is detected by its %s, and no command of it runs', async (_what, changes, row) => {
    push(record(changes));
    const { code, stdout } = await halo();
    expect(stdout).toMatch(row);
    expect(stdout).toMatch(/^ {3}setup and gates +not run, because the settings differ$/m);
    expect(stdout.trim().split('\n').at(-1)).toBe('not as recorded');
    expect(code).toBe(10);
  });

  it('does not pass with the true settings either, because its gates fail on this tree, and is reported as unsigned', async () => {
    push(record());
    const { code, stdout } = await halo();
    expect(stdout).toMatch(/^ {3}signature +not required +the proof is unsigned$/m);
    expect(stdout).toMatch(/✓ +settings +as in halo\.toml +as in halo\.toml$/m);
    expect(stdout).toMatch(/✗ +gate \.\/check\.sh +exit 0 +exit [1-9]/m);
    expect(code).toBe(10);
  });

  it('cannot hide a second parent', async () => {
    const merged = repository.git('commit-tree', `${commit}^{tree}`, '-p', `${commit}^`, '-p', commit, '-m', 'x');
    commit = merged;
    push(record({}, merged));
    expect((await halo()).stdout).toMatch(/✗ +base /);
  });

  it('is reported as trusted if the user trusts it, and its commands still have no network', async () => {
    push(record(gate('true # ./check.sh')));
    const trusted = await halo('--trust-proof');
    expect(trusted.stdout.trim().split('\n').at(-1)).toBe(
      'all as recorded; the proof is unsigned; settings that differ (1) are taken from the proof',
    );
    expect(trusted.code).toBe(0);
    const asked: string[] = [];
    const server = createServer((request, response) => {
      asked.push(request.url ?? '');
      response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    // What the person who verifies allows to their own runs does not count either.
    writeFileSync(join(host.home, 'config.toml'), `[network]\nprivate = ["${address}"]\n`);
    push(record({ setup: [`curl -s http://${address}/admin`], allow: [address] }));
    const { stdout, code } = await halo('--trust-proof');
    server.close();
    expect(stdout).toContain('not public: refused');
    expect([asked, code]).toEqual([[], 10]);
  });

  it.each<[string, string, string]>([
    ['an image that is none', 'image', JSON.stringify({ image: { name: 'x', id: 'x/../../containers/json?all=1 ' } })],
    ['a variable that is none', 'env', JSON.stringify({ env: { 'A B': 'x' } })],
    ['a host that is none', 'allow', JSON.stringify({ allow: ['*:443'] })],
    ['a command that is none', 'setup', JSON.stringify({ setup: ['a\0b'] })],
    ['a gate that failed', 'gates', JSON.stringify({ gates: [{ ...gate('true').gates[0], exitCode: 1 }] })],
    ['a report outside', 'reports', JSON.stringify({ reports: ['../x'] })],
    ['endless commands', 'setup', JSON.stringify({ setup: Array.from({ length: 2000 }, () => 'true') })],
  ])('is refused with %s', (_what, path, changes) => {
    const text = JSON.stringify({ ...(JSON.parse(record()) as object), ...(JSON.parse(changes) as object) });
    expect(readProofText(text)).toEqual({ fault: `not valid: ${path}` });
    expect(parseProof(record())).toBeDefined();
  });

  it('is refused if it has another version, is not a proof, or is far too large', async () => {
    for (const [text, says] of [
      [
        record().replace('"v":1', '"v":2'),
        /✗ +proof +a note in refs\/notes\/halo +of version 2, which this halo does not know$/m,
      ],
      ['hello', /✗ +proof +a note in refs\/notes\/halo +not a proof of halo$/m],
    ] as const) {
      push(text);
      const { stdout, code } = await halo();
      expect(stdout).toMatch(says);
      expect(code).toBe(10);
    }
    for (const text of ['x'.repeat(1_100_000), `{"v":1,"gates":[${'1,'.repeat(200_000)}1]}`]) {
      await writeNote({ gitDir, commit, text });
      expect((await halo()).stdout).toMatch(/✗ +proof +a note in refs\/notes\/halo +far too large$/m);
    }
  });
});

describe('incident unsigned-proof: a proof without the signature of an allowed signer', () => {
  const own = () => applyDefaults({ git: { sign: 'ssh', signingKey: join(folder, 'own') } }).git;

  async function signatures(): Promise<string[]> {
    const scratch = mkdtempSync(join(folder, 'signers-'));
    const signers = await findSigners(own(), scratch);
    const rows = await checkSignatures({ gitDir, commit, note: await readNote(gitDir, commit), signers });
    return rows.map(({ found, ok }) => `${found}: ${String(ok)}`);
  }

  function commitSigned(key: string, message: string, ...more: string[]): string {
    const name = ['-c', 'user.name=e', '-c', 'user.email=e@e'];
    const sign = [
      '-c',
      'gpg.format=ssh',
      '-c',
      'gpg.ssh.program=ssh-keygen',
      '-c',
      `user.signingKey=${join(folder, key)}`,
    ];
    return repository.git(...name, ...sign, 'commit-tree', '-S', ...more, '-m', message);
  }

  it('does not pass if this machine signs', async () => {
    writeFileSync(join(host.home, 'config.toml'), `[git]\nsign = "ssh"\nsigning_key = "${join(folder, 'own')}"\n`);
    repository.write('code.js', 'x\n');
    commit = repository.commit('feat: [US-001] - Add a cart');
    push(record());
    const { stdout, code } = await halo();
    expect(stdout).toMatch(/✗ +signature of commit +by an allowed signer +unsigned$/m);
    expect(stdout).toMatch(/✗ +signature of proof +by an allowed signer +unsigned$/m);
    expect([stdout.trim().split('\n').at(-1), code]).toEqual(['not as recorded', 10]);
  });

  it('cannot reuse the signature of a later proof, or of a commit of a story', async () => {
    push('forged');
    expect(await signatures()).toEqual(['unsigned: false', 'unsigned: false']);
    const other = repository.git('rev-parse', 'HEAD^');
    await writeNote({ gitDir, commit: other, text: 'true', key: { path: join(folder, 'own') } });
    expect((await readNote(gitDir, commit))?.text).toBe('forged\n');
    expect(await signatures()).toEqual(['unsigned: false', 'unsigned: false']);
    // An agent may write a file that would be a note in a tree of notes, and halo signs the commit of its story.
    const blob = execFileSync('git', ['hash-object', '-w', '--stdin'], {
      cwd: repository.root,
      input: 'from an agent',
      encoding: 'utf8',
    }).trim();
    const tree = execFileSync('git', ['mktree'], {
      cwd: repository.root,
      input: `100644 blob ${blob}\t${commit}\n`,
      encoding: 'utf8',
    }).trim();
    repository.git('update-ref', 'refs/notes/halo', commitSigned('own', 'feat: [US-1] - x\n\nHalo-Run: r', tree));
    expect((await readNote(gitDir, commit))?.text).toBe('from an agent');
    expect(await signatures()).toEqual(['unsigned: false', 'unsigned: false']);
  });

  it('is distinguished from one that is signed by the key of this machine, or by another', async () => {
    const parent = repository.git('rev-parse', `${commit}^`);
    for (const [key, word] of [
      ['own', 'by an allowed signer: true'],
      ['other', 'by a key that is not allowed: false'],
    ] as const) {
      commit = commitSigned(key, 'feat: [US-001] - x', `${commit}^{tree}`, '-p', parent);
      await writeNote({ gitDir, commit, text: record(), key: { path: join(folder, key) } });
      expect(await signatures()).toEqual([word, word]);
      // Configuration of the repository has no say.
      repository.git('config', 'gpg.ssh.program', '/bin/true');
      repository.git('config', 'gpg.ssh.allowedSignersFile', join(folder, `${key}.pub`));
    }
    // A signature that is of another commit.
    const text = repository.git('cat-file', 'commit', commit).replace('feat', 'fix');
    commit = execFileSync('git', ['hash-object', '-t', 'commit', '-w', '--stdin'], {
      cwd: repository.root,
      input: `${text}\n`,
      encoding: 'utf8',
    }).trim();
    expect((await signatures())[0]).toBe('not valid: false');
  });

  it('can be checked against a file of allowed signers', async () => {
    const file = join(folder, 'allowed');
    const parent = repository.git('rev-parse', `${commit}^`);
    commit = commitSigned('other', 'feat: [US-001] - x', `${commit}^{tree}`, '-p', parent);
    await writeNote({ gitDir, commit, text: record(), key: { path: join(folder, 'other') } });
    const { git } = applyDefaults({});
    await expect(findSigners({ ...git, allowedSigners: file }, folder)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    });
    writeFileSync(file, `team ${execFileSync('cat', [join(folder, 'other.pub')], { encoding: 'utf8' })}`);
    const signers = await findSigners({ ...git, allowedSigners: file }, folder);
    const rows = await checkSignatures({ gitDir, commit, note: await readNote(gitDir, commit), signers });
    expect(rows.map(({ ok }) => ok)).toEqual([true, true]);
  });
});
