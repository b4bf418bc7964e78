import { defineConfig } from 'vitest/config'
import { SectionReport } from './test/conformance/support/report.js'

/** Where `--json` wants the report. */
const report = process.env.CONFORMANCE_JSON

const jsonReporter = (outputFile: string): ['json', { outputFile: string }] => [
  'json',
  { outputFile },
]

/**
 * `npm run conformance`: the specification against a server at an address. One request at a time,
 * so that the limits of the server hold; one process, so that its sections share what they asked.
 */
export default defineConfig({
  test: {
    include: ['test/conformance/*.cases.ts'],
    reporters: [
      'default',
      new SectionReport(),
      ...(report === undefined ? [] : [jsonReporter(report)]),
    ],
    fileParallelism: false,
    isolate: false,
    maxWorkers: 1,
    testTimeout: 240_000,
    hookTimeout: 60_000,
    slowTestThreshold: 20_000,
  },
})
