/** How far the asking about numbers in advance is. */

/**
 * - `asking`: the numbers are being asked about for the first time;
 * - `warm`: each has been, and their answers are kept fresh;
 * - `ended`: the time to keep them is over;
 * - `stopped`: it was called off before that.
 */
export const warmStates = ['asking', 'warm', 'ended', 'stopped'] as const
export type WarmState = (typeof warmStates)[number]
