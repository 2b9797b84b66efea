import { readdirSync, readFileSync } from 'node:fs';

/** The most memory that a process ever had, in MiB. */
export function peakOf(pid: number): number {
  return statusOf(pid, 'VmHWM');
}

/** What it has now. */
export function memoryOf(pid: number): number {
  return statusOf(pid, 'VmRSS');
}

export function openFilesOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

function statusOf(pid: number, name: string): number {
  const [, kib = ''] =
    new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kib) / 1024;
}
