import type { SpawnOptions, spawn } from 'node:child_process'

/** As `spawn` of `node:child_process`; the child leads a process group. */
export const startChild: typeof spawn

/**
 * Runs a program to its end; returns its exit code (-1 if a signal ended it) and its output.
 * `timeout`, in milliseconds, kills it.
 */
export function runChild(
  command: string,
  args: readonly string[],
  options?: SpawnOptions,
): Promise<{ readonly code: number; readonly out: string; readonly err: string }>

/** The process ids of the started processes that still run. */
export function livingChildren(): ReadonlySet<number>

/**
 * Kills all started processes that still run, except `spared`, with their own children; returns how many there were.
 */
export function killChildren(spared?: ReadonlySet<number>): number
