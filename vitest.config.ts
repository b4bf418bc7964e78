import { configDefaults, defineConfig } from 'vitest/config'
import { LongestFirst } from './test/support/longest-first.js'

const processes = 'test/process/**/*.test.ts'
/** Files of these folders keep a core busy, so they do not run beside those that wait for real time. */
const busy = 'test/process/{data,clients,console,fake-vendor,monitoring}/**/*.test.ts'

/** Garbage is collected less often, since these make much of it: in MB. */
const manyObjects = ['--min-semi-space-size=16', '--max-semi-space-size=32']

/** Looks at all of its heap, so it shares no worker. */
const alone = 'test/process/sources/leaks.test.ts'

/** Deadlines are real here, and a machine with other work may miss one. The reporter shows each retry. */
const retry = process.env.CI ? 2 : 0

/**
 * The two tiers that need no telephone system: `first` (`npm test`), which starts no process and
 * waits for no clock, and `process` with `heap` and `imports` (`npm run test:process`), which run the
 * built program, kill it, import whole files and wait real time.
 */
export default defineConfig({
  test: {
    setupFiles: ['test/support/left-open.ts', 'test/support/load-once.ts'],
    // For a machine that is slow at the moment; nothing waits for it on a quiet one.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'first',
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, processes, 'test/e2e/**'],
          // Files share what they import, which costs as much as the tests; none keeps a state there.
          isolate: false,
          // One for each core of the machine the checks run on, and one for those that wait until something is signed.
          maxWorkers: 3,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'postgres',
          include: ['test/{api,contract,service}/**/*.test.ts'],
          // Looks into the file of SQLite.
          exclude: [...configDefaults.exclude, 'test/service/erasure.test.ts'],
          globalSetup: ['test/support/postgres.ts'],
          isolate: false,
          maxWorkers: 3,
          sequence: { groupOrder: 3 },
        },
      },
      {
        extends: true,
        test: {
          name: 'process',
          execArgv: manyObjects,
          include: [processes],
          exclude: [...configDefaults.exclude, busy, alone],
          globalSetup: ['test/support/build.ts'],
          // To start a worker and import the program for each file takes longer than many a file.
          isolate: false,
          // They wait for other processes half of the time, and for what happens as long as it takes.
          maxWorkers: 4,
          retry,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'heap',
          include: [alone],
          globalSetup: ['test/support/build.ts'],
          maxWorkers: 4,
          retry,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'imports',
          execArgv: manyObjects,
          include: [busy],
          globalSetup: ['test/support/build.ts'],
          isolate: false,
          maxWorkers: 2,
          retry,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
})
