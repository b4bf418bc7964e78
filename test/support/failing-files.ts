/** A file system that fails at one of the calls that change a file; for the factory of `vi.mock('node:fs')`. */
import type * as Files from 'node:fs'

/** Calls so far that change a file, and the number of the one that fails; 0 for none. */
export const fileFault = { calls: 0, failAt: 0 }

export function failingFiles(real: typeof Files): typeof Files {
  const faulty = <Call extends (...values: never[]) => unknown>(call: Call): Call =>
    ((...values) => {
      fileFault.calls += 1
      if (fileFault.calls !== fileFault.failAt) return call(...values)
      throw Object.assign(new Error('EIO'), { code: 'EIO' })
    }) as Call
  return {
    ...real,
    writeSync: faulty(real.writeSync),
    writeFileSync: faulty(real.writeFileSync),
    fsyncSync: faulty(real.fsyncSync),
    renameSync: faulty(real.renameSync),
    unlinkSync: faulty(real.unlinkSync),
    rmSync: faulty(real.rmSync),
  }
}
