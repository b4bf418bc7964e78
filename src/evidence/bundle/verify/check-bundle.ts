/** Opens a bundle and says what was found in it: for the verifier in bundles, and for `callgate evidence check`. */
import { readdirSync, statSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { type ByteSource, fileSource } from '../../byte-source.js'
import { openZip } from '../zip.js'
import { formatCounts } from './shown-records.js'
import type { BundleVerification } from './verify-bundle.js'

function readFolder(folder: string, root = folder): Map<string, ByteSource> {
  const files = new Map<string, ByteSource>()
  for (const one of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, one.name)
    if (one.isDirectory()) for (const [name, file] of readFolder(path, root)) files.set(name, file)
    else files.set(relative(root, path).split(sep).join('/'), fileSource(path))
  }
  return files
}

export function isZip(file: ByteSource): boolean {
  const start = file.read(0, 4)
  return start.length === 4 && start.readUInt32LE(0) === 0x04034b50
}

/**
 * The files of a bundle, a zip file or the folder that it was unpacked to, by name. Throws `RangeError` if the zip file is
 * damaged, and another error if it cannot be read.
 */
export function openBundle(path: string): ReadonlyMap<string, ByteSource> {
  if (statSync(path).isDirectory()) return readFolder(path)
  const zip = fileSource(path)
  if (!isZip(zip)) throw new Error('it is no zip file')
  return openZip(zip)
}

/** Names of files and logs are of whoever made the bundle, and must not look like a line of ours, or move the cursor. */
export const toPlainLine = (line: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  line.replace(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, '?')

/** The last line begins with the result. */
export function describeBundle(found: BundleVerification): readonly string[] {
  const { shown, entries, state } = found
  const lines = [
    ...found.failures.map((failure) => `FALSE: ${failure}`),
    ...found.unchecked.map((one) => `NOT PROVEN: ${one}`),
    ...found.timestamps.map(describeStamp),
    ...found.erased.map(({ seq, notice, isKept }) => {
      const rest = isKept
        ? 'the rest of it is as it was signed'
        : 'that the rest of it said the same before is not proven'
      return `record ${seq}: a number was erased from it, as record ${notice} says; ${rest}`
    }),
    `${found.origin ?? 'unknown log'}: ${found.records} records, ${found.cosigners} cosigners`,
    `records shown: ${formatCounts(shown)}`,
  ]
  if (Object.keys(entries).length > 0) {
    lines.push(
      `all entries of the span: ${formatCounts(entries)}; the signed head fixes how many there are`,
    )
  }
  if (state.rows > 0) {
    lines.push(
      `state: ${state.rows} rows; a signed record says who stored ${state.stored} of them and when, and the others are as the database said`,
    )
  }
  return [...lines, describeResult(found)].map(toPlainLine)
}

function describeStamp({ name, size, at, by }: BundleVerification['timestamps'][number]): string {
  const data = name.replace(/\.tsr$/, '.checkpoint')
  return (
    `time stamp ${at}: the first ${size} records of the log were signed by then, says ${by}. Whether its certificate is one to trust is not checked: ` +
    `openssl ts -verify -data ${data} -in ${name} -CAfile <certificate of the authority>`
  )
}

function describeResult({ result, outside, size, records, origin }: BundleVerification): string {
  if (result === 'FALSE') return 'FALSE: something in this bundle is not as it was signed.'
  if (result !== 'PROVEN' || outside === undefined) {
    return `${result}: nothing is false, but something could not be proven.`
  }
  const later = size - outside.size
  const after = later > 0 ? `; ${later} later ones by the key alone` : ''
  const upTo = `up to the head of ${outside.size} records from ${outside.name}${after}`
  return `PROVEN: the ${records} records of records.txt are in ${origin}, ${upTo}. Nobody has signed the other files, such as report.html.`
}
