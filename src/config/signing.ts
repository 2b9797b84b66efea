import type { Layer } from './provider.ts';

/** Settings of whoever runs halo. */
export const SIGNING: readonly string[] = ['git.sign', 'git.signing_key'];

/** A signature is the word of the person who runs halo: the file of a repository, which others write, may not ask for it. */
export function refuseForeignSigning(layers: readonly Layer[]): string[] {
  return layers
    .flatMap(({ settings, trusted }) => (trusted ? [] : settings))
    .filter(({ key }) => SIGNING.includes(key))
    .map(({ key, origin }) => {
      const way = 'set it in config.toml of HALO_HOME, as a variable or with -c';
      return `${origin}: ${key}: the file of a repository may not choose the key that signs; ${way}`;
    });
}
