/** The states of a warmup job. */

/**
 * - `asking`: the first pass over the numbers is in progress;
 * - `warm`: all numbers were looked up, and their answers are kept fresh;
 * - `ended`: the time to keep them fresh is over;
 * - `stopped`: the job was stopped before that.
 */
export const warmupStates = ['asking', 'warm', 'ended', 'stopped'] as const
export type WarmupState = (typeof warmupStates)[number]
