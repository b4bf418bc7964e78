/** Finds the public files some tests read; they are large and other people's, so not kept here. */
import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { gunzipSync } from 'node:zlib'

const folder = resolve(process.env.CALLGATE_TEST_DATA ?? '../shared/data')

export const files = {
  nanpa: resolve(folder, 'nanpa/CoCodeAssignment_Utilized_AllStates_Public.zip'),
  areaCodes: resolve(folder, 'nanpa/npa_report.csv'),
  cnac: resolve(folder, 'cnac/COCodeStatus_ALL.zip'),
  ocnClasses: resolve(folder, 'linetype/ocn-class.csv'),
  prefixOracle: resolve(folder, 'oracle/sample-npanxx-zone-oracle.tsv.gz'),
  zipOracle: resolve(folder, 'oracle/sample-us-zip-zone-oracle.tsv.gz'),
} as const

/**
 * Whether tests that need these files must be skipped; says which one is missing. Throws where CI
 * has been told of a folder: then a skip would pass for a check.
 */
export function lacks(...names: readonly (keyof typeof files)[]): boolean {
  const missing = names.map((name) => files[name]).filter((path) => !existsSync(path))
  if (missing.length === 0) return false
  if (process.env.CI === 'true' && process.env.CALLGATE_TEST_DATA !== undefined) {
    throw new Error(`CALLGATE_TEST_DATA names a folder without ${missing.join(', ')}`)
  }
  console.warn(`skipped: no ${missing.join(', ')}; set CALLGATE_TEST_DATA to the folder with it`)
  return true
}

/** Rows of a gzipped tab-separated table, without its header. */
export function rowsOf(path: string): string[][] {
  const lines = gunzipSync(readFileSync(path)).toString('utf8').trim().split('\n').slice(1)
  return lines.map((line) => line.split('\t'))
}
