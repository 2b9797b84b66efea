import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import Docker from 'dockerode';
import { beforeAll, describe, expect, test } from 'vitest';
import { TOOLS } from '../../src/mcp/tools/all-tools.ts';
import { parsePrd } from '../../src/prd/parse-prd.ts';
import { shellQuote } from '../../src/lib/text.ts';
import { runSealed } from '../support/docker/image-container.ts';
import { codeBlocks } from '../support/text/markdown.ts';

const root = resolve(import.meta.dirname, '../..');
const plugin = join(root, 'plugins/halo');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const json = (path: string) => JSON.parse(read(path)) as Record<string, unknown>;
const skill = read('plugins/halo/skills/halo/SKILL.md');

describe('plugins/halo', () => {
  test('has the version of halo and one description for Claude Code and Codex', () => {
    const { version } = json('package.json');
    const [claude, codex] = ['.claude-plugin', '.codex-plugin'].map((dir) => json(`plugins/halo/${dir}/plugin.json`));
    expect([claude?.version, codex?.version]).toEqual([version, version]);
    expect(codex?.description).toBe(claude?.description);
    expect(json('.claude-plugin/marketplace.json')).toMatchObject({ plugins: [{ source: './plugins/halo' }] });
    expect(json('.agents/plugins/marketplace.json')).toMatchObject({
      plugins: [{ source: { source: 'local', path: './plugins/halo' } }],
    });
  });

  test('starts `halo mcp`, and is part of the package', () => {
    expect(json('plugins/halo/.mcp.json')).toEqual({ mcpServers: { halo: { command: 'halo', args: ['mcp'] } } });
    expect(json('package.json').files).toEqual(expect.arrayContaining(['plugins', '.claude-plugin', '.agents']));
  });

  test('has a skill whose PRD halo accepts without a warning', () => {
    const [example = ''] = codeBlocks(skill, 'json');
    expect(parsePrd(Buffer.from(example), 'prd.json')).toMatchObject({ stories: [{ id: 'US-001' }], warnings: [] });
  });

  test('has a skill that names only tools that exist', () => {
    const named = new Set([...skill.matchAll(/\bhalo_[a-z_]+/g)].map(([name]) => name));
    expect(named.size).toBeGreaterThan(5);
    expect([...named].filter((name) => !TOOLS.some((tool) => tool.name === name))).toEqual([]);
    expect(readdirSync(join(plugin, 'skills'))).toEqual(['halo']);
  });
});

/** The programs of the sandbox image, without network; halo is that of this checkout. */
async function inImage(script: string): Promise<string> {
  const lines = [
    'set -e',
    'mkdir -p /tmp/bin && ln -s /halo/bin/halo /tmp/bin/halo',
    'export PATH=/tmp/bin:$PATH:/opt/halo/agents/claude:/opt/halo/agents/codex/bin HALO_HOME=/tmp/halo-home',
    script,
  ];
  const { code, out, err } = await runSealed(new Docker(), { script: lines.join('\n'), binds: [`${root}:/halo:ro`] });
  expect(code, out + err).toBe(0);
  return out;
}

describe('the plugin in the real programs', () => {
  // A container cannot build it: the checkout is read-only there.
  beforeAll(() => void execFileSync(process.execPath, [join(root, 'bin/halo'), '--version']));

  test('Claude Code validates it without a warning, installs it and connects to its server', async () => {
    const out = await inImage(`
      claude plugin validate --strict /halo/plugins/halo
      claude plugin validate --strict /halo
      claude plugin marketplace add /halo
      claude plugin install halo@halo
      claude plugin details halo
      claude mcp list`);
    expect(out.match(/Validation passed/g)).toHaveLength(2);
    expect(out).toMatch(/Skills \(1\) +halo/);
    expect(out).toMatch(/plugin:halo:halo: halo mcp - ✔ Connected/);
  });

  test('Codex installs it with its skill and its server, calls a tool of halo, and its model receives the result as data', async () => {
    const turns = [
      // The server of a plugin starts beside the first request.
      { run: 'sleep 0.5', until: '"mcp__halo"' },
      { call: 'halo_validate_prd', namespace: 'mcp__halo', args: { prd: '{"userStories": [{"id": "US-1"}]}' } },
      { say: 'The PRD has an error.' },
    ];
    const settings = ['model="m"', 'model_provider="scripted"', 'approval_policy="never"'];
    const provider = { name: 'scripted', base_url: '{url}', wire_api: 'responses' };
    for (const [name, value] of Object.entries(provider))
      settings.push(`model_providers.scripted.${name}=${JSON.stringify(value)}`);
    const options = settings.map((setting) => `-c ${shellQuote(setting)}`).join(' ');
    const out = await inImage(`
      codex plugin marketplace add /halo
      codex plugin add halo@halo
      codex plugin list
      codex mcp list
      find "$HOME/.codex" -name SKILL.md -path '*halo*'
      node /halo/test/support/model/with-model.mjs ${shellQuote(JSON.stringify(turns))} \
        codex exec --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox ${options} 'Check my PRD.'`);
    expect(out).toMatch(/halo@halo +installed/);
    expect(out).toMatch(/^halo +halo +mcp .* enabled/m);
    expect(out).toMatch(/skills\/halo\/SKILL\.md/);
    const requests = JSON.parse(out.trim().split('\n').at(-1) ?? '') as { tools: Tool[]; input: Item[] }[];
    const last = requests.at(-1);
    const offered = last?.tools.find(({ name }) => name === 'mcp__halo')?.tools ?? [];
    expect(offered.map(({ name }) => name)).toEqual(expect.arrayContaining(['halo_submit', 'halo_wait']));
    // Deciding tools are for the owner to switch on.
    expect(offered.map(({ name }) => name)).not.toContain('halo_approve');
    const answer = last?.input.findLast(({ type }) => type === 'function_call_output');
    expect(JSON.stringify(answer?.output)).toContain('userStories[0].title: is missing');
  });
});

interface Tool {
  name: string;
  tools?: Tool[];
}

interface Item {
  type: string;
  output?: unknown;
}
