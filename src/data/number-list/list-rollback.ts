/**
 * Rolls a list back to a kept version; the version that it replaces is kept in turn.
 */
import { renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Clock } from '../../domain/time/clock.js'
import { formatInstant } from '../../domain/time/dates.js'
import { DataFileError, getErrorCode, invalidRequest } from '../../errors.js'
import { isPresent, syncFolder } from '../../runtime/folders.js'
import { openNumberListInBackground } from './format/number-list.js'
import { withListLock } from './import/list-lock.js'
import { describeNameRule, isAccountListName, splitListName } from './list-names.js'
import { resolveListPath, resolveVersionPath } from './list-paths.js'
import {
  copyFileAtomically,
  findVersions,
  keepVersion,
  type ListVersionFile,
  pruneVersions,
  removeListLeftovers,
} from './list-version-files.js'

export interface RollbackOptions {
  readonly folder: string
  readonly name: string
  /** The version to restore; by default the one that the current list replaced, or the newest kept one. */
  readonly to?: string | undefined
  /** How many earlier versions are kept; the replaced one always is. */
  readonly keep: number
  readonly clock: Clock
}

export interface RollbackResult {
  /** The version that was in use before and is now kept; absent if it was missing or damaged. */
  readonly from: ListVersionFile | undefined
  /** The version now in use. */
  readonly to: ListVersionFile
}

/**
 * Verifies the kept file completely before it is used. Also works if the current list is missing or
 * damaged. Throws {@link DataFileError} listing the kept versions, or describing what is wrong with the
 * requested one; the current list is then unchanged.
 */
export async function rollBackList(options: RollbackOptions): Promise<RollbackResult> {
  const { folder, name, keep, clock } = options
  if (!isAccountListName(name)) {
    throw invalidRequest([{ field: 'name', value: name, rule: describeNameRule(name) }])
  }
  return withListLock(folder, name, clock, async () => {
    removeListLeftovers(folder, name, clock.now())
    const version = chooseVersion(options)
    await verifyVersion(options, version)
    const replaced = (await isWhole(resolveListPath(folder, name)))
      ? keepVersion(folder, name)
      : undefined
    activateVersion(options, version)
    pruneVersions(folder, name, Math.max(1, keep), replaced)
    return toRollbackResult(options, { version, replaced })
  })
}

function toRollbackResult(
  { folder, name }: RollbackOptions,
  { version, replaced }: { readonly version: string; readonly replaced: string | undefined },
): RollbackResult {
  const [to, ...kept] = findVersions(folder, name)
  if (!to?.inUse || to.version !== version) {
    throw new DataFileError(
      resolveListPath(folder, name),
      `is not version ${version}, which was put in use`,
    )
  }
  return { from: kept.find((one) => one.version === replaced), to }
}

function chooseVersion({ folder, name, to }: RollbackOptions): string {
  const versions = findVersions(folder, name)
  const current = versions.find(({ inUse }) => inUse)
  const kept = versions.filter(({ inUse }) => !inUse)
  if (to !== undefined) {
    if (to === current?.version) throw refusal(folder, name, `version ${to} is already in use`)
    if (/^[0-9a-f]{16}$/.test(to) && isPresent(resolveVersionPath(folder, name, to))) return to
    throw refusal(folder, name, `version '${to}' is not kept`)
  }
  const before = kept.find(({ version }) => version === current?.previous) ?? kept[0]
  if (!before) throw refusal(folder, name, 'no earlier version is kept')
  return before.version
}

function refusal(folder: string, name: string, what: string): DataFileError {
  const kept = findVersions(folder, name).filter(({ inUse }) => !inUse)
  const listed = kept.map(
    ({ version, asOf, size }) => `${version} (as of ${formatInstant(asOf)}, ${size} numbers)`,
  )
  const have = listed.length > 0 ? `; kept versions: ${listed.join(', ')}` : ''
  return new DataFileError(resolveListPath(folder, name), `${what}${have}`)
}

async function verifyVersion({ folder, name }: RollbackOptions, version: string): Promise<void> {
  const path = resolveVersionPath(folder, name, version)
  const list = await openNumberListInBackground(path)
  if (list.name === splitListName(name).list && list.version === version) return
  throw new DataFileError(path, `contains version ${list.version} of '${list.name}'`)
}

async function isWhole(path: string): Promise<boolean> {
  try {
    await openNumberListInBackground(path)
    return true
  } catch (cause) {
    if (cause instanceof DataFileError || getErrorCode(cause) === 'ENOENT') return false
    throw cause
  }
}

/** Moves the file instead of linking it, since removing one of two links looks like a change to readers. */
function activateVersion({ folder, name }: RollbackOptions, version: string): void {
  const kept = resolveVersionPath(folder, name, version)
  const path = resolveListPath(folder, name)
  try {
    renameSync(kept, path)
  } catch (cause) {
    if (getErrorCode(cause) !== 'EXDEV') throw cause
    const aside = join(dirname(path), `.${basename(path)}.${process.pid}.new`)
    copyFileAtomically(kept, path, aside)
    rmSync(kept)
  }
  syncFolder(dirname(path))
  syncFolder(dirname(kept))
}
