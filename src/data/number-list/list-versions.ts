/**
 * The versions of a list, and the way back to an earlier one: the kept one is put in use, and the
 * one it replaces is kept.
 */
import { existsSync, renameSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type Clock, formatInstant } from '../../domain/clock.js'
import { DataFileError, invalidRequest } from '../../errors.js'
import { syncFolder } from '../../folders.js'
import {
  copyWhole,
  type KeptVersion,
  keepVersion,
  listPath,
  pruneVersions,
  removeListLeftovers,
  versionPath,
  versionsFolder,
  versionsOf,
} from './kept-versions.js'
import { codeOf } from './leftover-files.js'
import { withListLock } from './list-lock.js'
import { isListName, listNameRule } from './list-names.js'
import { openNumberListInBackground } from './number-list.js'

export { type KeptVersion, keepVersion, pruneVersions, versionsOf } from './kept-versions.js'

export interface RollBackOptions {
  readonly folder: string
  readonly name: string
  /** The version to go to; the one that the list in use replaced when left out, or the newest kept. */
  readonly to?: string | undefined
  /** Earlier versions that are kept; the one that is replaced is in any case. */
  readonly keep: number
  readonly clock: Clock
}

export interface RolledBack {
  /** What was in use before, where it is kept now; absent when it was missing or damaged. */
  readonly from: KeptVersion | undefined
  /** What is in use now. */
  readonly to: KeptVersion
}

/**
 * The kept file is read and verified whole before it is used. It works when the list in use is
 * missing or damaged. Throws {@link DataFileError} that says which versions there are, or what is
 * wrong with the one that is asked for; the list in use then stays.
 */
export async function rollBack(options: RollBackOptions): Promise<RolledBack> {
  const { folder, name, keep, clock } = options
  if (!isListName(name)) {
    throw invalidRequest([{ field: 'name', value: name, rule: listNameRule(name) }])
  }
  return withListLock(folder, name, clock, async () => {
    removeListLeftovers(folder, name, clock.now())
    const version = chosenVersion(options)
    await verifyKept(options, version)
    const replaced = (await isWhole(listPath(folder, name))) ? keepVersion(folder, name) : undefined
    putInUse(options, version)
    pruneVersions(folder, name, Math.max(1, keep), replaced)
    return resultOf(options, { version, replaced })
  })
}

function resultOf(
  { folder, name }: RollBackOptions,
  { version, replaced }: { readonly version: string; readonly replaced: string | undefined },
): RolledBack {
  const [to, ...kept] = versionsOf(folder, name)
  if (!to?.inUse || to.version !== version) {
    throw new DataFileError(listPath(folder, name), `is not the version ${version} put in use`)
  }
  return { from: kept.find((one) => one.version === replaced), to }
}

function chosenVersion({ folder, name, to }: RollBackOptions): string {
  const versions = versionsOf(folder, name)
  const current = versions.find(({ inUse }) => inUse)
  const kept = versions.filter(({ inUse }) => !inUse)
  if (to !== undefined) {
    if (to === current?.version) throw refusal(folder, name, `version ${to} is in use already`)
    if (/^[0-9a-f]{16}$/.test(to) && existsSync(versionPath(folder, name, to))) return to
    throw refusal(folder, name, `no version '${to}' is kept`)
  }
  const before = kept.find(({ version }) => version === current?.previous) ?? kept[0]
  if (!before) throw refusal(folder, name, 'no earlier version is kept')
  return before.version
}

function refusal(folder: string, name: string, what: string): DataFileError {
  const kept = versionsOf(folder, name).filter(({ inUse }) => !inUse)
  const listed = kept.map(
    ({ version, asOf, size }) => `${version} (as of ${formatInstant(asOf)}, ${size} numbers)`,
  )
  const have = listed.length > 0 ? `; kept are ${listed.join(', ')}` : ''
  return new DataFileError(listPath(folder, name), `${what}${have}`)
}

async function verifyKept({ folder, name }: RollBackOptions, version: string): Promise<void> {
  const path = versionPath(folder, name, version)
  const list = await openNumberListInBackground(path)
  if (list.name === name && list.version === version) return
  throw new DataFileError(path, `holds version ${list.version} of '${list.name}'`)
}

async function isWhole(path: string): Promise<boolean> {
  try {
    await openNumberListInBackground(path)
    return true
  } catch (cause) {
    if (cause instanceof DataFileError || codeOf(cause) === 'ENOENT') return false
    throw cause
  }
}

/** Moved, not linked: a file with two names would seem changed to readers when it loses one. */
function putInUse({ folder, name }: RollBackOptions, version: string): void {
  const kept = versionPath(folder, name, version)
  const path = listPath(folder, name)
  try {
    renameSync(kept, path)
  } catch (cause) {
    if (codeOf(cause) !== 'EXDEV') throw cause
    copyWhole(kept, path, join(folder, `.${basename(path)}.${process.pid}.new`))
    rmSync(kept)
  }
  syncFolder(folder)
  syncFolder(versionsFolder(folder))
}
