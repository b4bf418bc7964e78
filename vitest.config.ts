import { configDefaults, defineConfig } from 'vitest/config'

/** What must hold within milliseconds, so that it shares the machine with one other file at most. */
const timed = ['sources', 'gate', 'contract', 'asterisk', 'fake-vendor'].map(
  (folder) => `test/${folder}/**/*.test.ts`,
)
const timedOverHttp = 'test/api/remote*.test.ts'

/** `npm test`: everything that needs no telephone system. */
export default defineConfig({
  test: {
    globalSetup: ['test/support/build.ts'],
    setupFiles: ['test/support/left-open.ts'],
    testTimeout: 20_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'timed',
          include: [...timed, timedOverHttp],
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'rest',
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, 'test/e2e/**', ...timed, timedOverHttp],
          // Much of it waits for processes it has started, so more than there are cores.
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
