import type { Command } from 'commander';
import type { Cli } from './cli.ts';

/** Adds arguments, options, help and action to a command. */
export type Define = (command: Command, cli: Cli) => void;
