import { openMemberOf } from './keys.ts';
import { allowsInside, OWN_NETWORK } from './network.ts';
import type { Layer } from './resolve-model.ts';
import type { Setting } from './settings.ts';

const OPENS = 'open a way to this network';

/** Settings of whoever runs halo, and why the file of a repository, which others write, may not make them. */
const OWN_CHOICES: Record<string, string> = {
  'git.sign': 'choose the key that signs',
  'git.signing_key': 'choose the key that signs',
  'git.allowed_signers': 'choose whose signatures count',
  'secrets.env': 'choose what of this machine is secret',
  'secrets.files': 'choose what of this machine is secret',
  prices: 'say what models cost',
  rate: 'say how often models are asked',
  'secrets.patterns': 'choose what people do not get to see',
  'sandbox.runtime': 'choose how sandboxes are sealed',
  'sandbox.images': 'say which images it may choose',
  'network.ca_file': 'choose a file of this machine that sandboxes get',
  ...Object.fromEntries(OWN_NETWORK.map((key) => [key, OPENS])),
};

export function isOwnChoice(key: string): boolean {
  return ownChoice(key) !== undefined;
}

/** What a repository's file sets although it is not its to decide; it may ask for more care, never for less. */
export function refuseForeignChoices(layers: readonly Layer[]): string[] {
  return layers
    .flatMap(({ settings, trusted }) => (trusted ? [] : settings))
    .flatMap((setting) => {
      const what = foreignChoice(setting);
      const way = 'set it in config.toml of HALO_HOME, as a variable or with -c';
      return what === undefined
        ? []
        : [`${setting.origin}: ${setting.key}: the file of a repository may not ${what}; ${way}`];
    });
}

function foreignChoice(setting: Setting): string | undefined {
  const { key, value } = setting;
  if (allowsInside(setting)) return OPENS;
  if (key === 'secrets.added' && value === 'report') return 'let secrets land';
  return ownChoice(key);
}

function ownChoice(key: string): string | undefined {
  return key.startsWith('breaker.') ? 'decide when halo stops trying' : OWN_CHOICES[openMemberOf(key)?.table ?? key];
}
