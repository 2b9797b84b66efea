import { mayNameImage } from './images.ts';
import { careOf, leastCare } from './no-less-care.ts';
import type { Layer } from './resolve-model.ts';
import type { Setting } from './settings.ts';

/**
 * What options of a request over the network say that only the server's own settings may: looser than the server, the
 * repository or the defaults are, or an image that is not for everybody. `free`: keys that the server leaves to requests.
 */
export function refuseRequested(
  requested: readonly Setting[],
  { layers, free }: { layers: readonly Layer[]; free: readonly string[] },
): string[] {
  const least = leastCare(layers);
  return requested
    .filter(({ key }) => !free.includes(key))
    .flatMap((setting) => {
      const { key, value, origin } = setting;
      const way = `unless [server] options in its config.toml names "${key}"`;
      if (key === 'image' && !mayNameImage(String(value), layers))
        return [`${origin}: image: a request may not choose the image "${String(value)}" of the server, ${way}`];
      const needed = least.get(key);
      if (needed === undefined || careOf(setting) >= needed.care) return [];
      return [`${origin}: ${key}: a request may not be looser than ${show(needed.value)}, ${way}`];
    });
}

function show(value: unknown): string {
  return JSON.stringify(value) ?? String(value);
}
