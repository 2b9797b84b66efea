import Docker from 'dockerode';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agentImage } from '../../../src/core/agent-program.ts';
import { buildAgentVersion } from '../../support/agents/build-agent-version.ts';
import { modelAt, openModelHalo, type ModelHalo } from '../../support/halo/model-halo.ts';

const VERSION = '9.9.1';
const IMAGE = agentImage('codex', VERSION);

/** What the real program prints, from a program that shows where it is and whether it can be changed. */
const PROGRAM = `#!/bin/sh
touch /halo/agent/changed 2>/dev/null && exit 3
echo "$0" > where.txt
echo '{"type":"thread.started","thread_id":"t"}'
echo '{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"{\\"status\\":\\"ok\\",\\"summary\\":\\"Wrote a file.\\"}"}}'
echo '{"type":"turn.completed","usage":{"input_tokens":1,"cached_input_tokens":0,"output_tokens":1}}'
`;

let halo: ModelHalo;
beforeAll(async () => {
  halo = await openModelHalo('sk-version-test-2f7c');
  await buildAgentVersion(VERSION, PROGRAM);
}, 600_000);
afterAll(async () => {
  await halo.close();
  await new Docker().getImage(IMAGE).remove({ force: true });
});

describe('a version of an agent beside that of the image', () => {
  it('is started from a read-only folder of its own, and journal, record and proof name it', async () => {
    const settings = ['agent=codex', `agents.codex.version=${VERSION}`];
    const { state, repository, read } = await halo.implement([], settings);
    expect(state).toMatchObject({ stopReason: 'SUCCESS' });
    expect(repository.git('show', `halo/${state.runId}:where.txt`)).toBe('/halo/agent/bin/codex');
    expect(JSON.parse(read('artifacts/hello/1/proof.json'))).toMatchObject({
      agent: { name: 'codex', version: VERSION },
    });
    expect(JSON.parse(read('run.json'))).toMatchObject({ agent: { name: 'codex', version: VERSION } });
    expect(read('journal.jsonl')).toContain(`"agent":"codex","version":"${VERSION}"`);
  });

  it('that is not installed ends the run with what to do', async () => {
    const server = await halo.serve([]);
    const settings = modelAt(server.url, ['agent=codex', 'agents.codex.version=9.9.2']);
    const state = await halo.run(halo.newRepository().root, [{ id: 'hello' }], settings);
    expect(state.stopReason).toBe('MISSING_DEPENDENCY');
    expect(state.detail).toContain('Codex 9.9.2 is not installed on this machine.');
    expect(state.detail).toContain('halo agent update codex --to 9.9.2');
    expect(server.requests).toEqual([]);
  });
});
