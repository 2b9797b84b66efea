import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect } from 'vitest';
import { it } from '../../support/fixtures.ts';
import { OK, scripted } from '../../support/halo/halo.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import type { TestRepository } from '../../support/repository/repository.ts';

const random = (bytes: number) => randomBytes(bytes).toString('hex');

/** Prints every object that a program in the sandbox can find, wherever git or a folder has it. */
const LIST = [
  'git cat-file --batch-all-objects --batch-check',
  'for i in $(find / -name "*.idx" -not -path "/proc/*" 2> /dev/null); do git show-index < $i; done',
  'find / -path "*/objects/??/*" -not -path "/proc/*" 2> /dev/null | sed "s,.*/objects/,,; s,/,,"',
].join('; ');

const settings = (script: string) =>
  scripted(`${script}; date > done; ${OK}`, ['true'], ['workspace.transport=stream']);

describe('incident engine-objects: a story on an engine that keeps the objects of its repository', () => {
  let repository: TestRepository;
  beforeEach(() => {
    repository = newRepository({ 'large.txt': random(300_000) });
    repository.git('checkout', '-q', '-b', 'secret');
    repository.write('classified.txt', random(300_000));
    repository.commit('classified');
  });

  it('finds the history of its base there, and nothing of other branches and runs', async ({ halo }) => {
    const ofOthers = [repository.git('rev-parse', 'HEAD'), repository.git('rev-parse', 'HEAD:classified.txt')];
    const run = async (script: string) => {
      const state = await halo.run(repository.root, [{ id: 'A' }], settings(script));
      expect(state).toMatchObject({ stopReason: 'SUCCESS' });
      const key = state.stories[0]!.key;
      return { state, output: halo.readFile(state.runId, `artifacts/${key}/1/events.jsonl`) };
    };
    // The engine gets a volume for the other branch first.
    const other = await run(LIST);
    for (const id of ofOthers) expect(other.output).toContain(id);
    repository.git('checkout', '-q', 'main');
    repository.write('more.txt', random(300_000));
    repository.commit('more');
    ofOthers.push(other.state.stories[0]!.commit!);
    const own = [repository.git('rev-parse', 'HEAD'), repository.git('rev-parse', 'HEAD~1:large.txt')];
    const { output } = await run(LIST);
    for (const id of own) expect(output).toContain(id);
    for (const id of ofOthers) expect(output).not.toContain(id);
    // Back on the other branch, with volumes of both.
    const again = await run(`touch /halo/repo/base.git/objects/pack/x && echo WROTE; ${LIST}`);
    expect(again.output).not.toContain('WROTE');
    expect(again.output).not.toContain(ofOthers[0]);
  });
});
