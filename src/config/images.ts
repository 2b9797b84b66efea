import { CONFIG_KEYS } from './keys.ts';
import { mergeSettings, type Layer } from './resolve-model.ts';

/**
 * Whether those who may push to a repository, or send a request, may choose an image of this machine: halo's own, the one
 * that whoever runs halo uses, and those of `sandbox.images`, where a `*` at the end stands for any text.
 */
export function mayNameImage(image: string, layers: readonly Layer[]): boolean {
  const own = mergeSettings(layers.filter(({ trusted }) => trusted));
  const used = layers
    .flatMap(({ settings, trusted }) => (trusted ? settings : []))
    .filter(({ key }) => key === 'image');
  const listed = (own.get('sandbox.images')?.value ?? []) as readonly string[];
  return [CONFIG_KEYS.get('image')?.default, ...used.map(({ value }) => value), ...listed].some((each) => {
    const name = String(each);
    return name.endsWith('*') ? image.startsWith(name.slice(0, -1)) : image === name;
  });
}

/** Why the image that a repository's file chooses cannot be used; nothing when it is not in force. */
export function refuseForeignImage(layers: readonly Layer[]): string[] {
  const inForce = mergeSettings(layers).get('image');
  return layers
    .flatMap(({ settings, trusted }) => (trusted ? [] : settings))
    .filter((setting) => setting === inForce && !mayNameImage(String(setting.value), layers))
    .map(({ value, origin }) => {
      const name = JSON.stringify(value);
      return `${origin}: image: the file of a repository may not choose the image ${name} of this machine; if it holds nothing that an agent may not read, write images = [${name}] below [sandbox] in config.toml of HALO_HOME, or pass -c image=${String(value)}`;
    });
}
