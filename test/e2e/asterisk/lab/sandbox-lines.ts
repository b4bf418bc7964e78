import { sandboxLines } from '../../../support/sandbox-lines.js'

/** Those whose reasons differ; the lines after them differ in what lookups answer. */
export const lines = sandboxLines.filter(({ line }) => line <= '0112')

/** Kind, shipped context that asks for it, its trunk, and place in the reasons of a line. */
export const kinds = [
  ['manual', 'gate-manual', 'trunk-manual', 0],
  ['autodialed', 'gate', 'trunk', 1],
  ['AI', 'gate-ai', 'trunk-ai', 2],
] as const
