/** Packs an evidence bundle in a thread of its own, which comes after everything else the machine does. */
import { createHash } from 'node:crypto'
import { createReadStream, readFileSync, statfsSync } from 'node:fs'
import { platform, setPriority } from 'node:os'
import { dirname, join } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import { packageRoot, version } from '../../config/version.js'
import { AppError, getErrorCode, getErrorMessage } from '../../errors.js'
import { packBundle } from '../../evidence/bundle/pack-bundle.js'
import type { Question } from '../../evidence/bundle/question.js'
import { runInThread, type ThreadWork } from '../../runtime/thread.js'
import type { Configuration } from '../configuration.js'
import { withStateSources } from './bundle-sources.js'

export interface PackOptions {
  readonly configuration: Configuration
  /** A number from 0 to 1: which share of the journal has been searched. */
  readonly progress: SharedArrayBuffer
  /** So much of the disk stays free, since the journal of new decisions needs it. */
  readonly minFreeBytes: number
}

export interface PackRequest {
  readonly question: Question
  /** The zip file. */
  readonly out: string
}

export interface PackedBundle {
  readonly origin: string
  readonly bytes: number
  readonly sha256: string
  readonly decisions: number
  readonly records: number
}

export type PackReply =
  | { readonly packed: PackedBundle }
  | { readonly problem: 'nothing-found' | 'disk-full' | 'failed'; readonly detail: string }

class LowSpaceError extends Error {}

/** Asking the system costs more than writing a block. */
const bytesBetweenLooks = 16_777_216

export const bundlePacking: ThreadWork<PackOptions, PackRequest, PackReply> = {
  module: import.meta.url,
  create(options) {
    // Elsewhere it would be that of the whole process.
    if (platform() === 'linux' && !isMainThread && import.meta.url.endsWith('.js')) setPriority(19)
    return { handle: (request) => pack(options, request), close: () => undefined }
  },
}

async function pack(
  { configuration, progress, minFreeBytes }: PackOptions,
  { question, out }: PackRequest,
): Promise<PackReply> {
  const share = new Float64Array(progress)
  let unseen = bytesBetweenLooks
  const beforeWrite = (bytes: number) => {
    unseen += bytes
    if (unseen < bytesBetweenLooks) return
    unseen = 0
    const { bavail, bsize } = statfsSync(dirname(out))
    if (bavail * bsize < minFreeBytes) throw new LowSpaceError('too little of the disk is free')
  }
  try {
    beforeWrite(0)
    const { origin, counts } = await withStateSources(configuration, (sources) =>
      packBundle({
        journalFolder: join(configuration.settings.dataDir, 'journal'),
        ...{ question, out, program: version, sources, beforeWrite },
        verifier: readFileSync(join(packageRoot, 'dist/evidence/verify.mjs')),
        onSearched: (searched) => {
          share[0] = searched
        },
      }),
    )
    const { decision: decisions = 0 } = counts
    const records = Object.values(counts).reduce((sum, count) => sum + count, 0)
    return { packed: { origin, decisions, records, ...(await describeFile(out)) } }
  } catch (cause) {
    const detail = getErrorMessage(cause)
    if (cause instanceof AppError && cause.kind === 'not-found')
      return { problem: 'nothing-found', detail }
    const isFull = ['ENOSPC', 'EDQUOT'].includes(getErrorCode(cause) ?? '')
    const problem = isFull || cause instanceof LowSpaceError ? 'disk-full' : 'failed'
    return { problem, detail }
  }
}

async function describeFile(path: string): Promise<Pick<PackedBundle, 'bytes' | 'sha256'>> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const block of createReadStream(path, { highWaterMark: 1_048_576 })) {
    hash.update(block)
    bytes += block.length
  }
  return { bytes, sha256: hash.digest('hex') }
}

runInThread(bundlePacking)
