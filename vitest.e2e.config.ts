import { defineConfig } from 'vitest/config'
import { LongestFirst } from './test/support/longest-first.js'

const all = 'test/e2e/**/*.test.ts'

/** Counts every call of a flood, so it has the machine to itself. */
const alone = 'test/e2e/asterisk/load.test.ts'

/** `npm run test:e2e`: a real Asterisk and real SIP calls; each file starts what it needs. */
export default defineConfig({
  test: {
    globalSetup: ['test/support/build.ts', 'test/e2e/asterisk/provide.ts'],
    // Most of the time is waiting for telephones, so more than there are cores.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: { name: 'calls', include: [all], exclude: [alone], ...order(0) },
      },
      {
        extends: true,
        test: { name: 'load', include: [alone], ...order(1) },
      },
    ],
    setupFiles: ['test/support/left-open.ts'],
    testTimeout: 180_000,
    expect: { poll: { timeout: 30_000 } },
    // Calls and their timers are real, and a machine with other work may miss one; each retry is shown.
    retry: process.env.CI ? 2 : 0,
    hookTimeout: 120_000,
  },
})

function order(groupOrder: number) {
  return { sequence: { groupOrder } }
}
