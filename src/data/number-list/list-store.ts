/**
 * The number lists of a folder, in memory. A list is replaced whole and only by a file that was
 * verified; a damaged file is told as a problem and never taken for an empty list. When to look
 * for new files is the caller's business.
 */
import { readdirSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { NumberSet } from '../../domain/number-set.js'
import { DataFileError } from '../../errors.js'
import { openNumberList, openNumberListInBackground } from './number-list.js'
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
   * Looks at the folder and loads what is new or changed; a list whose file was removed becomes a
   * problem. Reads synchronously, about a second per gigabyte: for the start. True when lists or
   * problems changed.
   */
  refresh(): boolean
  /**
   * The same for a running server: other work gets its turn while a large file is read. Calls that
   * come meanwhile share its outcome; a {@link refresh} meanwhile wins over it.
   */
  refreshInBackground(): Promise<boolean>
  /** Called after each change with the names of the lists that changed. Gives a way to stop it. */
  onChange(listener: (names: readonly string[]) => void): () => void
}

/** How the file of a list is read and verified; throws `DataFileError` for a damaged one. */
export interface ListReader {
  open(path: string): NumberSet
  openInBackground(path: string): Promise<NumberSet>
}

const fileReader: ListReader = {
  open: openNumberList,
  openInBackground: openNumberListInBackground,
}

export interface ListStoreOptions {
  readonly folder: string
  readonly reader?: ListReader
}

/** Loads the lists there are. A folder that does not exist yet holds none. */
export function openListStore({ folder, reader = fileReader }: ListStoreOptions): ListStore {
  const store = new FolderOfLists(folder, reader)
  store.refresh()
  return store
}

/** What is known of a name for which there is or was a file. */
interface Known {
  /** Tells the state of the file that was judged; `undefined` when the reading itself failed. */
  readonly stamp: string | undefined
  readonly list: NumberSet | undefined
  readonly problem: ListProblem | undefined
}

interface Entry {
  readonly name: string
  readonly path: string
  readonly stamp: string
  readonly before: Known | undefined
  /** Absent when the file has to be read first. */
  readonly now: Known | undefined
}

interface Look {
  readonly entries: readonly Entry[]
  readonly folderProblem: ListProblem | undefined
}

class FolderOfLists implements ListStore {
  readonly #folder: string
  readonly #reader: ListReader
  readonly #listeners = new Set<(names: readonly string[]) => void>()
  #known: ReadonlyMap<string, Known> = new Map()
  #folderProblem: ListProblem | undefined
  /** Made with each change: it is asked for at every look-up of a list that is not kept. */
  #problems: readonly ListProblem[] = []
  #inBackground: Promise<boolean> | undefined

  constructor(folder: string, reader: ListReader) {
    this.#folder = folder
    this.#reader = reader
  }

  get(name: string): NumberSet | undefined {
    return this.#known.get(name)?.list
  }

  all(): readonly NumberSet[] {
    return [...this.#known.values()].flatMap(({ list }) => list ?? [])
  }

  problems(): readonly ListProblem[] {
    return this.#problems
  }

  refresh(): boolean {
    const look = this.#look()
    const read = (entry: Entry): Known => {
      try {
        return loaded(entry, this.#reader.open(entry.path))
      } catch (cause) {
        return failed(entry, cause)
      }
    }
    return this.#adopt(look, new Map(look.entries.map((one) => [one.name, one.now ?? read(one)])))
  }

  refreshInBackground(): Promise<boolean> {
    this.#inBackground ??= this.#readInBackground().finally(() => {
      this.#inBackground = undefined
    })
    return this.#inBackground
  }

  onChange(listener: (names: readonly string[]) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async #readInBackground(): Promise<boolean> {
    const before = this.#known
    const look = this.#look()
    const known = new Map<string, Known>()
    for (const entry of look.entries) {
      known.set(entry.name, entry.now ?? (await this.#load(entry)))
    }
    // What a refresh has found meanwhile is newer.
    return this.#known === before && this.#adopt(look, known)
  }

  async #load(entry: Entry): Promise<Known> {
    try {
      return loaded(entry, await this.#reader.openInBackground(entry.path))
    } catch (cause) {
      return failed(entry, cause)
    }
  }

  /** A folder that cannot be read leaves the lists in use as they are. */
  #look(): Look {
    try {
      const names = new Set([...listFilesIn(this.#folder).map(nameOf), ...this.#known.keys()])
      const entries = [...names].sort().flatMap((name) => this.#entry(name) ?? [])
      return { entries, folderProblem: undefined }
    } catch (cause) {
      const olderInUse = this.all().length > 0
      const folderProblem = { path: this.#folder, detail: messageOf(cause), olderInUse }
      const entries = [...this.#known].map(([name, known]) => this.#unchanged(name, known))
      return { entries, folderProblem }
    }
  }

  #entry(name: string): Entry | undefined {
    const path = this.#pathOf(name)
    const before = this.#known.get(name)
    const stamp = stampOf(path)
    if (before && before.stamp === stamp) return this.#unchanged(name, before)
    if (stamp !== missing) return { name, path, stamp, before, now: undefined }
    return before && { name, path, stamp, before, now: removed(name, path) }
  }

  #unchanged(name: string, known: Known): Entry {
    const path = this.#pathOf(name)
    return { name, path, stamp: known.stamp ?? '', before: known, now: known }
  }

  #pathOf(name: string): string {
    return join(this.#folder, `${name}${numberListExtension}`)
  }

  /** Puts all lists in place at once, then tells the listeners. */
  #adopt({ folderProblem }: Look, known: ReadonlyMap<string, Known>): boolean {
    const before = this.#known
    const folderProblemBefore = this.#folderProblem?.detail
    this.#known = known
    this.#folderProblem = folderProblem
    const ofLists = [...known.values()].flatMap(({ problem }) => problem ?? [])
    this.#problems = folderProblem ? [folderProblem, ...ofLists] : ofLists
    const changed = [...known.keys()].filter((name) => before.get(name) !== known.get(name))
    if (changed.length === 0 && folderProblemBefore === folderProblem?.detail) return false
    for (const listener of this.#listeners) listener(changed)
    return true
  }
}

function loaded(entry: Entry, list: NumberSet): Known {
  const { name, path, stamp } = entry
  if (list.name === name) return { stamp, list, problem: undefined }
  return failed(entry, new DataFileError(path, `holds the list '${list.name}'`))
}

/** A damaged file is not read again until it changes; a reading that failed may succeed later. */
function failed({ name, path, stamp, before }: Entry, cause: unknown): Known {
  const list = before?.list
  const problem = { name, path, detail: messageOf(cause), olderInUse: list !== undefined }
  const now = { stamp: cause instanceof DataFileError ? stamp : undefined, list, problem }
  const same = before?.stamp === now.stamp && before?.problem?.detail === problem.detail
  return before && same ? before : now
}

/** Without its file a list answers nothing: whether it is meant to be gone is not ours to guess. */
function removed(name: string, path: string): Known {
  const detail =
    `${path}: was removed while the server ran; import the list again, ` +
    'or restart the server to go without it'
  return { stamp: missing, list: undefined, problem: { name, path, detail, olderInUse: false } }
}

function listFilesIn(folder: string): string[] {
  try {
    const entries = readdirSync(folder)
    return entries.filter((file) => file.endsWith(numberListExtension) && !file.startsWith('.'))
  } catch (cause) {
    if (isMissing(cause)) return []
    throw cause
  }
}

function nameOf(path: string): string {
  return basename(path, numberListExtension)
}

/** The stamp of a file that is not there. */
const missing = 'missing'

/** Differs for every file that was ever put in this place. */
function stampOf(path: string): string {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found ? `${found.ino} ${found.size} ${found.mtimeNs} ${found.ctimeNs}` : missing
}

function isMissing(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === 'ENOENT'
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}
