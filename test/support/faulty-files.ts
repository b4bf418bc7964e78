/** Files of the built program that fail, stall, or lose what was not flushed; see `faulty-files.c`. */
import { execFileSync } from 'node:child_process'
import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'

/** As in `faulty-files.c`. */
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

interface FileFault {
  readonly operations: readonly (keyof typeof fileOperations)[]
  /** A pattern of the shell for the whole path, in which `*` also stands for slashes. */
  readonly files: string
  /** The error, a pause in ms, or an end of the process that keeps only chosen sectors (bit n: those n modulo 32) of what was not flushed. */
  readonly effect:
    | { readonly error: keyof typeof constants.errno }
    | { readonly stallMs: number }
    | { readonly keptSectors: number }
  /** From now on; without an end by default. */
  readonly forMs?: number
  /** How many operations it meets at most. */
  readonly times?: number
}

export interface FaultyFiles {
  /** Of the program to be started. */
  readonly environment: Readonly<Record<string, string>>
  begin(fault: FileFault): void
  end(): void
  /** Operations that the last fault has met. */
  hits(): number
}

const ruleBytes = 300
const hitsOffset = 36

/** Compiles the library in an empty folder, which must not be in the data folder. */
export function faultyFiles(folder: string): FaultyFiles {
  const library = join(folder, 'faulty-files.so')
  const source = join(import.meta.dirname, 'faulty-files.c')
  const flags = '-std=gnu11 -D_FILE_OFFSET_BITS=64 -O1 -shared -fPIC'
  const compile = `cc ${flags} -o "$1" "$2" -ldl`
  execFileSync('sh', ['-c', compile, 'sh', library, source], { stdio: 'inherit' })
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
    hits: () => {
      const file = openSync(rulePath, 'r')
      const bytes = Buffer.alloc(4)
      readSync(file, bytes, 0, 4, hitsOffset)
      closeSync(file)
      return bytes.readUInt32LE()
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
  const now = Date.now()
  bytes.writeDoubleLE(now, 16)
  bytes.writeDoubleLE(forMs === undefined ? Number.POSITIVE_INFINITY : now + forMs, 24)
  bytes.writeUInt32LE(times ?? 0xffffffff, 32)
  if ('keptSectors' in effect) bytes.writeUInt32LE(effect.keptSectors >>> 0, 40)
  bytes.write(files, 44, 255)
  return bytes
}

function write(path: string, bytes: Buffer, flags = 'r+', offset = 0): void {
  const file = openSync(path, flags)
  writeSync(file, bytes, 0, bytes.length, offset)
  closeSync(file)
}
