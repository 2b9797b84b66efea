import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { directoryOf, openWorld, read, recordOf, TWO, writePrd } from '../../support/contracts/hanuman.ts';
import type { Ended } from '../../support/halo/halo-process.ts';
import { startModelServer, type ModelServer } from '../../support/model/model-server.ts';

const world = openWorld();

describe('a run with Codex', () => {
  let server: ModelServer;
  let dir: string;
  let end: Ended;

  beforeAll(async () => {
    const repository = world.aRepository();
    const prd = writePrd(repository, TWO);
    server = await startModelServer({
      turns: [
        { write: 'greeting.txt', content: 'hello\n' },
        { json: { status: 'ok', summary: 'Added the greeting.' } },
        { say: 'I think that I am done.' },
      ],
    });
    const pairs = ['agent=codex', 'gates=["true"]', 'retry.attempts=1', `model.base_url=${server.url}`];
    const words = [...pairs, 'model.key_env=HALO_TEST_KEY'].flatMap((pair) => ['-c', pair]);
    end = await world.run(repository, ['--prd', prd, ...words], { HALO_TEST_KEY: 'sk-test-51c0ffee00' });
    dir = directoryOf(end);
  });
  afterAll(() => server.close());

  it('keeps the JSON lines of codex exec in events.jsonl', () => {
    const lines = read(dir, 'events.jsonl').trimEnd().split('\n');
    const types = lines.map((line) => (JSON.parse(line) as { type: string }).type);
    expect(types.filter((type) => type === 'thread.started')).toHaveLength(2);
    expect(types.filter((type) => type === 'turn.completed')).toHaveLength(2);
  });

  it('makes Codex request a machine-checkable result from the model', () => {
    const { text } = JSON.parse(server.requests[0]?.body ?? '') as {
      text: { format: { type: string; schema: object } };
    };
    expect(text.format).toMatchObject({
      type: 'json_schema',
      schema: {
        properties: { status: { enum: ['ok', 'needs_human', 'failed'] }, summary: { type: 'string' } },
        required: expect.arrayContaining(['status', 'summary']) as string[],
      },
    });
  });

  it('fails a story whose answer is not valid although Codex exits with 0', () => {
    expect(end).toMatchObject({ code: 10 });
    expect(recordOf(dir)).toMatchObject({ stopReason: 'INVALID_OUTPUT', progress: { completed: ['S-1'] } });
  });

  it('records in run.json the version and features of Codex and how it is used', () => {
    const { agent } = recordOf(dir);
    expect(agent).toMatchObject({ name: 'codex', version: expect.stringMatching(/^\d+\.\d+\.\d+/) as string });
    expect(agent.features?.length).toBeGreaterThan(5);
    expect(agent.help).toContain('--output-schema');
  });
});
