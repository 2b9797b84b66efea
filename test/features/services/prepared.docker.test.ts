import { expect, test } from 'vitest';
import { OK } from '../../support/halo/halo.ts';
import { cloneProject } from '../../support/services/cloned-project.ts';
import { POSTGRES_CLIENT, postgresService } from '../../support/services/postgres-client.ts';
import { REDIS_CLIENT } from '../../support/services/redis-client.ts';
import { ensureServiceImage, type TestService } from '../../support/services/service-images.ts';
import { casesAtLevel } from '../../support/suite/level.ts';

/** What makes data, another story adds, and how `sql.py` reads and destroys it. */
interface Case {
  service: TestService;
  client: string;
  declare: (image: string, fields: Record<string, unknown>) => string;
  first: string;
  count: string;
  destroy: string;
  second: string;
  readSecond: string;
}

const CASES = casesAtLevel<Case>(
  [
    {
      service: 'redis',
      client: REDIS_CLIENT,
      declare: (image, { prepare, prepare_files }) =>
        `services.db={ image = "${image}", prepare = ${JSON.stringify(prepare)}, prepare_files = ${JSON.stringify(prepare_files)}, for = ["gates"] }`,
      first: 'SET books 1000',
      count: 'INCRBY books 0',
      destroy: 'DEL books',
      second: 'SET authors 1',
      readSecond: 'EXISTS authors',
    },
  ],
  [
    {
      service: 'postgres',
      client: POSTGRES_CLIENT,
      declare: postgresService,
      first: 'CREATE TABLE books (title text); INSERT INTO books SELECT 1 FROM generate_series(1, 1000);',
      count: 'SELECT count(*) FROM books',
      destroy: 'DELETE FROM books',
      second: 'CREATE TABLE authors (name text)',
      readSecond: 'SELECT count(*) + 1 FROM authors',
    },
  ],
);

test.each(CASES)(
  'migrations of $service run once, and each gate has their data for itself, with what a story adds',
  { timeout: 900_000 },
  async ({ service, client, declare, first, count, destroy, second, readSecond }) => {
    const image = await ensureServiceImage(service);
    const { halo, run, git } = cloneProject({
      'sql.py': client,
      'migrations/1.sql': first,
      'check.sh': `test "$(python3 sql.py '${count}')" = 1000 || exit 1
python3 sql.py '${destroy}'
for file in migrations/2*.sql; do test ! -e $file || test "$(python3 sql.py '${readSecond}')" = 1 || exit 1; done
`,
    });
    const prepare = ['for file in migrations/*.sql; do echo $file; python3 sql.py "$(cat $file)" || exit 1; done'];
    const declared = declare(image, { prepare, prepare_files: ['migrations/**'] });
    const settings = [declared, 'gates=["sh check.sh", "sh check.sh"]', 'tests.baseline="never"'];
    const checked = await halo('check', ...settings.flatMap((each) => ['-c', each]));
    expect(checked.code, checked.stdout + checked.stderr).toBe(0);
    expect(checked.stdout).toMatch(/\(db prepared in .+\)[^]*2 gates pass/);
    expect(checked.stdout.match(/db prepared/g)).toHaveLength(1);
    const agent = `echo '${second}' > migrations/2.sql; ${OK}`;
    const ended = await run([{ id: 'A' }], agent, settings);
    expect(ended.code, ended.stdout + ended.stderr).toBe(0);
    expect(ended.stdout.match(/db prepared/g)).toHaveLength(1);
    const [branch = ''] = git('for-each-ref', '--format=%(refname:short)', 'refs/heads/halo').split('\n');
    expect(git('show', `${branch}:migrations/2.sql`)).toBe(second);
  },
);
