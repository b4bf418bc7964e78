/**
 * The number lists of a folder, in memory. A list is replaced whole and only by a file that was
 * verified; a damaged file is told as a problem and never taken for an empty list. When to look
 * for new files is the caller's business.
 */
import { readdirSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { NumberSet } from '../../domain/number-set.js'
import { DataFileError } from '../../errors.js'
import { openNumberList } from './number-list.js'
import { numberListExtension } from './number-list-format.js'

/** A file, or the whole folder, that cannot be used. */
export interface ListProblem {
  /** Absent when the folder itself cannot be read. */
  readonly name?: string
  readonly path: string
  readonly detail: string
  /** True while an older content of the list still answers; false when the list is missing. */
  readonly olderInUse: boolean
}

export interface ListStore {
  /** The list as it is now, or `undefined`: a missing list is not an empty one. */
  get(name: string): NumberSet | undefined
  /** By name. */
  all(): readonly NumberSet[]
  problems(): readonly ListProblem[]
  /**
   * Looks at the folder and loads what is new or changed; a list whose file was removed goes.
   * Reads synchronously, about a second per gigabyte. True when lists or problems changed.
   */
  refresh(): boolean
  /** Called after each change with the names of the lists that changed. Gives a way to stop it. */
  onChange(listener: (names: readonly string[]) => void): () => void
}

/** Loads the lists there are. A folder that does not exist yet holds none. */
export function openListStore({ folder }: { readonly folder: string }): ListStore {
  const store = new FolderOfLists(folder)
  store.refresh()
  return store
}

interface Loaded {
  /** Tells the state of the file that was last looked into. */
  readonly stamp: string
  readonly list: NumberSet | undefined
  readonly problem: ListProblem | undefined
}

class FolderOfLists implements ListStore {
  readonly #folder: string
  readonly #listeners = new Set<(names: readonly string[]) => void>()
  #loaded: ReadonlyMap<string, Loaded> = new Map()
  #folderProblem: ListProblem | undefined

  constructor(folder: string) {
    this.#folder = folder
  }

  get(name: string): NumberSet | undefined {
    return this.#loaded.get(name)?.list
  }

  all(): readonly NumberSet[] {
    return [...this.#loaded.values()].flatMap(({ list }) => list ?? [])
  }

  problems(): readonly ListProblem[] {
    const ofLists = [...this.#loaded.values()].flatMap(({ problem }) => problem ?? [])
    return this.#folderProblem ? [this.#folderProblem, ...ofLists] : ofLists
  }

  refresh(): boolean {
    const before = this.#loaded
    const folderProblemBefore = this.#folderProblem?.detail
    this.#look()
    const names = new Set([...before.keys(), ...this.#loaded.keys()])
    const changed = [...names].filter((name) => before.get(name) !== this.#loaded.get(name))
    if (changed.length === 0 && folderProblemBefore === this.#folderProblem?.detail) return false
    for (const listener of this.#listeners) listener(changed)
    return true
  }

  onChange(listener: (names: readonly string[]) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** A folder that cannot be read leaves the lists in use as they are. */
  #look(): void {
    try {
      const files = listFilesIn(this.#folder)
      this.#loaded = new Map(files.map((file) => [nameOf(file), this.#current(file)]))
      this.#folderProblem = undefined
    } catch (cause) {
      const olderInUse = this.all().length > 0
      this.#folderProblem = { path: this.#folder, detail: messageOf(cause), olderInUse }
    }
  }

  #current(file: string): Loaded {
    const path = join(this.#folder, file)
    const known = this.#loaded.get(nameOf(file))
    const stamp = stampOf(path)
    return known?.stamp === stamp ? known : load(path, { stamp, older: known?.list })
  }
}

function load(
  path: string,
  { stamp, older }: { readonly stamp: string; readonly older: NumberSet | undefined },
): Loaded {
  const name = nameOf(path)
  try {
    const list = openNumberList(path)
    if (list.name !== name) throw new DataFileError(path, `holds the list '${list.name}'`)
    return { stamp, list, problem: undefined }
  } catch (cause) {
    const problem = { name, path, detail: messageOf(cause), olderInUse: older !== undefined }
    return { stamp, list: older, problem }
  }
}

function listFilesIn(folder: string): string[] {
  try {
    const entries = readdirSync(folder).sort()
    return entries.filter((file) => file.endsWith(numberListExtension) && !file.startsWith('.'))
  } catch (cause) {
    if (isMissing(cause)) return []
    throw cause
  }
}

function nameOf(path: string): string {
  return basename(path, numberListExtension)
}

/** Differs for every file that was ever put in this place. */
function stampOf(path: string): string {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found ? `${found.ino} ${found.size} ${found.mtimeNs} ${found.ctimeNs}` : 'missing'
}

function isMissing(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === 'ENOENT'
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}
