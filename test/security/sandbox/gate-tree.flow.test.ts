import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect } from 'vitest';
import { verify } from '../../../src/features/evidence/api/verify-commit.ts';
import { parseRestored } from '../../../src/worker/workspace/restore-tree.ts';
import { toOutcome } from '../../../src/worker/attempt/attempt-outcome.ts';
import { casesAtLevel } from '../../support/suite/level.ts';
import { it } from '../../support/fixtures.ts';
import { OK, scripted } from '../../support/halo/halo.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

const PROGRAM = join(import.meta.dirname, '../../../docker', 'restore-tree.mjs');

interface Answer {
  changed: string[];
  removed: string[];
  more: number;
  error?: string;
}

/** Without what is in it. Answers with the commit. */
function addSubmodule(to: TestRepository): string {
  to.git('update-index', '--add', '--cacheinfo', `160000,${to.git('rev-parse', 'HEAD')},sub`);
  mkdirSync(join(to.root, 'sub'));
  return to.commit('a submodule');
}

describe('incident gate-tree: changes to a workspace before a gate', () => {
  let repository: TestRepository;
  let template = '';
  let parent = '';
  let workspace = '';
  let commit = '';
  beforeAll(() => {
    repository = newRepository({
      '.gitignore': 'dist/\n*.o\n',
      '.gitattributes': '*.bat text eol=crlf\n',
      'ci/check.sh': 'exit 1\n',
      'run.bat': 'one\ntwo\n',
      'src/deep/a.js': 'a\n',
    });
    execFileSync('ln', ['-s', 'ci/check.sh', join(repository.root, 'link')]);
    commit = addSubmodule(repository);
    template = tempDir('halo-tree');
    workspace = join(template, 'workspace');
    mkdirSync(workspace);
    const borrow = `mkdir -p .git/objects/info && echo ${repository.root}/.git/objects > .git/objects/info/alternates`;
    shell(`git init -q --template= -b halo . && ${borrow} && git update-ref refs/heads/halo ${commit}`);
    shell(`cp -r .git ${join(template, 'tree.git')} && git checkout -q -f -B halo ${commit}`);
  });
  beforeEach(() => {
    parent = tempDir('halo-tree');
    execFileSync('cp', ['-a', `${template}/.`, parent]);
    workspace = join(parent, 'workspace');
  });
  afterEach(() => {
    execFileSync('chmod', ['-R', 'u+rwx', parent]);
    execFileSync('rm', ['-rf', parent]);
  });

  const shell = (script: string) => execFileSync('sh', ['-ec', script], { cwd: workspace, encoding: 'utf8' });
  const restore = (...reports: string[]) => {
    const args = [PROGRAM, workspace, join(parent, 'tree.git'), commit, ...reports];
    return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as Answer;
  };
  /** Each path with its kind, mode and content; of `.git` what decides how git behaves. Without what is ignored. */
  const dump = () =>
    readdirSync(workspace, { recursive: true, encoding: 'utf8' })
      .filter((path) => !/^dist|^\.git\/(index|logs|objects|ORIG_HEAD)/.test(path))
      .sort()
      .map((path) => {
        const full = join(workspace, path);
        const { mode } = lstatSync(full);
        const text = (mode & 0o170000) === 0o100000 ? readFileSync(full) : '';
        const link = (mode & 0o170000) === 0o120000 ? readlinkSync(full) : '';
        return [path, mode.toString(8), link, createHash('sha1').update(text).digest('hex')].join(' ');
      });

  it.each([
    ['nothing', 'true'],
    ['the same size and times', 't=$(stat -c %y ci/check.sh); echo "exit 0" > ci/check.sh; touch -d "$t" ci/check.sh'],
    ['an index that says all is well', 'echo "exit 0" > ci/check.sh; git update-index --assume-unchanged ci/check.sh'],
    ['a commit of its own', 'echo 0 > ci/check.sh; git -c user.name=a -c user.email=a commit -qam x'],
    ['other line ends', 'sed -i "s/$/\\r/" ci/check.sh src/deep/a.js; printf "one\\ntwo\\n" > run.bat'],
    ['attributes that hide a change', 'echo "* text=auto" > ci/.gitattributes; printf "exit 1\\r\\n" > ci/check.sh'],
    [
      'modes, links and folders',
      'chmod +x ci/check.sh; mkdir dist; mv ci dist/; ln -s dist/ci ci; chmod 0 src/deep/a.js; chmod 0111 src; rm link; cp run.bat link',
    ],
    ['a closed folder for a file', 'rm ci/check.sh; mkdir -p ci/check.sh/x/y; chmod 0 ci/check.sh/x; mkfifo src/pipe'],
    ['a pipe for a file, a link for a folder', 'rm -r ci/check.sh src; mkfifo ci/check.sh; ln -s ci src'],
    ['nothing left', 'rm -rf * .git* .git'],
    ['new files', 'touch conftest.py ci/vite.js "$(printf "a\\nb")" "*" ":(top)x" ./-rf; mkdir -p e/mpty'],
    [
      'rules that hide new files',
      'mkdir -p lib .git/info; echo "*" | tee lib/.gitignore .gitignore .git/info/exclude > src/.gitignore; touch lib/x src/y x',
    ],
    ['programs of git', 'mkdir .git/hooks; echo id > .git/hooks/pre-commit; git config core.fsmonitor id'],
    [
      'repositories within',
      'rm -rf .git; git init -q --separate-git-dir=src/git .; for i in src sub lib; do git init -q $i; git -C $i config core.fsmonitor id; done',
    ],
    [
      'pipes for rules',
      'rm .gitattributes .gitignore; mkfifo .gitattributes .gitignore ci/.gitattributes src/deep/.gitignore',
    ],
    ['a file without an end', 'truncate -s 100G ci/check.sh; truncate -s 8T src/deep/a.js'],
    [
      'folders of packages where no tool puts them',
      'mkdir -p ci/node_modules/x src/venv; touch ci/node_modules/x/index.js ci/venv node_modules',
    ],
    [
      'folders that no path reaches',
      `node -e 'for (let i = 0; i < 1000; i++) { fs.mkdirSync("deep-folder"); process.chdir("deep-folder"); }'`,
    ],
  ])('have no effect on what a gate reads: %s', (_what, attack) => {
    const before = dump();
    shell(attack);
    const answer = restore();
    expect(answer.error).toBeUndefined();
    expect(dump()).toEqual(before);
    expect(shell('git status --porcelain; git rev-parse HEAD').trim()).toBe(commit);
  });

  it('silently exclude caches of checkers and compiled Python, ignored or not; packages at the top stay', () => {
    shell(
      'mkdir -p ci/__pycache__ .mypy_cache/3 src/.ruff_cache .pytest_cache node_modules/x .venv/lib/__pycache__ dist',
    );
    shell(
      'touch ci/__pycache__/check.pyc src/json.pyc .mypy_cache/3/a.json node_modules/x/a.js .venv/lib/__pycache__/a.pyc',
    );
    expect(restore()).toEqual({ changed: [], removed: [], more: 0 });
    expect(shell('ls -A . ci src .venv/lib/__pycache__').split('\n')).toEqual(
      expect.arrayContaining(['.venv', 'node_modules', 'a.pyc']),
    );
    expect(shell('find . -name "*cache*" -o -name "*.pyc" | sort')).toBe(
      './.venv/lib/__pycache__\n./.venv/lib/__pycache__/a.pyc\n',
    );
  });

  it('are reported with a few names and a count', () => {
    shell('echo 2 > ci/check.sh; git config a.b c; mkdir -p out/x; touch out/x/1 out/2 a b c d e f');
    expect(restore()).toEqual({
      changed: ['.git/config', 'ci/check.sh'],
      removed: ['a', 'b', 'c', 'd', 'e'],
      more: 2,
    });
  });

  it('exclude times of unchanged files, ignored files, reports, and the content of a submodule', () => {
    const inode = () => shell('stat -c "%i %y" ci/check.sh run.bat src/deep/a.js');
    const before = inode();
    shell('mkdir -p dist lib out; touch dist/app lib/a.o lib/b out/junit.xml out/log sub/x; chmod 0 dist');
    expect(restore('out/junit.xml')).toEqual({ changed: [], removed: ['lib/', 'out/'], more: 0 });
    expect(inode()).toBe(before);
    shell(
      'chmod 755 dist; test -f dist/app -a -f lib/a.o -a -f out/junit.xml -a -f sub/x -a ! -e lib/b -a ! -e out/log',
    );
    shell('rm out/junit.xml; ln -s /etc/passwd out/junit.xml');
    expect(restore('out/junit.xml')).toMatchObject({ removed: ['out/'] });
  });

  it('are not blamed on the story if the machine lacks resources', () => {
    shell('echo "exit 0" > ci/check.sh');
    const args = [PROGRAM, workspace, join(parent, 'tree.git'), commit].map((word) => `'${word}'`).join(' ');
    // Too few for the pipes of a program.
    expect(JSON.parse(shell(`ulimit -n 22; exec '${process.execPath}' ${args}`))).toEqual({
      fault: expect.stringMatching(/EMFILE|Too many open files/) as string,
    });
    const thrown = (answer: object) => {
      try {
        return parseRestored(`noise\n${JSON.stringify(answer)}\n`);
      } catch (error) {
        return error;
      }
    };
    const full = thrown({ fault: 'git failed: fatal: write error: No space left on device' });
    expect(full).toMatchObject({ code: 'DISK_FAILED', stopReason: 'INFRASTRUCTURE' });
    const slow = thrown({ fault: 'it took more than 600 seconds or too much memory' });
    expect(slow).toMatchObject({ code: 'DOCKER_FAILED', stopReason: 'INFRASTRUCTURE' });
    for (const error of [full, slow, thrown({})]) expect(() => toOutcome(error)).toThrow(error);
    expect(toOutcome(thrown({ error: 'EACCES' }))).toMatchObject({ stopReason: 'POLICY_VIOLATION' });
  });
});

/** A gate that only the commit's own tree may pass: it is protected, and runs nothing of the story. */
const CHECK = `#!/bin/sh
grep -q fine src/app && test "$(cat lock)" = 1 && test ! -e conftest.py && test "$(cat dist/app)" = built
`;

const AGENT = `
story=$(cat | grep -o 'Story [A-Z]*' | head -1)
# A submodule at its commit, with programs of its own: the exporter would lose its repository by them.
if test -d sub; then (
  git init -q sub && cd sub && cp ../.git/objects/info/alternates .git/objects/info/alternates
  git update-ref HEAD $(git -C .. rev-parse HEAD:sub) && echo x > README.md && git add -A && echo '* filter=x' > .gitattributes
  git config core.fsmonitor 'rm -rf /tmp/export.git; false'; git config filter.x.clean 'rm -rf /tmp/export.git; cat'
) fi
echo fine > src/app
echo 'echo 2 > lock' > install.sh
echo 'mkdir -p dist out; echo built > dist/app; echo "ok 1 - adds" > out/report.tap; touch conftest.py
git config core.fsmonitor "touch conftest.py; false"' > test.sh
case "$story" in
'Story GATE') echo BACKDOOR > src/app
  echo 't=$(stat -c %y ci/check.sh); n=$(wc -c < ci/check.sh)
{ printf "#!/bin/sh\\n#"; head -c $((n - 12)) /dev/zero | tr "\\0" x; echo; } > dist/fake
cat dist/fake > ci/check.sh; touch -d "$t" ci/check.sh' >> test.sh;;
'Story SETUP') echo BACKDOOR > src/app; echo 'echo fine > src/app' >> install.sh;;
esac
${OK}`;

/** Writes into the memory of the shell that runs it, in which the verdict is a variable. */
const REWRITE = `import os
parent = os.getppid()
with open(f'/proc/{parent}/maps') as maps: heap = [line.split()[0].split('-') for line in maps if '[heap]' in line]
with open(f'/proc/{parent}/mem', 'r+b') as memory:
    for start, end in heap:
        memory.seek(int(start, 16))
        text = memory.read(int(end, 16) - int(start, 16))
        memory.seek(int(start, 16))
        memory.write(text.replace(b'refused', b'allowed'))
`;

describe('incident judge-memory: a test that rewrites the memory of the process that judges it', () => {
  it('lands nothing if a further gate runs nothing of the story', async ({ halo }) => {
    const judge = 'verdict=refused; sh test.sh; test "$verdict" = allowed\n';
    const repository = newRepository({
      app: 'fine\n',
      'ci/judge.sh': judge,
      'ci/check.sh': 'grep -q fine app\n',
      'test.sh': 'true\n',
    });
    const agent = `cat > test.py <<'END'\n${REWRITE}END\necho BACKDOOR > app; echo 'exec python3 test.py' > test.sh; ${OK}`;
    const settings = scripted(agent, ['sh ci/judge.sh', 'sh ci/check.sh'], ['land.protect=["ci/**"]']);
    const state = await halo.run(repository.root, [{ id: 'A' }], settings);
    expect(state.stories[0]).toMatchObject({ progress: 'failed', stopReason: 'GATE_FAILED' });
    // Where the kernel has no Yama, the first gate was deceived.
    expect(state.stories[0]!.summary).toMatch(/^gate exited 1.*: `sh ci\/(judge|check)\.sh`$/);
  });
});

describe('incident gate-tree, incident submodule-programs: a story that rewrites the tree in setup and tests', () => {
  it.for(
    casesAtLevel<[transport: string, ids: string[]]>(
      [['mount', ['GATE', 'SETUP', 'HONEST']]],
      [['stream', ['GATE', 'HONEST']]],
    ),
  )('is judged by its commit (%s); honest work passes, with a message', async ([transport, ids], { halo }) => {
    const files = { '.gitignore': 'dist/\n', 'ci/check.sh': CHECK, lock: '1\n', 'src/app': 'old\n' };
    const repository = newRepository({ ...files, 'install.sh': 'true\n', 'test.sh': 'true\n' });
    addSubmodule(repository);
    const gates = ['sh test.sh', 'sh ci/check.sh', 'git diff --exit-code && test ! -e conftest.py'];
    const more = [
      'setup=["sh install.sh"]',
      'land.protect=["ci/**"]',
      'tests.reports=["out/report.tap"]',
      'tests.baseline=never',
    ];
    const settings = scripted(AGENT, gates, [...more, 'run.on_failure=continue', `workspace.transport=${transport}`]);
    const state = await halo.run(
      repository.root,
      ids.map((id) => ({ id })),
      settings,
    );
    const [gate, setup, honest] = ['GATE', 'SETUP', 'HONEST'].map((each) =>
      state.stories.find(({ id }) => id === each),
    );
    expect(gate).toMatchObject({ progress: 'failed', stopReason: 'GATE_FAILED' });
    expect(gate!.summary).toContain('gate exited 1; halo had put back .git/config, ci/check.sh, lock');
    if (setup !== undefined) {
      expect(setup).toMatchObject({ progress: 'failed', stopReason: 'GATE_FAILED' });
      expect(setup.summary).toContain('put back .git/config, lock, src/app; removed conftest.py');
    }
    expect(honest).toMatchObject({ progress: 'passed' });
    expect(honest!.restored).toEqual({ changed: ['.git/config', 'lock'], removed: ['conftest.py'], more: 0 });
    expect(halo.readFile(state.runId, 'agent.log')).toContain('put back lock');
    expect(repository.git('show', `${honest!.commit}:lock`)).toBe('1');
    const query = { target: honest!.commit!, folder: repository.root, signal: new AbortController().signal };
    for await (const { checks } of verify(halo.host, query))
      expect(checks.filter(({ ok }) => ok === false)).toEqual([]);
  });
});
