import { expect, test } from 'vitest';
import { OK } from '../../support/halo/halo.ts';
import { cloneProject } from '../../support/services/cloned-project.ts';
import { GATES, NO_GATES, REDIS_PROJECT } from '../../support/services/redis-project.ts';
import { ensureServiceImage } from '../../support/services/service-images.ts';

test(
  'a clone of a Python project with Redis lands a story after halo init and one edited line',
  { timeout: 900_000 },
  async () => {
    await ensureServiceImage('redis');
    const { halo, editLine, run, landed } = cloneProject(REDIS_PROJECT);
    const { code, stdout } = await halo('init', '--yes');
    expect({ code, stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('service  redis: halo.test/redis:7') as string,
    });
    editLine(NO_GATES, GATES);
    // The agent has a Redis of its own, in which its test leaves a number.
    const ended = await run([{ id: 'A' }], `python3 -m unittest && echo done > done.txt && ${OK}`);
    expect(ended.code, ended.stdout + ended.stderr).toBe(0);
    expect(landed('done.txt')).toBe('done');
  },
);
