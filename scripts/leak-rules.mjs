// Writes the rules of gitleaks that halo uses: node scripts/leak-rules.mjs path/to/gitleaks/config/gitleaks.toml LICENSE
import { readFileSync, writeFileSync } from 'node:fs';
import { parse } from 'smol-toml';

const [config, license] = process.argv.slice(2).map((path) => readFileSync(path, 'utf8'));
const { rules, allowlist } = parse(config);

/** The rule `private-key` needs whole files; halo finds private keys itself. Rules without a pattern are about names. */
const isUsed = ({ id, regex }) => regex !== undefined && id !== 'private-key';

/** halo searches contents without their paths, so an exception for some paths is left out. */
const toAllow = ({ paths, regexTarget = 'secret', regexes = [], stopwords = [] }) =>
  paths === undefined ? [{ target: regexTarget, regexes, stopwords: stopwords.map((word) => word.toLowerCase()) }] : [];

const used = rules.filter(isUsed).map(({ id, regex, keywords, entropy, secretGroup, path, allowlists = [] }) => ({
  id,
  regex,
  keywords,
  entropy,
  group: secretGroup,
  path,
  allow: allowlists.flatMap(toAllow),
}));

const { paths, regexes, stopwords } = allowlist;
const data = {
  source: 'https://github.com/gitleaks/gitleaks',
  license: license.trim(),
  allow: { paths, regexes, stopwords },
  rules: used,
};
const folder = new URL('../src/lib/secrets/', import.meta.url);
writeFileSync(new URL('leak-rules.json', folder), `${JSON.stringify(data, null, 1)}\n`);
writeFileSync(
  new URL('leak-rule-names.json', folder),
  `${JSON.stringify(
    used.map(({ id }) => id),
    null,
    1,
  )}\n`,
);
