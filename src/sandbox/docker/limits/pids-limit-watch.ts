import { readFile } from 'node:fs/promises';

/** Event files of a container's cgroup: cgroup v2 and v1, without and with systemd. */
const EVENT_FILES = [
  (id: string) => `/sys/fs/cgroup/docker/${id}/pids.events`,
  (id: string) => `/sys/fs/cgroup/system.slice/docker-${id}.scope/pids.events`,
  (id: string) => `/sys/fs/cgroup/pids/docker/${id}/pids.events`,
  (id: string) => `/sys/fs/cgroup/pids/system.slice/docker-${id}.scope/pids.events`,
];

const EVERY_MS = 250;

/**
 * Watches whether the kernel refused to start a process because of the container's pids limit. Polls while the
 * container runs, because the counter is removed with it. Misses the last moments, and cannot observe a remote engine.
 */
export function watchPidsLimit(id: string): { refused: () => boolean; stop: () => void } {
  let refused = false;
  let places = EVENT_FILES.map((place) => place(id));
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
