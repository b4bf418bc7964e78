/** Files of the built program that fail, stall, or lose what was not flushed; see `faulty-files.c`. */
import { execFileSync } from 'node:child_process'
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'

/** As in `faulty-files.c`. A folder is opened when its names are read. */
const fileOperations = {
  open: 1,
  read: 2,
  write: 4,
  flush: 8,
  truncate: 16,
  rename: 32,
  stat: 64,
  unlink: 128,
} as const

export type FileOperation = keyof typeof fileOperations
export const operationNames = Object.keys(fileOperations) as FileOperation[]

export interface FileFault {
  readonly operations: readonly FileOperation[]
  /** A pattern of the shell (with `extglob`) for the whole path, in which `*` also stands for slashes. */
  readonly files: string
  /** The error, a pause in ms, or an end of the process that keeps only chosen sectors (bit n: those n modulo 32) of what was not flushed. */
  readonly effect:
    | { readonly error: keyof typeof constants.errno }
    | { readonly stallMs: number }
    | { readonly keptSectors: number }
  /** From the first operation that meets it; without an end by default. */
  readonly forMs?: number
  /** How many operations it meets at most. */
  readonly times?: number
}

export interface FaultyFiles {
  /** Of the program to be started. */
  readonly environment: Readonly<Record<string, string>>
  begin(fault: FileFault): void
  end(): void
  /** What has become of the last fault, and all that was done to its files since it began. */
  read(): {
    readonly hits: number
    readonly isOver: boolean
    readonly seen: readonly FileOperation[]
  }
}

const ruleBytes = 304

/** Gives the path of the library, which is made in a folder. */
export function compileFaultyFiles(folder: string): string {
  const library = join(folder, 'faulty-files.so')
  const source = join(import.meta.dirname, 'faulty-files.c')
  const flags = '-std=gnu11 -D_FILE_OFFSET_BITS=64 -O1 -shared -fPIC'
  const compile = `cc ${flags} -o "$1" "$2" -ldl`
  execFileSync('sh', ['-c', compile, 'sh', library, source], { stdio: 'inherit' })
  return library
}

/** The rule is in a folder which must not be in the data folder. */
export function faultyFiles(folder: string, library = compileFaultyFiles(folder)): FaultyFiles {
  const rulePath = join(folder, 'faulty-files.rule')
  write(rulePath, Buffer.alloc(ruleBytes), 'w')
  const end = () => write(rulePath, Buffer.alloc(4))
  return {
    environment: { LD_PRELOAD: library, FAULTY_FILES: rulePath },
    begin: (fault) => {
      end()
      const rule = encode(fault)
      // Its first number puts it in force.
      write(rulePath, rule.subarray(4), 'r+', 4)
      write(rulePath, rule.subarray(0, 4))
    },
    end,
    read: () => {
      const bytes = readFileSync(rulePath)
      const [forMs, firstMs] = [bytes.readDoubleLE(16), bytes.readDoubleLE(24)]
      const [times, hits] = [bytes.readUInt32LE(32), bytes.readUInt32LE(36)]
      const isOver = hits > 0 && (hits >= times || Date.now() >= firstMs + forMs)
      const bits = bytes.readUInt32LE(44)
      const seen = operationNames.filter((name) => bits & fileOperations[name])
      return { hits: Math.min(hits, times), isOver, seen }
    },
  }
}

function encode({ operations, files, effect, forMs, times }: FileFault): Buffer {
  const bytes = Buffer.alloc(ruleBytes)
  bytes.writeUInt32LE('error' in effect ? 1 : 'stallMs' in effect ? 2 : 3, 0)
  bytes.writeUInt32LE(
    operations.reduce((bits, name) => bits | fileOperations[name], 0),
    4,
  )
  if ('error' in effect) bytes.writeUInt32LE(constants.errno[effect.error], 8)
  if ('stallMs' in effect) bytes.writeUInt32LE(effect.stallMs, 12)
  bytes.writeDoubleLE(forMs ?? Number.POSITIVE_INFINITY, 16)
  bytes.writeUInt32LE(times ?? 0xffffffff, 32)
  if ('keptSectors' in effect) bytes.writeUInt32LE(effect.keptSectors >>> 0, 40)
  bytes.write(files, 48, 255)
  return bytes
}

function write(path: string, bytes: Buffer, flags = 'r+', offset = 0): void {
  const file = openSync(path, flags)
  writeSync(file, bytes, 0, bytes.length, offset)
  closeSync(file)
}
