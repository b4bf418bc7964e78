/**
 * A made-up registry with the size and distribution of a real one: numbers of assigned prefixes, dense
 * in some thousands blocks and absent from others, in one flat file per area code. Whether a number is
 * listed is computed from its digits, so that the expected result takes no memory.
 */
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const linesPerPrefix = 10_000
const linesPerBlock = 1_000
const bytesPerLine = 12
/** The mean of {@link crowding}, from its formula. */
const meanCrowding = 0.6 / 3
const shareOfBlocks = 0.7

export class Registry {
  /** Six digits each, ascending. */
  readonly prefixes: Uint32Array
  readonly #scale: number

  /** About `wanted` numbers over these prefixes. */
  constructor(prefixes: Uint32Array, wanted: number) {
    this.prefixes = prefixes
    this.#scale = wanted / (prefixes.length * linesPerPrefix * meanCrowding * shareOfBlocks)
  }

  has(prefix: number, line: number): boolean {
    const block = Math.floor(line / linesPerBlock)
    return mixed(prefix * linesPerPrefix + line) < this.#thresholdOf(prefix, block)
  }

  /** Fills in the listed lines of a prefix, ascending; returns how many there are. */
  linesOf(prefix: number, into: Uint16Array): number {
    let count = 0
    for (let block = 0; block < 10; block += 1) {
      const threshold = this.#thresholdOf(prefix, block)
      if (threshold === 0) continue
      for (let line = block * linesPerBlock; line < (block + 1) * linesPerBlock; line += 1) {
        if (mixed(prefix * linesPerPrefix + line) >= threshold) continue
        into[count] = line
        count += 1
      }
    }
    return count
  }

  /** A share of all 32-bit hashes. */
  #thresholdOf(prefix: number, block: number): number {
    if (mixed((prefix * 10 + block) * 7 + 3) > shareOfBlocks * 2 ** 32) return 0
    return Math.min(1, crowding(prefix) * this.#scale) * 2 ** 32
  }
}

/** Few prefixes are dense, most are not: the square of a random number, up to 60%. */
function crowding(prefix: number): number {
  const chance = mixed(prefix * 13 + 5) / 2 ** 32
  return chance * chance * 0.6
}

/** A 32-bit hash of an integer (the finalizer of MurmurHash3). */
function mixed(value: number): number {
  let hash = (value ^ Math.floor(value / 2 ** 32)) >>> 0
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

export interface RegistryFiles {
  readonly files: readonly string[]
  readonly numbers: number
}

/** Writes `AAA,NNNNNNN` lines, one file for each area code. */
export function writeRegistry(registry: Registry, folder: string): RegistryFiles {
  mkdirSync(folder, { recursive: true })
  const files: string[] = []
  let numbers = 0
  for (const [areaCode, prefixes] of byAreaCode(registry.prefixes)) {
    const path = join(folder, `${areaCode}.txt`)
    const file = openSync(path, 'w')
    for (const prefix of prefixes) numbers += writePrefix(file, registry, prefix)
    closeSync(file)
    files.push(path)
  }
  return { files, numbers }
}

function byAreaCode(prefixes: Uint32Array): ReadonlyMap<number, readonly number[]> {
  const groups = new Map<number, number[]>()
  for (const prefix of prefixes) {
    const areaCode = Math.floor(prefix / 1000)
    const group = groups.get(areaCode) ?? []
    group.push(prefix)
    groups.set(areaCode, group)
  }
  return groups
}

const buffer = Buffer.alloc(linesPerPrefix * bytesPerLine)
const lines = new Uint16Array(linesPerPrefix)
const zero = 48

function writePrefix(file: number, registry: Registry, prefix: number): number {
  const count = registry.linesOf(prefix, lines)
  const start = `${String(prefix).slice(0, 3)},${String(prefix).slice(3)}0000\n`
  for (let nth = 0; nth < count; nth += 1) {
    const at = nth * bytesPerLine
    buffer.write(start, at, 'latin1')
    let rest = lines[nth] ?? 0
    for (let digit = 10; digit > 6; digit -= 1) {
      buffer[at + digit] = zero + (rest % 10)
      rest = Math.floor(rest / 10)
    }
  }
  writeSync(file, buffer, 0, count * bytesPerLine)
  return count
}

/** A change file: half of the rows add an unlisted number, half delete a listed one. */
export function writeChanges(registry: Registry, path: string, rows: number, stamp: string): void {
  const file = openSync(path, 'w')
  const { prefixes } = registry
  let written = 0
  let text = ''
  for (let step = 0; written < rows; step += 1) {
    const prefix = prefixes[mixed(step * 3 + 1) % prefixes.length] ?? 0
    const line = mixed(step * 5 + 2) % linesPerPrefix
    const isListed = registry.has(prefix, line)
    if (isListed !== (written % 2 === 0)) continue
    text += `${prefix}${String(line).padStart(4, '0')},${stamp},${isListed ? 'D' : 'A'}\n`
    written += 1
    if (text.length < 1 << 20) continue
    writeSync(file, text)
    text = ''
  }
  writeSync(file, text)
  closeSync(file)
}
