import { expect, test } from 'vitest';
import { guessGates } from '../../src/config/output/guess-gates.ts';
import { parseConfigFile } from '../../src/config/load/config-file.ts';
import { resolveConfig } from '../../src/config/resolve.ts';
import { renderInitTemplate } from '../../src/config/output/init-template.ts';

const NODE = new Map([
  ['package.json', '{"scripts": {"test": "node --test", "lint": "eslint \\"src\\""}}'],
  ['package-lock.json', ''],
]);

test('contains the guess with its reasons, and allows the registry that setup uses', () => {
  const text = renderInitTemplate(guessGates(NODE));
  const network = { registries: ['npm'], allow: [] };
  expect(resolve(text)).toMatchObject({ setup: ['npm ci'], gates: ['npm run lint', 'npm test'], network });
  expect(text).toContain('# detected: package-lock.json: npm ci');
});

test('contains the variables and hosts that a guess needs', () => {
  const text = renderInitTemplate(
    guessGates(
      new Map([
        ['Gemfile', ''],
        ['Rakefile', ''],
      ]),
    ),
  );
  expect(resolve(text)).toMatchObject({
    env: { BUNDLE_PATH: '/workspace/vendor/bundle' },
    network: { registries: [], allow: ['rubygems.org:443', 'index.rubygems.org:443'] },
  });
});

test('leaves gates to the user if nothing is recognised, with a comment', () => {
  const text = renderInitTemplate(guessGates(new Map([['README.md', '# x']])));
  expect(resolve(text).gates).toBeUndefined();
  expect(text).toContain('halo does not start without gates');
});

test('shows how to use a script as the agent, unless it is chosen', () => {
  const chosen = new Map([['agents.command.run', './tools/agent.sh']]);
  expect(renderInitTemplate(guessGates(NODE))).toContain('\n# [agents.command], run = "./tools/agent.sh"\n');
  expect(renderInitTemplate(guessGates(NODE), chosen)).not.toContain('# [agents.command]');
});

test('has only what is specific to the repository, and a link to the other settings', () => {
  const text = renderInitTemplate(guessGates(NODE));
  expect(text.split('\n').length).toBeLessThan(20);
  expect(text).toContain('docs/configuration.md');
  expect(resolve(text.replace(/^# (\w+ = )/gm, '$1'))).toEqual({
    ...resolve(''),
    setup: ['npm ci'],
    gates: ['npm run lint', 'npm test'],
    network: { ...resolve('').network, registries: ['npm'] },
  });
});

function resolve(text: string) {
  return resolveConfig({ repo: parseConfigFile('/repo/halo.toml', text), cwd: '/' }).config;
}
