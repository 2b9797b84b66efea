import { expect, test } from 'vitest';
import { OK } from '../../support/halo/halo.ts';
import { cloneProject } from '../../support/services/cloned-project.ts';
import { POSTGRES_CLIENT, postgresService } from '../../support/services/postgres-client.ts';
import { ensureServiceImage } from '../../support/services/service-images.ts';

test(
  'migrations of PostgreSQL run once, and each gate has their tables for itself, with what a story adds',
  { timeout: 900_000 },
  async () => {
    const image = await ensureServiceImage('postgres');
    const { halo, run, git } = cloneProject({
      'sql.py': POSTGRES_CLIENT,
      'migrations/1.sql': 'CREATE TABLE books (title text); INSERT INTO books SELECT 1 FROM generate_series(1, 1000);',
      'check.sh': `test "$(python3 sql.py 'SELECT count(*) FROM books' 'DELETE FROM books')" = 1000 || exit 1
for file in migrations/2*.sql; do test ! -e $file || python3 sql.py 'SELECT 1 FROM authors'; done
`,
    });
    const prepare = ['for file in migrations/*.sql; do echo $file; python3 sql.py "$(cat $file)" || exit 1; done'];
    const settings = [postgresService(image, { prepare, prepare_files: ['migrations/**'] }), 'gates=["sh check.sh", "sh check.sh"]', 'tests.baseline="never"']; // prettier-ignore
    const checked = await halo('check', ...settings.flatMap((each) => ['-c', each]));
    expect(checked.code, checked.stdout + checked.stderr).toBe(0);
    expect(checked.stdout).toMatch(/\(db prepared in .+\)[^]*2 gates pass/);
    expect(checked.stdout.match(/db prepared/g)).toHaveLength(1);
    const agent = `echo 'CREATE TABLE authors (name text)' > migrations/2.sql; ${OK}`;
    const ended = await run([{ id: 'A' }], agent, settings);
    expect(ended.code, ended.stdout + ended.stderr).toBe(0);
    expect(ended.stdout.match(/db prepared/g)).toHaveLength(1);
    const [branch = ''] = git('for-each-ref', '--format=%(refname:short)', 'refs/heads/halo').split('\n');
    expect(git('show', `${branch}:migrations/2.sql`)).toBe('CREATE TABLE authors (name text)');
  },
);
