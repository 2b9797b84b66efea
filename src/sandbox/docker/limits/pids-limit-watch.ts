import { readFile } from 'node:fs/promises';

/** Where engines keep the control group of a container: cgroup v2 and v1, without and with systemd. */
const PLACES = [
  (id: string) => `/sys/fs/cgroup/docker/${id}/pids.events`,
  (id: string) => `/sys/fs/cgroup/system.slice/docker-${id}.scope/pids.events`,
  (id: string) => `/sys/fs/cgroup/pids/docker/${id}/pids.events`,
  (id: string) => `/sys/fs/cgroup/pids/system.slice/docker-${id}.scope/pids.events`,
];

const EVERY_MS = 250;

/**
 * Follows whether the kernel refused a container one more process. The count goes away with the container, so it is
 * read while that runs: what happens in its last moment is missed, and of engines elsewhere nothing is seen.
 */
export function watchForks(id: string): { refused: () => boolean; stop: () => void } {
  let refused = false;
  let places = PLACES.map((place) => place(id));
  const look = async () => {
    const texts = await Promise.all(places.map((path) => readFile(path, 'utf8').catch(() => undefined)));
    places = places.filter((_path, index) => texts[index] !== undefined);
    refused ||= texts.some((text) => text !== undefined && /^max [1-9]/m.test(text));
    if (refused || places.length === 0) stop();
  };
  const timer = setInterval(() => void look(), EVERY_MS).unref();
  const stop = () => clearInterval(timer);
  return { refused: () => refused, stop };
}
