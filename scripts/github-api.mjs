// Records the part of GitHub's OpenAPI description that halo uses, without texts and examples:
// node scripts/github-api.mjs > test/forge/fixtures/github-api.json
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// Not a dependency: 400 MB unpacked, of which the tests need 0.1 MB.
const PACKAGE = '@octokit/openapi@23.0.2';
const FILE = 'package/generated/api.github.com.json';

const REPOSITORY = '/repos/{owner}/{repo}';
/** The operations that `src/forge/github.ts` and `src/forge/github-like.ts` use. */
const OPERATIONS = {
  '/rate_limit': ['get'],
  [REPOSITORY]: ['get'],
  [`${REPOSITORY}/collaborators/{username}/permission`]: ['get'],
  [`${REPOSITORY}/commits/{ref}/check-runs`]: ['get'],
  [`${REPOSITORY}/commits/{ref}/status`]: ['get'],
  [`${REPOSITORY}/compare/{basehead}`]: ['get'],
  [`${REPOSITORY}/issues`]: ['get'],
  [`${REPOSITORY}/issues/{issue_number}`]: ['get', 'patch'],
  [`${REPOSITORY}/issues/{issue_number}/comments`]: ['get', 'post'],
  [`${REPOSITORY}/issues/{issue_number}/events`]: ['get'],
  [`${REPOSITORY}/issues/{issue_number}/labels`]: ['post'],
  [`${REPOSITORY}/issues/{issue_number}/labels/{name}`]: ['delete'],
  [`${REPOSITORY}/pulls`]: ['get', 'post'],
  [`${REPOSITORY}/pulls/{pull_number}`]: ['get', 'patch'],
  [`${REPOSITORY}/pulls/{pull_number}/comments`]: ['get'],
  [`${REPOSITORY}/pulls/{pull_number}/reviews`]: ['get'],
  [`${REPOSITORY}/statuses/{sha}`]: ['post'],
};

/** What nothing is checked against. */
const TEXTS = [
  'description',
  'summary',
  'title',
  'example',
  'examples',
  'externalDocs',
  'tags',
  'operationId',
  'headers',
];

const document = JSON.parse(readDescription());
const components = {};
const paths = Object.fromEntries(
  Object.entries(OPERATIONS).map(([path, methods]) => [
    path,
    Object.fromEntries(methods.map((method) => [method, plain(document.paths[path][method])])),
  ]),
);
const { openapi } = document;
const info = { title: PACKAGE, license: { name: 'MIT, Copyright (c) GitHub' } };
process.stdout.write(`${print({ openapi, info, paths, components })}\n`);

/** JSON with a line for each path and component. */
function print(value) {
  const lines = (each) =>
    `{\n${Object.entries(each)
      .map(
        ([key, inner]) => `${JSON.stringify(key)}:${value.components === each ? lines(inner) : JSON.stringify(inner)}`,
      )
      .join(',\n')}\n}`;
  const { components: parts, paths: all, ...about } = value;
  return `${JSON.stringify(about).slice(0, -1)},\n"paths":${lines(all)},\n"components":${lines(parts)}}`;
}

function readDescription() {
  const folder = mkdtempSync(join(tmpdir(), 'github-api-'));
  try {
    const options = { cwd: folder, encoding: 'utf8', maxBuffer: 2 ** 30 };
    const archive = execFileSync('npm', ['pack', '--silent', PACKAGE], options).trim();
    return execFileSync('tar', ['-xzOf', archive, FILE], options);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Without texts; adds what it refers to to `components`. Names of properties are never texts. */
function plain(value, isNames = false) {
  if (Array.isArray(value)) return value.map((each) => plain(each));
  if (typeof value !== 'object' || value === null) return value;
  if (typeof value.$ref === 'string') include(value.$ref);
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => isNames || !(TEXTS.includes(key) || key.startsWith('x-')))
      .map(([key, each]) => [key, key === 'enum' ? each : plain(each, key === 'properties')]),
  );
}

function include(ref) {
  const [, , group, name] = ref.split('/');
  components[group] ??= {};
  if (name in components[group]) return;
  components[group][name] = null;
  components[group][name] = plain(document.components[group][name]);
}
